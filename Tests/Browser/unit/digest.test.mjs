// The digest against hashes that were worked out by another program.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { digest, fnv1a } from '../../../Public/livefetch.js';

test('FNV-1a gives the published values', () => {
  assert.equal(fnv1a(''), 0x811c9dc5);
  assert.equal(fnv1a('a'), 0xe40c292c);
  assert.equal(fnv1a('foobar'), 0xbf9cf968);
});

test('text is hashed as UTF-8', () => {
  // 'ß€😀' is c3 9f e2 82 ac f0 9f 98 80.
  assert.equal(fnv1a('ß€😀').toString(16), 'a02b7eec');
});

test('nothing has the digest zero', () => {
  assert.equal(digest([{ name: '', value: null, items: [] }]), '00000000');
});

test('the snapshot of the API has the digest of its three items', () => {
  const sections = [
    { value: 'China', items: [{ id: 1796236 }, { id: 1816670 }] },
    { value: 'Japan', items: [{ id: 1850147 }] }];
  assert.equal(digest(sections), '1c72d9d9');
});

test('order, section and id each change the digest', () => {
  const variants = [
    [{ value: null, items: [1, 2] }], [{ value: null, items: [2, 1] }],
    [{ value: null, items: [1, '2'] }], [{ value: 1, items: [1, 2] }],
    [{ value: '1', items: [1, 2] }], [{ value: null, items: [1] }, { value: null, items: [2] }]];
  assert.equal(new Set(variants.map(digest)).size, variants.length);
});
