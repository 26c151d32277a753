// The bars of a histogram, and the labels below a line chart.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bins, formatters } from '../../../Public/explorer/charts.js';
import { drawable } from '../../../Public/explorer/format.js';
import { spread } from '../../../Public/explorer/group-charts.js';

test('equal values are one bar from that value to itself', () => {
  assert.deepEqual(bins([3, 3, 3]), [{ from: 3, to: 3, count: 3 }]);
  assert.deepEqual(bins([]), []);
});

test('every value is in one bar, the largest in the last', () => {
  const list = bins([0, 1, 2, 10], 5);
  assert.deepEqual(list.map(({ count }) => count), [2, 1, 0, 0, 1]);
  assert.equal(list[0].from, 0);
  assert.equal(list.at(-1).to, 10);
});

test('whole numbers that JavaScript would round have exact bars', () => {
  const values = drawable([47356007919999, '47356007919999998', '9223372036854775807', null, 'seven', '47356007919999999']);
  assert.deepEqual(values, [47356007919999n, 47356007919999998n, 9223372036854775807n, 47356007919999999n]);
  assert.deepEqual(bins(values.filter((value) => value % 10n > 7n && value > 10n ** 15n), 5), [
    { from: 47356007919999998n, to: 47356007919999998n, count: 1 }, { from: 47356007919999999n, to: 47356007919999999n, count: 1 }]);
  const list = bins(values, 3);
  assert.deepEqual(list.map(({ count }) => count), [3, 0, 1]);
  assert.deepEqual([list[0].from, list[2].to], [47356007919999n, 9223372036854775807n]);
  assert.equal(list[1].from, list[0].to + 1n);
  assert.deepEqual(drawable([1.5, '47356007919999998']), [1.5, 47356007919999998]);
  assert.deepEqual(drawable([1, 2.5, null]), [1, 2.5]);
});

test('a value far larger than most makes the bars logarithmic', () => {
  const list = bins([1, 1, 2, 1_000], 4);
  assert.ok(list[1].to - list[1].from < list[2].to - list[2].from);
  assert.equal(list.reduce((sum, { count }) => sum + count, 0), 4);
});

test('numbers whose distance is no number have bars too', () => {
  const list = bins([-1e308, 0, 1e308, 1.7e308], 4);
  assert.deepEqual(list.map(({ count }) => count), [1, 1, 1, 1]);
  assert.deepEqual([list[0].from, list[3].to], [-1e308, 1.7e308]);
  assert.ok(list.every(({ from, to }) => from < to && Number.isFinite(from) && Number.isFinite(to)));
  assert.equal(bins([-Number.MAX_VALUE, Number.MAX_VALUE]).at(-1).to, Number.MAX_VALUE);
  assert.equal(bins([0, 1, Number.MAX_VALUE]).at(-1).to, Number.MAX_VALUE, 'the largest value is in a logarithmic bar');
  assert.deepEqual(bins([0, 5e-324], 2), [{ from: 0, to: 5e-324, count: 2 }], 'the distance is too small to be divided');
});

test('labels below a line chart are evenly spaced, the first and last point included', () => {
  assert.deepEqual(spread(6, 9), [0, 1, 2, 3, 4, 5]);
  assert.deepEqual(spread(100, 4), [0, 33, 66, 99]);
  assert.deepEqual(spread(5, 1), [0, 4]);
});

test('the labels at the two ends of a histogram differ unless all values are equal', () => {
  const ends = (values) => {
    const list = bins(values);
    const { text, end = text } = formatters(list, values.every(Number.isInteger));
    return [end(list[0].from), end(list.at(-1).to)];
  };
  assert.deepEqual(ends([2020, 2021, 2022]), ['2020', '2022']);
  assert.deepEqual(ends([0.1, 0.5, 0.9]), ['0.1', '0.9']);
  assert.deepEqual(ends([1e-12, 5e-12]), ['1e-12', '5e-12']);
  assert.deepEqual(ends([0, 1e300]), ['0', '1e+300']);
  assert.deepEqual(ends([200_000, 24_000_000]), ['200K', '24M']);
  assert.deepEqual(ends([5.25]), ['5.25', '5.25']);
});
