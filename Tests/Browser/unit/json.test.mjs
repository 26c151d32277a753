// JSON of users' values.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { editable, parse as typed, show } from '../../../Public/explorer/format.js';
import { Decimal, isSame, parse, stringify } from '../../../Public/explorer/json.js';
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
  const text = String.raw`{"a\"1234567890123456789":"1234567890123456789\\","b":12345678901234.50,"c":123456789012345e2,"d":0.30000000000000004,"e":[1e300,1E-7,-0,0.00000000000000000000]}`;
  assert.deepEqual(parse(text), JSON.parse(text));
  assert.deepEqual(Object.keys(parse('{"__proto__":1234567890123456789}')), ['__proto__']);
  for (const wrong of ['01234567890123456789', '{"a":1234567890123456789', '[1234567890123456789,]', '1234567890123456789x']) {
    assert.throws(() => parse(wrong), SyntaxError, wrong);
  }
  assert.equal(stringify(undefined), undefined);
});

test('a number that JavaScript would round is a Decimal with its digits', () => {
  const exact = '{"list":[12345678901234567890.5,0.1234567890123456789,-1e400,1e-400,1234567890123456789e2],"text":"0.1234567890123456789"}';
  const { list, text } = parse(exact);
  assert.ok(list.every((value) => value instanceof Decimal));
  assert.deepEqual(list.map(String), ['12345678901234567890.5', '0.1234567890123456789', '-1e400', '1e-400', '1234567890123456789e2']);
  assert.equal(text, '0.1234567890123456789');
  assert.equal(stringify(parse(exact)), exact);
  assert.deepEqual(['1.50', '10e-1', '0.1000000000000000055511151231257827', '100000000000000000000.0'].map((digits) => typeof parse(digits)),
    ['number', 'number', 'object', 'number']);
});

test('a Decimal is compared as a number and written in digits; what is no number is refused', () => {
  const value = new Decimal('12345678901234567.25');
  assert.deepEqual([value > 5, Number(value), `${value}`, value + '', JSON.stringify([value])],
    [true, 12345678901234568, '12345678901234567.25', '12345678901234567.25', '["12345678901234567.25"]']);
  for (const wrong of ['', '1.', '.5', '+1', '01', 'NaN', '1e', '1,5', '1}', 5, null]) assert.throws(() => new Decimal(wrong), SyntaxError, String(wrong));
});

test('long texts are no matter for the search of numbers', () => {
  const value = { picture: 'A'.repeat(20_000_000), quotes: String.raw`\"`.repeat(200_000), n: 9007199254740993n };
  assert.deepEqual(parse(stringify(value)), value);
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
  assert.equal(csvOf([{ name: 'a\r\nb', type: 'json' }], [{ 'a\r\nb': 1 }], { hasHeading: false }), '1\r\n');
  assert.equal(jsonOf([{ name: 'n', type: 'decimal' }, { name: 's', type: 'string' }, { name: 'r', type: 'relationship', idType: 'integer' }],
    [{ n: '9007199254740993', s: '9007199254740993', r: '9007199254740995' }]),
  '[\n {\n  "n": 9007199254740993,\n  "s": "9007199254740993",\n  "r": 9007199254740995\n }\n]');
  assert.match(jsonOf([column], [{ data: value }]), /"tweet": 1234567890123456789,/);
});

test('a staged value with large integers is the same after a reload', () => {
  let kept = null;
  const storage = { read: () => kept, write: (text) => { kept = text; } };
  new Staged(() => {}, storage).set('T', { id: 1, data: { a: 1 } }, 'data', parse(large));
  assert.deepEqual(new Staged(() => {}, storage).of('T', 1).values, { data: parse(large) });
});
