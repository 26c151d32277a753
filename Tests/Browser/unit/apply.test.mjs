// Literal snapshots and diffs through `apply`, the example of the API's description first.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { advance, apply, isEmptyDiff, OutOfStep } from '../../../Public/livefetch.js';

const snapshot = () => ({
  entity: 'City', token: 'k3-1042-9f3c', count: 3,
  sections: [
    { name: 'China', value: 'China', indexTitle: 'C', items: [
      { id: 1796236, name: 'Shanghai', country: 1814991, population: 24874500 },
      { id: 1816670, name: 'Beijing', country: 1814991, population: 18960744 }] },
    { name: 'Japan', value: 'Japan', indexTitle: 'J', items: [
      { id: 1850147, name: 'Tokyo', country: 1861060, population: 9733276 }] }],
  next: '…',
});

const diff = (items, sections = {}) => ({
  entity: 'City', from: 'k3-1042-9f3c', to: 'k3-1043-07aa', count: 3,
  sections: { deleted: [], inserted: [], ...sections },
  items: { deleted: [], inserted: [], moved: [], updated: [], ...items },
});

const example = diff({
  deleted: [{ from: [1, 0], id: 1850147 }],
  inserted: [{ to: [1, 0],
    item: { id: 1275339, name: 'Mumbai', country: 1269750, population: 12691836 } }],
  moved: [{ from: [0, 1], to: [0, 0], id: 1816670, changed: { population: 25000000 } }],
  updated: [{ from: [0, 0], to: [0, 1], id: 1796236, changed: { name: 'Shànghǎi' } }],
}, {
  deleted: [{ index: 1, name: 'Japan', value: 'Japan' }],
  inserted: [{ index: 1, name: 'India', value: 'India', indexTitle: 'I' }],
});

const one = (...ids) => [{ name: '', value: null, items: ids.map((id) => ({ id })) }];
const ids = (sections) => sections.map(({ items }) => items.map((item) => item.id ?? item));

test('the example of the API gives the snapshot that it describes', () => {
  assert.deepEqual(apply(snapshot().sections, example), [
    { name: 'China', value: 'China', indexTitle: 'C', items: [
      { id: 1816670, name: 'Beijing', country: 1814991, population: 25000000 },
      { id: 1796236, name: 'Shànghǎi', country: 1814991, population: 24874500 }] },
    { name: 'India', value: 'India', indexTitle: 'I', items: [
      { id: 1275339, name: 'Mumbai', country: 1269750, population: 12691836 }] }]);
});

test('apply leaves its argument unchanged, and shares the sections without entries', () => {
  const before = snapshot();
  const after = apply(before.sections, diff({
    updated: [{ from: [1, 0], to: [1, 0], id: 1850147, changed: { population: 1 } }] }));
  assert.deepEqual(before, snapshot());
  assert.equal(after[0], before.sections[0]);
  assert.notEqual(after[1], before.sections[1]);
});

test('`from` counts in the old snapshot, `to` in the new one', () => {
  const result = apply(one(1, 2, 3, 4, 5), diff({
    deleted: [{ from: [0, 0], id: 1 }, { from: [0, 3], id: 4 }],
    inserted: [{ to: [0, 0], item: { id: 9 } }, { to: [0, 4], item: { id: 8 } }],
    moved: [{ from: [0, 1], to: [0, 3], id: 2, changed: {} }],
  }));
  assert.deepEqual(ids(result), [[9, 3, 5, 2, 8]]);
});

test('an item moves from a deleted section to an inserted one', () => {
  const sections = [
    { name: 'A', value: 'A', items: [{ id: 1, v: 'A' }] },
    { name: 'B', value: 'B', items: [{ id: 2, v: 'B' }] }];
  const result = apply(sections, diff(
    { moved: [{ from: [0, 0], to: [1, 0], id: 1, changed: { v: 'C' } }] },
    { deleted: [{ index: 0, name: 'A', value: 'A' }],
      inserted: [{ index: 1, name: 'C', value: 'C', indexTitle: 'C' }] }));
  assert.deepEqual(result, [
    { name: 'B', value: 'B', items: [{ id: 2, v: 'B' }] },
    { name: 'C', value: 'C', indexTitle: 'C', items: [{ id: 1, v: 'C' }] }]);
});

test('with as=ids, items are ids, and an update has no effect', () => {
  const sections = [{ name: '', value: null, items: [1, 2, '9007199254740993'] }];
  const result = apply(sections, diff({
    deleted: [{ from: [0, 0], id: 1 }], inserted: [{ to: [0, 2], id: 4 }],
    moved: [{ from: [0, 2], to: [0, 0], id: '9007199254740993' }],
    updated: [{ from: [0, 1], to: [0, 1], id: 2 }] }));
  assert.deepEqual(result[0].items, ['9007199254740993', 2, 4]);
});

test('a reset replaces everything', () => {
  const sections = [{ name: '', value: null, items: [{ n: 2 }] }];
  assert.deepEqual(apply(one(1), { reset: true, sections }), sections);
});

test('a diff that does not fit the snapshot is refused', () => {
  const cases = {
    'another item stands there': diff({ deleted: [{ from: [0, 0], id: 7 }] }),
    'nothing stands there': diff({ deleted: [{ from: [0, 3], id: 7 }] }),
    'no such section': diff({ inserted: [{ to: [1, 0], item: { id: 7 } }] }),
    'a gap would be left': diff({ inserted: [{ to: [0, 4], item: { id: 7 } }] }),
    'the section is not empty': diff({}, { deleted: [{ index: 0, name: '', value: null }] }),
    'another item is updated': diff({ updated: [{ from: [0, 0], to: [0, 1], id: 1, changed: {} }] }),
  };
  for (const [name, wrong] of Object.entries(cases)) {
    assert.throws(() => apply(one(1, 2), wrong), OutOfStep, name);
  }
});

test('a result has the token and the summary of the diff that was applied', () => {
  const after = advance(snapshot(), { ...example, total: 12 });
  assert.equal(after.token, 'k3-1043-07aa');
  assert.equal(after.total, 12);
  assert.equal('next' in after, false);
  assert.throws(() => advance(after, example), OutOfStep);
});

test('a count advances without sections', () => {
  const after = advance({ entity: 'City', token: 'a', total: 3 },
    { entity: 'City', from: 'a', to: 'b', total: 4 });
  assert.deepEqual(after, { entity: 'City', token: 'b', total: 4 });
});

test('`included` objects are kept and replaced one by one', () => {
  const before = { ...snapshot(), included: { Country: { 1: { id: 1 }, 2: { id: 2 } } } };
  const after = advance(before, { ...diff({}), included: { Country: { 2: { id: 2, name: 'B' } } } });
  assert.deepEqual(after.included, { Country: { 1: { id: 1 }, 2: { id: 2, name: 'B' } } });
});

test('a diff is empty exactly when it has no entry', () => {
  assert.equal(isEmptyDiff(diff({})), true);
  assert.equal(isEmptyDiff(example), false);
  assert.equal(isEmptyDiff({ reset: true, sections: [] }), false);
});

test('a thousand deletes and inserts among 10,000 rows keep the order', () => {
  const sections = one(...Array.from({ length: 10_000 }, (_, index) => index));
  const deleted = Array.from({ length: 1000 }, (_, n) => ({ from: [0, n * 10], id: n * 10 }));
  const inserted = Array.from({ length: 1000 }, (_, n) => ({ to: [0, n * 10], item: { id: 20_000 + n } }));
  const [items] = ids(apply(sections, diff({ deleted, inserted })));
  assert.equal(items.length, 10_000);
  assert.deepEqual(items.slice(0, 12), [20_000, 1, 2, 3, 4, 5, 6, 7, 8, 9, 20_001, 11]);
});
