// `digest` compared with FNV-1a hashes that Python computed:
//
//     def fnv(b, h=0x811c9dc5):
//         for x in b: h = (h ^ x) * 0x01000193 % 2**32
//         return h
//     sum(fnv(f'{section}\x1f{previous}\x1e{id}'.encode()) for each item) % 2**32

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

test('an empty result has the digest 00000000', () => {
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

test('a number is hashed as the server writes it', () => {
  // Texts that the server sends, each beside the digest of one item with the id 1.
  const sent = { '1e-07': 'cfb1988d', '1.5e-10': '03c931b6', '5e-324': 'eac30e1f', '0.0001': '2a0620f8', '0.00012': '6710564a', '-1.5': 'd9ee3f72',
    0: '77c3d3e1', 9007199254740991: '1fc3ad75', '9.007199254740994e+15': 'fdc09ca0', '1e+16': 'f3150831',
    '-1.2345678901234568e+20': '76a4333c', '1e+300': '36f795e7' };
  for (const [text, wanted] of Object.entries(sent)) assert.equal(digest([{ value: Number(text), items: [1] }]), wanted, text);
  assert.equal(digest([{ value: -0, items: [1] }]), sent[0]);
});

test('large integers are hashed as integers where they are not text', () => {
  assert.equal(digest([{ value: 1e17, items: [1] }], null), 'e80567f4');
  assert.equal(digest([{ value: 1e-7, items: [1] }], null), 'cfb1988d');
});
