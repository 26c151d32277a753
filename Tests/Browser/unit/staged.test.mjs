// Changes that are not saved yet, and where they are kept.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SetAside } from '../../../Public/explorer/set-aside.js';
import { Staged } from '../../../Public/explorer/staged.js';
import { StagedStorage } from '../../../Public/explorer/staged-storage.js';

const a = { database: 'a.sqlite', token: 'k3-1042-9f3c0000' };
const later = { database: 'a.sqlite', token: 'k3-1043-07aa0000' };
const b = { database: 'b.sqlite', token: 'x9-1-00000000' };
const restored = { database: 'a.sqlite', token: 'm1-2-00000000' };

/** A browser's storage that has room for so many characters. */
class TabStorage {
  constructor(room = Infinity) { Object.defineProperty(this, 'room', { value: room }); }
  getItem(key) { return Object.hasOwn(this, key) ? this[key] : null; }
  removeItem(key) { delete this[key]; }
  setItem(key, text) {
    if (text.length > this.room) throw new DOMException('full', 'QuotaExceededError');
    this[key] = text;
  }
}

const stagedFor = (about, tab) => new Staged(() => {}, new StagedStorage(about, tab));
const edited = (about, tab) => stagedFor(about, tab).set('t', { id: 1, name: 'A' }, 'name', 'edited');

test('what is staged for one store is not offered in another, and is there again in its own', () => {
  const tab = new TabStorage();
  edited(a, tab);
  assert.equal(stagedFor(b, tab).count, 0);
  assert.equal(stagedFor(restored, tab).count, 0);
  assert.deepEqual(stagedFor(later, tab).of('t', 1).values, { name: 'edited' });
});

test('what is kept aside is said in one sentence', () => {
  const tab = new TabStorage();
  edited(a, tab);
  const notes = (about) => {
    const aside = new SetAside(new StagedStorage(about, tab), () => {});
    aside.look();
    return aside.notes.map(({ text, actions }) => [text, actions.map(([name]) => name)]);
  };
  assert.deepEqual(notes(later), []);
  assert.deepEqual(notes(b), [['Kept aside: 1 change of a.sqlite, for this is b.sqlite.', ['Discard']]]);
  assert.deepEqual(notes(restored),
    [['Kept aside: 1 change of an earlier a.sqlite, before its tables or the file changed.', ['Take over', 'Discard']]]);
});

test('changes of an earlier state of the same file are taken over on request', () => {
  const tab = new TabStorage();
  edited(a, tab);
  const storage = new StagedStorage(restored, tab);
  const staged = new Staged(() => {}, storage);
  const aside = new SetAside(storage, (changes) => staged.restore(changes));
  aside.look();
  aside.notes[0].actions[0][1]();
  assert.deepEqual(staged.of('t', 1).values, { name: 'edited' });
  assert.deepEqual(aside.notes, []);
  assert.equal(stagedFor(restored, tab).count, 1);
});

test('changes that the browser does not keep stay in the page, which knows it', () => {
  const storage = new StagedStorage(a, new TabStorage(400));
  const staged = new Staged(() => {}, storage);
  staged.set('t', { id: 1, name: 'A' }, 'name', 'small');
  assert.equal(storage.isKept, true);
  staged.set('t', { id: 1, name: 'A' }, 'name', 'x'.repeat(500));
  assert.equal(storage.isKept, false);
  storage.follow(b);
  staged.readAgain();
  assert.equal(staged.count, 0);
  storage.follow(a);
  staged.readAgain();
  assert.equal(staged.of('t', 1).values.name.length, 500);
  staged.clear();
  assert.equal(storage.isKept, true);
});

test('a browser without storage is no error', () => {
  const storage = new StagedStorage(a, null);
  const staged = new Staged(() => {}, storage);
  staged.set('t', { id: 1, name: 'A' }, 'name', 'x');
  assert.equal(storage.isKept, false);
  assert.deepEqual(storage.others, []);
  staged.clear();
  assert.equal(storage.isKept, true);
});
