// Values as cells show them, and files of comma-separated values.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseCSV } from '../../../Public/explorer/csv.js';
import { number } from '../../../Public/explorer/format.js';
import { columnFor, referredFirst, valueOf } from '../../../Public/explorer/import-dialog.js';
import { csvOf } from '../../../Public/explorer/selection-bar.js';

test('a small number is shown with all its digits', () => {
  assert.deepEqual([0.0000123456789012345678, -0.00012345678901234567, 0.000001, 1.5e-9, 0.001, 0.25].map(number),
    ['0.000012345678901234568', '-0.00012345678901234567', '0.000001', '1.5e-9', '0.001', '0.25']);
});

test('the heading of a file names a column with blanks around its name', () => {
  const named = (...names) => names.map((name) => ({ name, type: 'string' }));
  assert.equal(columnFor(' lead ', named('name', ' lead ', 'lead'))?.name, ' lead ');
  assert.equal(columnFor(' lead ', named('name', 'lead'))?.name, 'lead');
  assert.equal(columnFor(' Lead', named('lead'))?.name, 'lead');
  assert.equal(columnFor('lead', named(' lead ')), null);
});

test('in a column without a type the texts of a file are in quotes, and are read as texts', () => {
  const column = { name: 'w', type: 'integer', untyped: true };
  const values = [5, '5', -1.5, '1.50', 'text', '', null, 12345678901234567890n, '007'];
  const text = csvOf([column], values.map((w) => ({ w })));
  assert.equal(text, 'w\r\n5\r\n"5"\r\n-1.5\r\n"1.50"\r\n"text"\r\n""\r\n\r\n12345678901234567890\r\n"007"\r\n');
  const { rows: [, ...rows] } = parseCSV(text);
  const read = rows.map(({ fields: [field] }) => valueOf(field, column));
  // Beyond 64 bits there is no number that keeps the digits.
  assert.deepEqual(read, values.map((value) => (typeof value === 'bigint' ? String(value) : value)));
  assert.equal(csvOf([{ name: 'w', type: 'string' }], [{ w: '5' }]), 'w\r\n5\r\n');
});

test('a field without quotes in a column without a type is a number if it looks like one and keeps its digits', () => {
  const read = (text, type = 'string') => valueOf({ text, isQuoted: false }, { type, untyped: true });
  const numbers = { 5: 5, '-0.25': -0.25, '1e3': 1000, '2E-7': 2e-7, '9007199254740993': 9007199254740993n };
  for (const [text, value] of Object.entries(numbers)) assert.equal(read(text), value);
  for (const text of ['007', '07.5', '+5', '0xe1', '.5', '5 ', '1e400', '0.12345678901234567890', '9223372036854775808', 'Infinity']) {
    assert.equal(read(text), text);
  }
  assert.deepEqual(['12', 'AQI='].map((text) => read(text, 'binary')), [12, 'AQI=']);
  assert.throws(() => read('a text', 'binary'), /Base64 is expected/);
});

test('an integer beyond 2^53 in a column without a type, which comes as text, is a number in a file', () => {
  const column = { name: 'w', type: 'integer', untyped: true };
  assert.equal(csvOf([column], [{ w: '9007199254740993' }], { hasHeading: false }), '9007199254740993\r\n');
});

test('rows that refer to later rows of their file are inserted behind them, the others in their order', () => {
  assert.deepEqual(referredFirst(4, [3, 2, 1, 4], [[2, 1, null, 9]]), [2, 1, 0, 3]);
  assert.deepEqual(referredFirst(3, ['a', 'b', null], [['b', null, 'a'], [null, null, 'b']]), [1, 0, 2]);
  assert.deepEqual(referredFirst(3, [], [['b', null, 'a']]), [0, 1, 2]);
  assert.deepEqual(referredFirst(3, [1, 2, 3], [[1, 3, 2]]), [0, 2, 1]);
  const many = Array.from({ length: 100_000 }, (_, row) => row);
  assert.deepEqual(referredFirst(many.length, many, [many.map((row) => row + 1)]), many.toReversed());
});
