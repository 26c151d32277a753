// Long tables: which rows are fetched, where rows stand, and how scroll positions are mapped.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Layout } from '../../../Public/explorer/layout.js';
import { nextOffset, rowCount, smaller } from '../../../Public/explorer/row-window.js';
import { Scroller, TALLEST } from '../../../Public/explorer/scroller.js';

test('the window moves when few rows are left beyond those that are seen', () => {
  const held = { offset: 10_000, count: 1000, total: 1_000_000, size: 1000 };
  const cases = [[10_400, 10_430, null], [10_199, 10_229, 9714], [10_770, 10_800, 10_285],
    [500_000, 500_030, 499_515], [0, 30, 0], [999_970, 999_999, 999_000]];
  for (const [first, last, wanted] of cases) {
    assert.equal(nextOffset(held, first, last), wanted, `rows ${first} to ${last}`);
  }
});

test('a window at either end of the table stays there', () => {
  assert.equal(nextOffset({ offset: 0, count: 1000, total: 5000, size: 1000 }, 0, 30), null);
  assert.equal(nextOffset({ offset: 4000, count: 1000, total: 5000, size: 1000 }, 4970, 4999), null);
  assert.equal(nextOffset({ offset: 0, count: 20, total: 20, size: 1000 }, 0, 19), null);
  assert.equal(nextOffset({ offset: 4000, count: 0, total: 100, size: 1000 }, 70, 99), 0);
});

test('a window that the server cuts short moves by what it has', () => {
  const held = { offset: 0, count: 100, total: 10_000, size: 100 };
  assert.equal(nextOffset(held, 50, 80), 15);
  assert.equal(nextOffset({ ...held, offset: 15 }, 50, 80), null);
  assert.equal(nextOffset({ ...held, offset: 9900 }, 9970, 9999), null);
});

test('a view has the rows between its own offset and limit', () => {
  assert.equal(rowCount({ offset: '', limit: '' }, 70), 70);
  assert.equal(rowCount({ offset: '20', limit: '' }, 70), 50);
  assert.equal(rowCount({ offset: '20', limit: '30' }, 70), 30);
  assert.equal(rowCount({ offset: '90', limit: '30' }, 70), 0);
});

test('rows inside and outside a window have indexes of the whole table and offsets from the window', () => {
  const items = (from, count) => Array.from({ length: count }, (_, index) => ({ id: from + index }));
  const layout = new Layout([{ items: items(100, 3) }, { items: items(103, 2) }], true,
    { before: 100, total: 1000 });
  assert.deepEqual([layout.count, layout.end, layout.total], [5, 105, 1000]);
  assert.equal(layout.top, 3200);
  assert.equal(layout.fullHeight, 3200 + (36 + 96 + 10) + (36 + 64 + 10) + 895 * 32);
  assert.deepEqual([-33, -1, 0, 36, 67, 68, 178, 252, 284].map((y) => layout.indexAt(y)),
    [98, 99, 100, 100, 100, 101, 103, 105, 106]);
  assert.deepEqual([99, 100, 103, 105, 106].map((index) => layout.offsetOf(index)), [-32, 36, 178, 252, 284]);
  assert.deepEqual([99, 100, 104, 105].map((index) => layout.place(index)),
    [null, { section: 0, item: 0 }, { section: 1, item: 1 }, null]);
  assert.deepEqual([0, 1].map((section) => layout.isCut(section)), [true, true]);
});

test('a section without rows has no row at any index', () => {
  const layout = new Layout([[], ['a', 'b'], [], ['c'], []].map((items) => ({ items })), true);
  assert.deepEqual([0, 1, 2, 3].map((index) => layout.place(index)),
    [{ section: 1, item: 0 }, { section: 1, item: 1 }, { section: 3, item: 0 }, null]);
});

/** An element that scrolls as those of browsers do. */
function scrollable(clientHeight) {
  const body = { style: {} };
  return { body, clientHeight, top: 0,
    get scrollHeight() { return Math.max(clientHeight, parseFloat(body.style.height ?? 0)); },
    get scrollTop() { return Math.min(this.top, this.scrollHeight - clientHeight); },
    set scrollTop(value) { this.top = Math.max(0, Math.min(this.scrollHeight - clientHeight, value)); } };
}

test('a table that fits is scrolled as it is', () => {
  const element = scrollable(800);
  const scroller = new Scroller(element, element.body);
  scroller.resize(50_000);
  element.scrollTop = 30_000;
  scroller.scrolled();
  assert.deepEqual([element.body.style.height, scroller.position, scroller.shift], ['50000px', 30_000, 0]);
});

test('the scroll bar spans a table that is taller than elements can be', () => {
  const element = scrollable(800);
  const scroller = new Scroller(element, element.body);
  const height = 32_000_000;
  scroller.resize(height);
  assert.equal(element.body.style.height, `${TALLEST}px`);
  element.scrollTop = TALLEST;
  scroller.scrolled();
  assert.equal(scroller.position, height - 800);
  element.scrollTop = (TALLEST - 800) / 2;
  scroller.scrolled();
  assert.equal(scroller.position, (height - 800) / 2);
});

test('in a very tall table a short scroll moves by as many pixels, and every position can be reached', () => {
  const element = scrollable(800);
  const scroller = new Scroller(element, element.body);
  scroller.resize(32_000_000);
  for (const wanted of [0, 1, 12_345_678, 31_999_199, 31_999_200]) {
    scroller.position = wanted;
    assert.equal(scroller.position, wanted);
    const step = wanted > 1000 ? -120 : 120;
    element.scrollTop += step;
    scroller.scrolled();
    assert.equal(scroller.position, wanted + step);
  }
  scroller.position = 99e9;
  assert.equal(scroller.position, 31_999_200);
});

test('rows that are added at the end of a very tall table are reached by short scrolls', () => {
  const element = scrollable(800);
  const scroller = new Scroller(element, element.body);
  scroller.resize(32_000_000);
  element.scrollTop = TALLEST;
  scroller.scrolled();
  scroller.resize(32_000_096);
  assert.equal(scroller.position, 31_999_200, 'what is read stays');
  element.scrollTop += 60;
  scroller.scrolled();
  assert.equal(scroller.position, 31_999_260);
  element.scrollTop += 120;
  scroller.scrolled();
  assert.equal(scroller.position, 31_999_296, 'the last row');
  element.scrollTop -= 120;
  scroller.scrolled();
  scroller.resize(32_000_000);
  assert.equal(scroller.position, 31_999_176);
});

test('the position stays when rows are added to a very tall table', () => {
  const element = scrollable(800);
  const scroller = new Scroller(element, element.body);
  scroller.resize(32_000_000);
  scroller.position = 20_000_000;
  scroller.resize(32_000_032);
  assert.equal(scroller.position, 20_000_000);
  scroller.resize(1_000_000);
  assert.equal(scroller.position, 999_200);
});

test('after an answer that was too large fewer rows are requested, at last one', () => {
  assert.deepEqual([smaller(5000), smaller(5000, 500), smaller(5000, 80), smaller(40), smaller(3), smaller(2), smaller(5000, 1)], [1250, 125, 40, 20, 2, 1, 1]);
});

test('a result that arrives between a long scroll and its event does not shorten the scroll', () => {
  const element = scrollable(800);
  const scroller = new Scroller(element, element.body);
  scroller.resize(32_000_000);
  element.scrollTop = TALLEST;
  scroller.resize(32_000_000);
  assert.equal(scroller.position, 31_999_200);
  scroller.scrolled();
  assert.equal(scroller.position, 31_999_200);
  element.scrollTop = 0;
  assert.equal(scroller.position, 0);
  scroller.position += 32;
  scroller.scrolled();
  assert.equal(scroller.position, 32);
});
