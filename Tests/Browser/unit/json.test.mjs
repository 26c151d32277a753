// JSON of users' values.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { editable, parse as typed, show } from '../../../Public/explorer/format.js';
import { isSame, parse, stringify } from '../../../Public/explorer/json.js';
import { Staged } from '../../../Public/explorer/staged.js';
import { csvOf, jsonOf } from '../../../Public/explorer/selection-bar.js';

const large = '{"tweet":1234567890123456789,"list":[-9007199254740993,9007199254740991],"text":"9007199254740993"}';

test('an integer beyond 2^53 in JSON keeps its digits', () => {
  const value = parse(large);
  assert.deepEqual(value, { tweet: 1234567890123456789n, list: [-9007199254740993n, 9007199254740991], text: '9007199254740993' });
  assert.equal(stringify(value), large);
  assert.equal(stringify({ a: 9007199254740993n }, 1), '{\n "a": 9007199254740993\n}');
  assert.equal(parse('12345678901234567890'), 12345678901234567890n);
});

test('other JSON is read as JSON.parse reads it', () => {
  const text = String.raw`{"a\"1234567890123456789":"1234567890123456789\\","b":12345678901234567890.5,"c":1234567890123456789e2,"d":0.12345678901234567,"e":[]}`;
  assert.deepEqual(parse(text), JSON.parse(text));
  assert.deepEqual(Object.keys(parse('{"__proto__":1234567890123456789}')), ['__proto__']);
  for (const wrong of ['01234567890123456789', '{"a":1234567890123456789', '[1234567890123456789,]', '1234567890123456789x']) {
    assert.throws(() => parse(wrong), SyntaxError, wrong);
  }
  assert.equal(stringify(undefined), undefined);
});

test('values are the same whether one is written or a key path away', () => {
  assert.equal(isSame({ a: 9007199254740993n }, { a: 9007199254740993n }), true);
  assert.equal(isSame({ a: 9007199254740993n }, { a: 9007199254740992n }), false);
  assert.equal(isSame(undefined, null), true);
});

test('a JSON cell shows, edits and exports large integers in full', () => {
  const column = { name: 'data', type: 'json' };
  const value = typed(large, column);
  assert.equal(show(value, 'json'), large);
  assert.equal(editable(value, 'json'), large);
  assert.equal(csvOf([column], [{ data: value }]), `data\r\n"${large.replaceAll('"', '""')}"\r\n`);
  assert.match(jsonOf([column], [{ data: value }]), /"tweet": 1234567890123456789,/);
});

test('a staged value with large integers is the same after a reload', () => {
  let kept = null;
  const storage = { read: () => kept, write: (text) => { kept = text; } };
  new Staged(() => {}, storage).set('T', { id: 1, data: { a: 1 } }, 'data', parse(large));
  assert.deepEqual(new Staged(() => {}, storage).of('T', 1).values, { data: parse(large) });
});
