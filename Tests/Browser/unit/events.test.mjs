// Server-sent events in pieces, local edits, tokens.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventParser, events } from '../../../Public/livefetch/events.js';
import { isPending, overlay } from '../../../Public/livefetch/overlay.js';
import { hasReached } from '../../../Public/livefetch/pending.js';
import { route } from '../../../Public/livefetch.js';

const text = 'retry: 2000\n\n:\n\nevent: diff\nid: k-1-a\ndata: {"a":1}\n\n'
  + 'event: snapshot\r\ndata: one\r\ndata: two\r\n\r\ndata:x\r\r';
const expected = [
  { event: 'diff', id: 'k-1-a', data: '{"a":1}' },
  { event: 'snapshot', id: undefined, data: 'one\ntwo' },
  { event: 'message', id: undefined, data: 'x' }];

test('events are the same however the text is cut', () => {
  for (let size = 1; size <= text.length; size += 1) {
    const parser = new EventParser();
    const found = [];
    for (let at = 0; at < text.length; at += size) {
      found.push(...parser.push(text.slice(at, at + size)));
    }
    // The last CR may be half a CRLF: it counts when something follows.
    found.push(...parser.push(':'));
    assert.deepEqual(found, expected, `pieces of ${size}`);
  }
});

test('a character that the network cut in two arrives whole', async () => {
  const bytes = new TextEncoder().encode('data: é€\n\n');
  const body = new ReadableStream({
    start(controller) {
      for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
      controller.close();
    },
  });
  let count = 0;
  const found = [];
  for await (const event of events(body, (n) => { count += n; })) found.push(event.data);
  assert.deepEqual(found, ['é€']);
  assert.equal(count, bytes.length);
});

const sections = [
  { name: 'X', value: 'X', items: [{ id: 1, n: 9, c: 1 }, { id: 2, n: 5, c: 1 }] },
  { name: 'Y', value: 'Y', items: [{ id: 3, n: 7, c: 2 }] }];
const request = { entity: 'T', section: 'c.name', sort: '-n' };

test('an edit is shown in place and marked, others are shared', () => {
  const shown = overlay(sections, request, [{ update: 'T', id: 2, values: { n: 6, hidden: 1, constructor: 2 } }]);
  assert.deepEqual(shown[0].items, [{ id: 1, n: 9, c: 1 }, { id: 2, n: 6, c: 1 }]);
  assert.equal(isPending(shown[0].items[1]), true);
  assert.equal(isPending(shown[0].items[0]), false);
  assert.equal(shown[1], sections[1]);
});

test('a deletion takes the section with it that it empties', () => {
  const shown = overlay(sections, request, [{ delete: 'T', id: 3 }]);
  assert.deepEqual(shown.map(({ name }) => name), ['X']);
});

test('an insert stands in its section where the order puts it', () => {
  const shown = overlay(sections, request,
    [{ insert: 'T', temporaryID: 't', values: { n: 7, c: 1 } }]);
  assert.deepEqual(shown[0].items.map(({ id }) => id), [1, 't', 2]);
});

test('an insert stands where its number will be, which is greater than the others', () => {
  const plain = [{ name: '', value: null, items: [{ id: 7, done: false }, { id: 3, done: true }] }];
  const shown = overlay(plain, { entity: 'T', sort: 'done,-id' }, [
    { insert: 'T', temporaryID: 'new-a-000009', values: { done: false } },
    { insert: 'T', temporaryID: 'new-a-000010', values: { done: false } }]);
  assert.deepEqual(shown[0].items.map(({ id }) => id), ['new-a-000010', 'new-a-000009', 7, 3]);
});

test('an insert whose section cannot be told is not shown', () => {
  const shown = overlay(sections, request,
    [{ insert: 'T', temporaryID: 't', values: { n: 7, c: 9 } }]);
  assert.deepEqual(shown, sections);
});

test('an insert makes a section for a value of an attribute that no other item has, where the order puts it', () => {
  const list = [{ name: 'B', value: 'B', items: [{ id: 1, c: 'B' }] }, { name: 'D', value: 'D', items: [{ id: 2, c: 'D' }] }];
  const insert = (...values) => values.map((c, index) => ({ insert: 'T', temporaryID: `t${index}`, values: { c } }));
  const shown = (section, before, changes) => overlay(before, { entity: 'T', section, sort: 'id' }, changes)
    .map(({ name, value, indexTitle, items }) => [name, value, indexTitle, items.map(({ id }) => id)]);
  assert.deepEqual(shown('c', list, insert('ca', null, 'ca', 'B', undefined)), [['', null, '', ['t1']], ['B', 'B', undefined, [1, 't3']],
    ['D', 'D', undefined, [2]], ['ca', 'ca', 'C', ['t0', 't2']]]);
  assert.deepEqual(shown('-c', list.toReversed(), insert('C')).map(([name]) => name), ['D', 'C', 'B']);
  assert.deepEqual(shown('c', [], insert('x')), [['x', 'x', 'X', ['t0']]]);
  assert.deepEqual(shown('c', [], insert(true)), [['1', true, '1', ['t0']]]);
  for (const section of ['c:initial', 'c.name']) assert.deepEqual(shown(section, [], insert('x')), []);
  // An item that is edited stays in its section until the answer.
  assert.deepEqual(shown('c', list, [{ update: 'T', id: 1, values: { c: 'E' } }, ...insert('E')]).map(([name, , , ids]) => [name, ids]),
    [['B', [1]], ['D', [2]], ['E', ['t0']]]);
});

test('an insert leaves a full window full: the last one goes, or it is behind the last itself', () => {
  const window = { ...request, limit: 3 };
  const before = overlay(sections, window, [{ insert: 'T', temporaryID: 't', values: { n: 7, c: 1 } }]);
  assert.deepEqual(before.map(({ items }) => items.map(({ id }) => id)), [[1, 't', 2]]);
  const behind = overlay(sections, window, [{ insert: 'T', temporaryID: 't', values: { n: 1, c: 2 } }]);
  assert.deepEqual(behind, sections);
  const refilled = overlay(sections, window,
    [{ delete: 'T', id: 3 }, { insert: 'T', temporaryID: 't', values: { n: 7, c: 1 } }]);
  assert.deepEqual(refilled.map(({ items }) => items.map(({ id }) => id)), [[1, 't', 2]]);
});

test('changes of other entities change nothing', () => {
  const shown = overlay(sections, request, [{ delete: 'Other', id: 1 }]);
  assert.deepEqual(shown, sections);
});

test('a new item has the properties that are selected, or those of the others, and null for what is not known', () => {
  const insert = [{ insert: 'T', temporaryID: 't', values: { name: 'Qz', country: 7 } }];
  const shown = (request, items) => overlay([{ name: '', items }], { entity: 'T', ...request }, insert)[0].items.at(-1);
  assert.deepEqual(shown({ select: ['name', 'country.name'] }, []), { id: 't', name: 'Qz', 'country.name': null });
  assert.deepEqual(shown({ select: 'name, n' }, []), { id: 't', name: 'Qz', n: null });
  assert.deepEqual(shown({}, [{ id: 1, name: 'A', population: 5 }]), { id: 't', name: 'Qz', population: null, country: 7 });
  assert.deepEqual(shown({}, []), { id: 't', name: 'Qz', country: 7 });
});

test('a token has reached one of the same kind that is not later', () => {
  assert.equal(hasReached('k3-1044-51d0', 'k3-1044-51d0'), true);
  assert.equal(hasReached('k3-1045-aa', 'k3-1044-51d0'), true);
  assert.equal(hasReached('k3-999-aa', 'k3-1044-51d0'), false);
  assert.equal(hasReached('k4-1045-aa', 'k3-1044-51d0'), false);
  assert.equal(hasReached('opaque', 'other'), false);
  assert.equal(hasReached(undefined, 'k3-1-a'), false);
});

test('a request goes as GET where it fits, with typed values as POST', () => {
  assert.deepEqual(
    route({ entity: 'City', where: 'population >= 1', sort: ['-population', 'name:cd'], limit: 0 }),
    { method: 'GET',
      path: '/v1/objects/City?where=population+%3E%3D+1&sort=-population%2Cname%3Acd&limit=0' });
  const typed = { entity: 'City', where: 'name == %@', arguments: ['A'], sort: 'name' };
  assert.deepEqual(route(typed),
    { method: 'POST', path: '/v1/fetch', body: { ...typed, sort: ['name'] } });
});

test('many inserted objects are woven into many items in one pass', () => {
  let reads = 0;
  const items = Array.from({ length: 1000 }, (_, n) => ({ id: n, get n() { reads += 1; return n; } }));
  const inserts = Array.from({ length: 100 }, (_, n) => ({ insert: 'T', temporaryID: `t${n}`, values: { n: 10 * (100 - n) - 0.5 } }));
  const [{ items: shown }] = overlay([{ name: '', value: null, items }], { entity: 'T', sort: 'n' }, inserts);
  assert.ok(reads < 5000, `${reads} reads of 1000 items`);
  assert.deepEqual(shown.map(({ n }) => n), [...items, ...inserts.map(({ values }) => values)].map(({ n }) => n).sort((a, b) => a - b));
});

test('inserted objects follow the items that are equal to them, in the order of their saves, and those of a list without order are last', () => {
  const items = [{ id: 1, n: 2 }, { id: 2, n: 2 }, { id: 3, n: 3 }];
  const insert = (name, n) => ({ insert: 'T', temporaryID: name, values: { n } });
  const inserts = [insert('a', 3), insert('b', 2), insert('c', 2), insert('d', 1)];
  const shown = (sort, list) => overlay([{ name: '', value: null, items: list }], { entity: 'T', sort }, inserts)[0].items.map(({ id }) => id);
  assert.deepEqual([shown('n', items), shown('-n', items.toReversed()), shown(undefined, items)],
    [['d', 1, 2, 'b', 'c', 3, 'a'], [3, 'a', 2, 1, 'b', 'c', 'd'], [1, 2, 3, 'a', 'b', 'c', 'd']]);
});

test('an inserted object is not shown in a window that does not begin at the first item', () => {
  const list = [{ name: '', value: null, items: [{ id: 1, n: 2 }] }];
  const changes = [{ insert: 'T', temporaryID: 'a', values: { n: 1 } }, { update: 'T', id: 1, values: { n: 5 } }, { update: 'T', id: 'a', values: { n: 6 } }];
  const shown = (window) => overlay(list, { entity: 'T', sort: 'n', limit: 10, ...window }, changes)[0].items.map(({ n }) => n);
  assert.deepEqual([shown({ offset: 10 }), shown({ offset: '10' }), shown({ after: 'x' }), shown({ offset: 0 })], [[5], [5], [5], [5, 6]]);
});
