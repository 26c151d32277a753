// Line ends of texts that are edited in a text area.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withLineEnds } from '../../../Public/explorer/line-ends.js';

test('lines that are not edited keep their ends, others get the usual one', () => {
  const mixed = 'one\r\ntwo\nthree\r\nfour\rfive';
  for (const [text, stored, wanted] of [
    ['one\ntwo\nthree\nfour\nfive', mixed, mixed],
    ['one\nTWO\nthree\nfour\nfive', mixed, 'one\r\nTWO\r\nthree\r\nfour\rfive'],
    ['one\ntwo\nnew\nthree\nfour\nfive', mixed, 'one\r\ntwo\nnew\r\nthree\r\nfour\rfive'],
    ['one\nfive', mixed, 'one\r\nfive'],
    ['one\ntwo\nthree\nfour\nfive\nsix', mixed, 'one\r\ntwo\nthree\r\nfour\rfive\r\nsix'],
    ['a\nb\n', 'a\r\nb', 'a\r\nb\r\n'],
    ['a\nb', 'a\r\nb\r\n', 'a\r\nb'],
    ['a\nb', '', 'a\nb'], ['', mixed, ''], ['a\n\nb', 'a\n\nb', 'a\n\nb'], ['x\n', '\r\n', 'x\r\n']]) {
    assert.equal(withLineEnds(text, stored), wanted, JSON.stringify([text, stored]));
  }
});
