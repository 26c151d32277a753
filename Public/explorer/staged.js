// Changes that were made on the page and not saved yet. They are collected by object, sent as one save, and kept in
// a storage, so that a reload of the page does not lose them.

import { fnv1a } from '../livefetch/digest.js';
import { randomText } from '../livefetch/pages.js';
import { isTemporary } from '../livefetch/pending.js';
import { isSame, own, parse, stringify } from './json.js';
import { merged } from './staged-merge.js';

const nothing = () => ({ objects: new Map(), inserts: [] });

export class Staged {
  #objects = new Map();
  #inserts = [];
  /** The changes that are being saved. The storage holds them too until the save is answered. */
  #taken = nothing();
  /**
   * The ids that the store gave to new rows, by their temporary ids. A cell that was opened before the answer still
   * has the temporary id when its value is staged.
   */
  #ids = new Map();
  /** The last save that was sent and not answered, as `{digest, key}`; the same changes are sent with the same key. */
  #attempt = null;
  #isBatch = false;
  #onChange;
  #storage;

  /**
   * @param onChange is called after every change.
   * @param storage keeps a text: `{read(), write(text)}`; nothing is kept without one.
   */
  constructor(onChange, storage) {
    this.#onChange = onChange;
    this.#storage = storage;
    this.#read();
  }

  #read() {
    const { objects, inserts, attempt } = changesIn(this.#storage?.read());
    this.#objects = objects;
    this.#inserts = inserts;
    this.#taken = nothing();
    this.#attempt = attempt;
  }

  /** Replaces the changes by those in the storage, after the storage has changed. */
  readAgain() {
    this.#read();
    this.#onChange();
  }

  /** Calls `run`, and reports all changes that it makes as one. */
  batch(run) {
    this.#isBatch = true;
    try {
      run();
    } finally {
      this.#isBatch = false;
      this.#changed();
    }
  }

  #changed() {
    if (this.#isBatch) return;
    this.#write();
    this.#onChange();
  }

  #write() {
    const { objects, inserts } = merged(this.#taken, { objects: this.#objects, inserts: this.#inserts });
    const isEmpty = objects.size + inserts.length === 0;
    this.#storage?.write(isEmpty ? null : stringify({ objects: [...objects], inserts, attempt: this.#attempt }));
  }

  /** Drops the changes of entities for which `exists(entity)` is false. */
  keepOnly(exists) {
    const { count } = this;
    this.#objects = new Map([...this.#objects].filter(([, { entity }]) => exists(entity)));
    this.#inserts = this.#inserts.filter(({ entity }) => exists(entity));
    if (this.count !== count) this.#changed();
  }

  /**
   * Removes the values of columns for which `isKnown(entity, name)` is false, and returns them:
   * `[{entity, id, name, value}]`. A deletion is no longer based on such columns: the store would refuse it.
   */
  takeUnknown(isKnown) {
    const taken = [];
    let isChanged = false;
    const known = (entity, values) =>
      Object.fromEntries(Object.entries(values).filter(([name]) => isKnown(entity, name)));
    const withKnownValues = (change) => {
      const { entity, id, values = {}, seen = {} } = change;
      const unknown = Object.entries(values).filter(([name]) => !isKnown(entity, name));
      taken.push(...unknown.map(([name, value]) => ({ entity, id, name, value })));
      isChanged ||= unknown.length > 0 || Object.keys(seen).some((name) => !isKnown(entity, name));
      return { ...change, values: known(entity, values), ...(change.seen && { seen: known(entity, seen) }) };
    };
    this.#inserts = this.#inserts.map(withKnownValues);
    this.#objects = new Map([...this.#objects].map(([name, change]) => [name, withKnownValues(change)])
      .filter(([, { isDeleted, values }]) => isDeleted || Object.keys(values).length > 0));
    if (isChanged) this.#changed();
    return taken;
  }

  get count() {
    return this.#objects.size + this.#inserts.length;
  }

  /** The staged change of an object: `{entity, id, item, values, base, seen, isDeleted}`; undefined if it has none. */
  of(entity, id) {
    return this.#objects.get(key(entity, id));
  }

  /** All changes as `listOf` returns them. */
  get list() {
    return listOf({ objects: this.#objects, inserts: this.#inserts });
  }

  /** Stages a value. The value that the page showed before the first edit becomes the base of the save. */
  set(entity, shown, name, value) {
    const item = this.#stored(shown);
    const former = this.#objects.get(key(entity, item.id)) ?? { entity, id: item.id, item };
    const base = { [name]: own(item, name), ...former.base };
    const values = { ...former.values, [name]: value };
    if (isSame(base[name], value)) {
      delete values[name];
      delete base[name];
    }
    this.#put(entity, item.id, { ...former, base, values, isDeleted: false });
  }

  /**
   * Stages a deletion, or takes it back.
   *
   * @param seen the values on which the deletion is based: another save of one of them is a conflict.
   */
  toggleDeletion(entity, shown, seen) {
    const item = this.#stored(shown);
    const former = this.of(entity, item.id);
    if (former?.isDeleted) this.#put(entity, item.id, { ...former, isDeleted: false });
    else this.#put(entity, item.id, { base: {}, ...former, entity, id: item.id, item, seen, isDeleted: true });
  }

  /** The item with the store's id in place of its temporary id; other items as they are. */
  #stored(item) {
    return this.#ids.has(item.id) ? { ...item, id: this.#ids.get(item.id) } : item;
  }

  /** Stages a new row, in place of the one with this temporary id. */
  insert(entity, values, temporaryID) {
    const index = this.#inserts.findIndex((insert) => insert.temporaryID === temporaryID);
    this.#inserts.splice(index < 0 ? this.#inserts.length : index, 1, { entity, values, temporaryID, isInsert: true });
    this.#changed();
  }

  drop(change) {
    if (change.kind === 'insert') {
      this.#inserts = this.#inserts.filter(({ temporaryID }) => temporaryID !== change.temporaryID);
    } else this.#objects.delete(key(change.entity, change.id));
    this.#changed();
  }

  clear() {
    this.#objects.clear();
    this.#inserts = [];
    this.#changed();
  }

  /** Removes the changes of the list and returns them, to be saved. Then call `saved`, or `restore` after a failure. */
  take(list) {
    const objects = new Map();
    for (const { isInsert, entity, id } of list) {
      const name = key(entity, id);
      if (isInsert || !this.#objects.has(name)) continue;
      objects.set(name, this.#objects.get(name));
      this.#objects.delete(name);
    }
    const isTaken = ({ temporaryID }) => list.some((change) => change.isInsert && change.temporaryID === temporaryID);
    const inserts = this.#inserts.filter(isTaken);
    this.#inserts = this.#inserts.filter((insert) => !isTaken(insert));
    this.#taken = { objects, inserts };
    this.#changed();
    return this.#taken;
  }

  /** The idempotency key of a save; the key of the previous attempt if the changes are the same. */
  keyOf(changes) {
    this.#attempt = attemptOf(changes, this.#attempt);
    this.#write();
    return this.#attempt.key;
  }

  /** The store has saved the taken changes. @param ids the ids that it gave to new rows, by temporary ids. */
  saved({ objects, inserts }, ids = {}) {
    this.#taken = nothing();
    this.#attempt = null;
    // `readAgain` may have read the saved changes from the storage meanwhile.
    for (const [name, { values }] of objects) {
      if (isSame(this.#objects.get(name)?.values, values)) this.#objects.delete(name);
    }
    this.#inserts = this.#inserts.filter(({ temporaryID }) => !inserts.some((insert) => insert.temporaryID === temporaryID));
    for (const [temporaryID, id] of Object.entries(ids)) this.#ids.set(temporaryID, id);
    // The new row may have been shown, and edited, under its own id before the answer.
    const isNew = ([, { id }]) => Object.hasOwn(ids, id);
    const named = ([, change]) => [key(change.entity, ids[change.id]),
      { ...change, id: ids[change.id], item: this.#stored(change.item) }];
    const all = [...this.#objects];
    this.#objects = merged({ objects: new Map(all.filter(isNew).map(named)), inserts: [] },
      { objects: new Map(all.filter((entry) => !isNew(entry))), inserts: [] }).objects;
    this.#changed();
  }

  /** Puts changes back, and merges the changes that were staged meanwhile into them. */
  restore(changes) {
    if (changes === this.#taken) this.#taken = nothing();
    const { objects, inserts } = merged(changes, { objects: this.#objects, inserts: this.#inserts });
    this.#objects = objects;
    // Edits of a row whose insert has failed are values of that insert.
    this.#inserts = inserts.flatMap((insert) => {
      const name = key(insert.entity, insert.temporaryID);
      const edit = objects.get(name);
      objects.delete(name);
      return edit?.isDeleted ? [] : [{ ...insert, values: { ...insert.values, ...edit?.values } }];
    });
    this.#changed();
  }

  /**
   * Bases a change on the values that the store holds now, after a conflict.
   *
   * @param stored the values of the store, by property.
   * @param mine the set of properties among them whose staged values are kept; a deletion is kept unless it is empty.
   */
  rebase(change, stored, mine) {
    const former = this.of(change.entity, change.id);
    if (!former) return;
    const values = { ...former.values };
    for (const name of Object.keys(stored)) if (!mine.has(name)) delete values[name];
    const isDeleted = former.isDeleted && mine.size > 0;
    this.#put(change.entity, change.id, { ...former, values, isDeleted,
      base: { ...former.base, ...stored }, seen: { ...former.seen, ...stored } });
  }

  #put(entity, id, change) {
    const isEmpty = !change.isDeleted && Object.keys(change.values ?? {}).length === 0;
    if (isEmpty) this.#objects.delete(key(entity, id));
    else this.#objects.set(key(entity, id), change);
    this.#changed();
  }
}

/** The changes of a stored text, as `{objects, inserts, attempt}`; empty for a text that cannot be read. */
export function changesIn(text) {
  try {
    const { objects, inserts, attempt } = parse(text ?? '{}');
    return { objects: new Map(objects), inserts: inserts ?? [], attempt: attempt ?? null };
  } catch {
    return { ...nothing(), attempt: null };
  }
}

/**
 * A save as `{digest, key}`; `former` if that has the same changes. The key of a save with inserts is made of a
 * temporary id, which is random, so a tab and its duplicate send the same rows with the same key, and they are saved
 * once.
 */
export function attemptOf(changes, former) {
  const text = stringify(changes);
  const digest = `${text.length}-${fnv1a(text)}`;
  if (former?.digest === digest) return former;
  const { temporaryID } = changes.find((change) => isTemporary(change.temporaryID)) ?? {};
  return { digest, key: temporaryID ? `${temporaryID}-${digest}` : randomText() };
}

/** Changes as `{kind, entity, id, item, values, base, seen, temporaryID}`: updates and deletions, then inserts. */
export const listOf = ({ objects, inserts }) => [...objects.values(), ...inserts].map((change) => ({
  ...change, kind: change.isInsert ? 'insert' : change.isDeleted ? 'delete' : 'update' }));

/** Changes of `listOf` as the changes of a save, each with the values that it is based on. */
export function saveChanges(list) {
  return list.map(({ kind, entity, id, values, base, seen, temporaryID }) => {
    if (kind === 'insert') return { insert: entity, temporaryID, values };
    if (kind === 'delete') return { delete: entity, id, base: seen };
    const former = Object.fromEntries(Object.keys(values).map((name) => [name, own(base, name)]));
    return { update: entity, id, values, base: former };
  });
}

const key = (entity, id) => `${entity}\u0000${id}`;
