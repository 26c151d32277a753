// Text typed in a cell → values; the sort of a view, whatever its columns are called.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { curl } from '../../../Public/explorer/curl.js';
import { inUTC, partsOf } from '../../../Public/explorer/date-picker.js';
import { editable, toNumber, parse, rowsText, show } from '../../../Public/explorer/format.js';
import { Decimal, stringify } from '../../../Public/explorer/json.js';
import { equals } from '../../../Public/explorer/predicate-text.js';
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

test('a decimal is saved with the digits that were typed', () => {
  const cases = [['123456789012.345', '123456789012.345'], ['0.000000000000000000001', '1e-21'], ['12345678901234567.25', '12345678901234567.25'],
    ['+0012345678901234567.2500', '12345678901234567.2500'], ['-.12345678901234567890', '-0.12345678901234567890'],
    ['12345678901234567890.', '12345678901234567890'], ['1e400', '1e400'], ['0', '0'], ['1,234,567.25', '1234567.25']];
  for (const [text, written] of cases) assert.equal(stringify(typed(text, 'decimal')), written, text);
  assert.equal(typed('1.5x', 'decimal'), 'A number is expected.');
});

test('a date and a UUID are looked at before they are saved', () => {
  assert.deepEqual(['tomorrow', '12:34'].map((text) => typed(text, 'date')), Array(2).fill('A date is expected: 2024-01-31 or 2024-01-31T12:00:00Z.'));
  assert.deepEqual(['2023-02-29', '2024-13-01', '1900-02-29T10:00:00Z', '2024-04-00'].map((text) => typed(text, 'date')),
    ['There is no day 2023-02-29.', 'There is no day 2024-13-01.', 'There is no day 1900-02-29.', 'There is no day 2024-04-00.']);
  assert.deepEqual(['2000-02-29', '0004-02-29', '9999-12-31', '2024'].map((text) => typed(text, 'date')), ['2000-02-29', '0004-02-29', '9999-12-31', '2024']);
  assert.deepEqual(['2024-02-29', ' 2024-02-29T10:00:00+02:00 ', '-0044-03-15'].map((text) => typed(text, 'date')),
    ['2024-02-29', '2024-02-29T10:00:00+02:00', '-0044-03-15']);
  assert.equal(typed('none', 'uuid'), 'A UUID is expected: 8-4-4-4-12 hexadecimal digits.');
  assert.equal(typed('16FD2706-8baf-433b-82eb-8c7fada847da', 'uuid'), '16FD2706-8baf-433b-82eb-8c7fada847da');
});

test('a number of many digits is shown, edited and filtered by in full', () => {
  const value = new Decimal('12345678901234567890.123456789');
  assert.deepEqual([show(value, 'decimal'), editable(value, 'decimal'), equals({ name: 'n', type: 'decimal' }, value)],
    ['12345678901234567890.123456789', '12345678901234567890.123456789', 'n == 12345678901234567890.123456789']);
  assert.deepEqual([value, 5n, '9007199254740993', null, ''].map(toNumber), [12345678901234567000, 5, 9007199254740992, NaN, NaN]);
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
  assert.equal(inUTC('12024-02-29T10:00'), '+12024-02-29T10:00:00Z', 'a year of five digits has a sign');
});

test('the pickers show dates in UTC, whatever the time zone of the browser', () => {
  process.env.TZ = 'Asia/Tokyo';
  const cases = [['2024-02-29', '2024-02-29', '00:00:00'], ['2024-02-29 10:00', '2024-02-29', '10:00:00'], ['2024-02-29T10:00:00.25Z', '2024-02-29', '10:00:00.250'],
    ['2024-02-29T00:30:00+02:00', '2024-02-28', '22:30:00'], ['+12024-01-01T00:00:00Z', '12024-01-01', '00:00:00'], ['March 3 2020', '', ''], ['', '', '']];
  for (const [text, day, time] of cases) assert.deepEqual(partsOf(text), [day, time], text);
  delete process.env.TZ;
});

test('rows are counted in words', () => {
  assert.deepEqual([0, 1, 2].map(rowsText), ['0 rows', '1 row', '2 rows']);
});

test('a year has no separator of thousands, a larger number has', () => {
  assert.deepEqual([1951, 1951.5, 19_510].map((value) => show(value, 'double').replace(/[^\d]/g, '·')), ['1951', '1951·5', '19·510']);
});
