// What is typed in a cell → values; the sort of a view, whatever its columns are called.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { curl } from '../../../Public/explorer/curl.js';
import { inUTC } from '../../../Public/explorer/date-picker.js';
import { parse, rowsText, show } from '../../../Public/explorer/format.js';
import { sortTerms, sortText } from '../../../Public/explorer/sort-terms.js';
import { sortedBy } from '../../../Public/explorer/view-changes.js';
import { route } from '../../../Public/livefetch/transport.js';

const typed = (text, type) => {
  try {
    return parse(text, { type });
  } catch (error) {
    return error.message;
  }
};

test('a comma in a number is taken for thousands only where it can be nothing else', () => {
  const cases = [
    ['1,500', 'integer', 1500], ['1,234,567', 'integer', 1234567], ['1,5', 'integer', 'A whole number is expected.'],
    ['1,50', 'integer', 'A whole number is expected.'], ['1,5000', 'integer', 'A whole number is expected.'],
    ['12 000', 'integer', 12000], ['9,007,199,254,740,993', 'integer', '9007199254740993'],
    ['1,234.5', 'double', 1234.5], ['1,234,567', 'double', 1234567], ['.5', 'double', 0.5], ['-1.5e3', 'double', -1500],
    ['1,5', 'double', 'A number is expected, with a point before its decimals.'],
    ['1,500', 'double', 'A number is expected, with a point before its decimals.'],
    ['0x10', 'double', 'A number is expected.'], ['1e999', 'double', 'The number is too large.']];
  for (const [text, type, value] of cases) assert.equal(typed(text, type), value, `${type} ${text}`);
});

test('a decimal that JavaScript would round is refused', () => {
  assert.equal(typed('123456789012.345', 'decimal'), 123456789012.345);
  assert.equal(typed('0.000000000000000000001', 'decimal'), 1e-21);
  assert.equal(typed('12345678901234567.25', 'decimal'), 'The page saves decimals of up to 15 digits.');
});

test('a view is sorted by columns of any name', () => {
  assert.equal(sortedBy('', 'a,b', false), '["a,b"]');
  assert.equal(sortedBy('["a,b"]', 'a,b', false), '["-a,b"]');
  assert.equal(sortedBy('-n', 'a,b', true), '["-n","a,b"]');
  assert.equal(sortedBy('name:cd', 'name', false), '-name:cd');
  assert.equal(sortText(['n', '-m']), 'n,-m');
  assert.deepEqual(sortTerms('[no JSON'), []);
});

test('lists whose elements have commas or quotation marks are sent as JSON', () => {
  assert.equal(route({ entity: 'T', sort: ['-n', 'm'] }).path, '/v1/objects/T?sort=-n%2Cm');
  for (const name of ['a,b', 'q"x']) {
    const body = { entity: 'T', sort: [name] };
    assert.deepEqual(route(body), { method: 'POST', path: '/v1/fetch', body });
  }
  assert.equal(curl({ entity: 'T', sort: ['a,b'] }, 'stream', 't', 'http://h'),
    `curl -N \\\n  -H 'Accept: text/event-stream' \\\n  http://h/v1/fetch \\\n  --json '{"entity":"T","sort":["a,b"]}'`);
});

test('a date that is picked keeps its fraction of a second', () => {
  assert.equal(inUTC('2024-02-29T10:00', '.125'), '2024-02-29T10:00:00.125Z');
  assert.equal(inUTC('2024-02-29'), '2024-02-29T00:00:00Z');
});

test('rows are counted in words', () => {
  assert.deepEqual([0, 1, 2].map(rowsText), ['0 rows', '1 row', '2 rows']);
});

test('a year has no separator of thousands, a larger number has', () => {
  assert.deepEqual([1951, 1951.5, 19_510].map((value) => show(value, 'double').replace(/[^\d]/g, '·')), ['1951', '1951·5', '19·510']);
});
