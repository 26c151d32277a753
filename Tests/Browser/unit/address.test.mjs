// A view ↔ the address of the page.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { read, write } from '../../../Public/explorer/address.js';

/** A browser's address and history. */
function browser() {
  const entries = [{ state: null, search: '' }];
  const put = (at) => (state, _, target) => { entries.splice(at(), Infinity, { state, search: target.slice(1) }); };
  globalThis.location = { pathname: '/', get search() { return entries.at(-1).search; } };
  globalThis.history = { get state() { return entries.at(-1).state; }, pushState: put(() => entries.length), replaceState: put(() => entries.length - 1) };
  return entries;
}

test('a filter that is too long for an address is kept beside it', () => {
  const entries = browser();
  const [one, other] = ['x', 'y'].map((letter) => `name == '${letter.repeat(7000)}'`);
  write({ entity: 'City', where: one, sort: 'name' }, true);
  assert.equal(location.search, '?entity=City&sort=name');
  assert.deepEqual([read().where === one, read().sort], [true, 'name']);
  write({ entity: 'City', where: one, sort: 'name' }, true);
  assert.equal(entries.length, 2, 'the same view is no step');
  write({ entity: 'City', where: other, sort: 'name' }, true);
  assert.deepEqual([read().where === other, entries.length], [true, 3]);
  write({ entity: 'City', where: '', sort: 'name' }, true);
  assert.deepEqual([read().where, location.search, entries.length], ['', '?entity=City&sort=name', 4]);
  write({ entity: 'City', where: "name == 'x'", sort: 'name' }, false);
  assert.deepEqual([read().where, location.search, history.state, entries.length], ["name == 'x'", '?entity=City&where=name+%3D%3D+%27x%27&sort=name', null, 4]);
});
