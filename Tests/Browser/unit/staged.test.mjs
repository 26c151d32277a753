// Changes that are not saved yet, and where they are kept.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sides } from '../../../Public/explorer/saving.js';
import { SetAside } from '../../../Public/explorer/set-aside.js';
import { listOf, saveChanges, Staged } from '../../../Public/explorer/staged.js';
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

test('values of columns that are gone are taken out, and changes without others with them', () => {
  const staged = new Staged(() => {});
  staged.set('t', { id: 1, a: 1, b: 2 }, 'a', 5);
  staged.set('t', { id: 1, a: 1, b: 2 }, 'b', 6);
  staged.set('t', { id: 2, a: 1 }, 'a', 7);
  staged.insert('t', { a: 8, b: 9 }, 'new-1');
  assert.deepEqual(staged.takeUnknown((entity, name) => name !== 'a'), [
    { entity: 't', id: undefined, name: 'a', value: 8 }, { entity: 't', id: 1, name: 'a', value: 5 }, { entity: 't', id: 2, name: 'a', value: 7 }]);
  assert.deepEqual(staged.list.map(({ id, values }) => [id, values]), [[1, { b: 6 }], [undefined, { b: 9 }]]);
  assert.deepEqual(staged.takeUnknown(() => true), []);
});

test('a deletion is no longer based on a column that is gone', () => {
  const staged = new Staged(() => {});
  staged.toggleDeletion('t', { id: 1, a: 1, b: 2 }, { a: 1, b: 2 });
  assert.deepEqual(staged.takeUnknown((entity, name) => name !== 'a'), []);
  assert.deepEqual(saveChanges(staged.list), [{ delete: 't', id: 1, base: { b: 2 } }]);
});

test('what is staged for one store is not offered in another, and is there again in its own', () => {
  const tab = new TabStorage();
  edited(a, tab);
  assert.equal(stagedFor(b, tab).count, 0);
  assert.equal(stagedFor(restored, tab).count, 0);
  assert.deepEqual(stagedFor(later, tab).of('t', 1).values, { name: 'edited' });
});

test('changes of other stores are named in one sentence', () => {
  const tab = new TabStorage();
  edited(a, tab);
  const notes = (about) => {
    const aside = new SetAside(new StagedStorage(about, tab), () => {});
    aside.look();
    return aside.notes.map(({ text, actions }) => [text, actions.map(([name]) => name)]);
  };
  assert.deepEqual(notes(later), []);
  assert.deepEqual(notes(b), [['Not shown: 1 change of a.sqlite; this server serves b.sqlite.', ['Discard']]]);
  assert.deepEqual(notes(restored),
    [['Not shown: 1 change of an earlier a.sqlite, from before its tables or the file changed.', ['Restore', 'Discard']]]);
});

test('changes of an earlier state of the same file are restored on request', () => {
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

// MARK: While a save is under way

const kabul = { id: 1, name: 'Kabul', population: 1, country: 5 };

test('edits of a row that is being saved are kept beside those that come back', () => {
  const staged = stagedFor(a, new TabStorage());
  staged.set('City', kabul, 'name', 'K');
  staged.set('City', kabul, 'population', 2);
  const taken = staged.take(staged.list);
  staged.set('City', { ...kabul, name: 'K', population: 2 }, 'population', 3);
  staged.set('City', { ...kabul, name: 'K', population: 2 }, 'country', 6);
  staged.restore(taken);
  const { values, base } = staged.of('City', 1);
  assert.deepEqual(values, { name: 'K', population: 3, country: 6 });
  assert.deepEqual(base, { name: 'Kabul', population: 1, country: 5 });
});

test('an edit that goes back to the stored value while the first one is being saved leaves nothing staged', () => {
  const staged = stagedFor(a, new TabStorage());
  staged.set('City', kabul, 'name', 'K');
  const taken = staged.take(staged.list);
  staged.set('City', { ...kabul, name: 'K' }, 'name', 'Kabul');
  staged.restore(taken);
  assert.equal(staged.count, 0);
});

test('related rows that are added and removed while a save is under way are joined with those that come back', () => {
  const staged = stagedFor(a, new TabStorage());
  staged.set('List', { id: 1 }, 'items', { add: [1, 2], remove: [3, 4] });
  const taken = staged.take(staged.list);
  staged.set('List', { id: 1 }, 'items', { add: [3, 5], remove: [2] });
  staged.restore(taken);
  assert.deepEqual(staged.of('List', 1).values, { items: { add: [1, 3, 5], remove: [4, 2] } });
});

test('a row that is deleted while an edit of it is being saved stays to be deleted', () => {
  const staged = stagedFor(a, new TabStorage());
  staged.set('City', kabul, 'name', 'K');
  const taken = staged.take(staged.list);
  staged.toggleDeletion('City', { ...kabul, name: 'K' }, { name: 'K', population: 1 });
  staged.restore(taken);
  const [{ kind, seen, values }] = staged.list;
  assert.deepEqual({ kind, seen, values }, { kind: 'delete', seen: { name: 'Kabul', population: 1 }, values: { name: 'K' } });
});

test('a page that is reloaded while it saves has the changes again, under the same key', () => {
  const tab = new TabStorage();
  const staged = stagedFor(a, tab);
  staged.insert('City', { name: 'Atlantis' }, 'new-1');
  staged.set('City', kabul, 'name', 'K');
  const key = staged.keyOf(saveChanges(listOf(staged.take(staged.list))));
  assert.equal(staged.count, 0);
  const reloaded = stagedFor(a, tab);
  assert.equal(reloaded.count, 2);
  assert.equal(reloaded.keyOf(saveChanges(listOf(reloaded.take(reloaded.list)))), key);
});

test('a save that is sent again has the key of its first attempt, and another one after a change', () => {
  const staged = stagedFor(a, new TabStorage());
  staged.insert('City', { name: 'Atlantis' }, 'new-1');
  const attempt = () => {
    const taken = staged.take(staged.list);
    return [taken, staged.keyOf(saveChanges(listOf(taken)))];
  };
  const [first, key] = attempt();
  staged.restore(first);
  const [second, again] = attempt();
  assert.equal(again, key);
  staged.restore(second);
  staged.insert('City', { name: 'Lyonesse' }, 'new-2');
  const [third, other] = attempt();
  assert.notEqual(other, key);
  staged.saved(third);
  staged.insert('City', { name: 'Atlantis' }, 'new-1');
  assert.notEqual(attempt()[1], key, 'what was saved is not saved again under its key');
});

test('what was saved while the store was found to be another one is not staged again', () => {
  const tab = new TabStorage();
  const staged = stagedFor(a, tab);
  staged.insert('City', { name: 'Atlantis' }, 'new-1');
  staged.set('City', kabul, 'name', 'K');
  const taken = staged.take(staged.list);
  staged.readAgain();
  assert.equal(staged.count, 2);
  staged.saved(taken);
  assert.equal(staged.count, 0);
  assert.equal(stagedFor(a, tab).count, 0);
});

test('a tab that is duplicated saves its new rows under the key of the first tab', () => {
  const tab = new TabStorage();
  stagedFor(a, tab).insert('City', { name: 'Atlantis' }, 'new-0123456789abcdef01234567-000001');
  const copy = Object.assign(new TabStorage(), tab);
  const keyIn = (storage) => {
    const staged = stagedFor(a, storage);
    return staged.keyOf(saveChanges(listOf(staged.take(staged.list))));
  };
  assert.equal(keyIn(tab), keyIn(copy));
});

test('an edit of a row whose insert is being saved is staged for the id that the store gives', () => {
  const staged = stagedFor(a, new TabStorage());
  staged.insert('City', { name: 'Atlantis', population: 1 }, 'new-1');
  const taken = staged.take(staged.list);
  const pending = { id: 'new-1', name: 'Atlantis', population: 1 };
  staged.set('City', pending, 'population', 2);
  staged.saved(taken, { 'new-1': 7 });
  assert.deepEqual(saveChanges(staged.list), [{ update: 'City', id: 7, values: { population: 2 }, base: { population: 1 } }]);
  staged.set('City', pending, 'name', 'Mu');
  assert.deepEqual(saveChanges(staged.list),
    [{ update: 'City', id: 7, values: { population: 2, name: 'Mu' }, base: { population: 1, name: 'Atlantis' } }], 'a cell that was open ends later');
  staged.toggleDeletion('City', pending, { name: 'Atlantis' });
  assert.deepEqual(saveChanges(staged.list), [{ delete: 'City', id: 7, base: { name: 'Atlantis' } }]);
});

test('edits of a new row under its temporary id and under its id are joined when its insert is saved', () => {
  const staged = stagedFor(a, new TabStorage());
  staged.insert('City', { name: 'Atlantis', population: 1 }, 'new-1');
  const taken = staged.take(staged.list);
  staged.set('City', { id: 'new-1', name: 'Atlantis', population: 1 }, 'population', 2);
  staged.set('City', { id: 'new-1', name: 'Atlantis', population: 1 }, 'name', 'Mu');
  staged.set('City', { id: 7, name: 'Atlantis', population: 1, country: 5 }, 'country', 6);
  staged.set('City', { id: 7, name: 'Atlantis', population: 1, country: 5 }, 'name', 'Lyonesse');
  staged.saved(taken, { 'new-1': 7 });
  assert.deepEqual(saveChanges(staged.list), [{ update: 'City', id: 7,
    values: { population: 2, name: 'Lyonesse', country: 6 }, base: { population: 1, name: 'Atlantis', country: 5 } }]);
});

test('edits of a row whose insert fails are values of the insert, which is saved under another key', () => {
  const tab = new TabStorage();
  const staged = stagedFor(a, tab);
  const name = 'new-0123456789abcdef01234567-000001';
  staged.insert('City', { name: 'Atlantis', population: 1 }, name);
  const taken = staged.take(staged.list);
  const first = staged.keyOf(saveChanges(listOf(taken)));
  staged.set('City', { id: name, name: 'Atlantis', population: 1 }, 'population', 2);
  staged.restore(taken);
  const changes = saveChanges(staged.list);
  assert.deepEqual(changes, [{ insert: 'City', temporaryID: name, values: { name: 'Atlantis', population: 2 } }]);
  assert.deepEqual(saveChanges(stagedFor(a, tab).list), changes);
  assert.notEqual(staged.keyOf(changes), first);
  assert.deepEqual(taken.inserts[0].values, { name: 'Atlantis', population: 1 });
});

test('a row that is deleted while its insert fails is not inserted', () => {
  const staged = stagedFor(a, new TabStorage());
  staged.insert('City', { name: 'Atlantis' }, 'new-1');
  const taken = staged.take(staged.list);
  staged.toggleDeletion('City', { id: 'new-1', name: 'Atlantis' }, { name: 'Atlantis' });
  staged.restore(taken);
  assert.equal(staged.count, 0);
});

test('the edit of a column called __proto__ is kept when an earlier save of its row fails', () => {
  const staged = stagedFor(a, new TabStorage());
  const row = JSON.parse('{"id": 1, "name": "one", "__proto__": "p"}');
  staged.set('doc', row, 'name', 'two');
  const taken = staged.take(staged.list);
  staged.set('doc', row, '__proto__', 'q');
  staged.restore(taken);
  assert.equal(JSON.stringify(staged.of('doc', 1).values), '{"name":"two","__proto__":"q"}');
});

test('a conflict of a JSON column shows whole values, and one of a row shows those of its columns', () => {
  const change = { kind: 'update', values: { data: { data: 7 } }, base: { data: { data: 5 } } };
  assert.deepEqual(sides({ property: 'data', stored: { data: 6 }, given: { data: 7 } }, change),
    [{ property: 'data', seen: { data: 5 }, stored: { data: 6 }, given: { data: 7 } }]);
  assert.deepEqual(sides({ stored: { name: 'B', age: 3 }, given: { name: 'C' } }, { kind: 'update', values: { name: 'C' }, base: { name: 'A' } }),
    [{ property: 'name', seen: 'A', stored: 'B', given: 'C' }]);
  assert.deepEqual(sides({ property: 'name', stored: 'B', given: null }, { kind: 'delete', seen: { name: 'A' } }),
    [{ property: 'name', seen: 'A', stored: 'B', given: 'delete the row' }]);
});
