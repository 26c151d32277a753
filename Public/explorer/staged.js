// Changes that were made on the page and not saved yet: collected by object, sent as one save, and
// kept over a reload.

import { fnv1a } from '../livefetch/digest.js';
import { randomText } from '../livefetch/pages.js';
import { isTemporary } from '../livefetch/pending.js';
import { isSame, own, parse, stringify } from './json.js';
import { merged } from './staged-merge.js';

const nothing = () => ({ objects: new Map(), inserts: [] });

export class Staged {
  #objects = new Map();
  #inserts = [];
  /** The changes that are being saved: kept over a reload as well. */
  #taken = nothing();
  /** The ids that the store gave to new rows, by their temporary ids: a cell that is open meanwhile is staged later. */
  #ids = new Map();
  /** The last save that was sent, as `{digest, key}`: sent again it has the same idempotency key. */
  #attempt = null;
  #onChange;
  #storage;

  /** @param storage keeps a text: `{read(), write(text)}`; nothing is kept without one. */
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

  /** Goes on with what is kept: the storage is another one now. */
  readAgain() {
    this.#read();
    this.#onChange();
  }

  /** Makes many changes that are reported as one. */
  batch(run) {
    this.#isBatch = true;
    try {
      run();
    } finally {
      this.#isBatch = false;
      this.#changed();
    }
  }

  #isBatch = false;

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

  /** Drops what is staged for entities that are not there. */
  keepOnly(exists) {
    const { count } = this;
    this.#objects = new Map([...this.#objects].filter(([, { entity }]) => exists(entity)));
    this.#inserts = this.#inserts.filter(({ entity }) => exists(entity));
    if (this.count !== count) this.#changed();
  }

  /** Takes out the values of columns that are not there: `[{entity, id, name, value}]`. */
  takeUnknown(isKnown) {
    const taken = [];
    const known = ({ entity, id, values = {} }) => Object.fromEntries(Object.entries(values).filter(([name, value]) =>
      isKnown(entity, name) || taken.push({ entity, id, name, value }) === 0));
    this.#inserts = this.#inserts.map((insert) => ({ ...insert, values: known(insert) }));
    this.#objects = new Map([...this.#objects].map(([key, change]) => [key, { ...change, values: known(change) }])
      .filter(([, { isDeleted, values }]) => isDeleted || Object.keys(values).length > 0));
    if (taken.length > 0) this.#changed();
    return taken;
  }

  get count() {
    return this.#objects.size + this.#inserts.length;
  }

  /** The staged change of an object: `{values, base, isDeleted}`. */
  of(entity, id) {
    return this.#objects.get(key(entity, id));
  }

  /** Everything, in the order in which it was made: `{kind, entity, id, item, values, base}`. */
  get list() {
    return listOf({ objects: this.#objects, inserts: this.#inserts });
  }

  /** Stages a value; the one that was seen first is what the save is based on. */
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

  /** The item with the id that the store gave, where it was shown before that. */
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

  /** Takes changes of the list out to be saved; `restore` puts them back, `saved` ends them. */
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

  /** The idempotency key of a save: that of the attempt before where the changes are the same. */
  keyOf(changes) {
    this.#attempt = attemptOf(changes, this.#attempt);
    this.#write();
    return this.#attempt.key;
  }

  /** The changes that were taken are saved. @param ids those that the store gave, by temporary ids. */
  saved({ objects, inserts }, ids = {}) {
    this.#taken = nothing();
    this.#attempt = null;
    // They may have been read from the storage meanwhile.
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

  /** Puts changes back; those that were staged meanwhile are made on them. */
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

  /** After a conflict: what the store holds now is what has been seen; `mine` of it is kept. */
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

/** The changes of a stored text, as `{objects, inserts, attempt}`; a text that is not of this page counts as nothing. */
export function changesIn(text) {
  try {
    const { objects, inserts, attempt } = parse(text ?? '{}');
    return { objects: new Map(objects), inserts: inserts ?? [], attempt: attempt ?? null };
  } catch {
    return { ...nothing(), attempt: null };
  }
}

/**
 * A save as `{digest, key}`: the attempt before it where that has the same changes. Temporary ids of a client
 * are random, so a save that inserts has its key by them: a tab and its duplicate save the same rows once.
 */
export function attemptOf(changes, former) {
  const text = stringify(changes);
  const digest = `${text.length}-${fnv1a(text)}`;
  if (former?.digest === digest) return former;
  const { temporaryID } = changes.find((change) => isTemporary(change.temporaryID)) ?? {};
  return { digest, key: temporaryID ? `${temporaryID}-${digest}` : randomText() };
}

/** Changes as `list` gives them. */
export const listOf = ({ objects, inserts }) => [...objects.values(), ...inserts].map((change) => ({
  ...change, kind: change.isInsert ? 'insert' : change.isDeleted ? 'delete' : 'update' }));

/** Staged changes as a save's: each guarded by the values that were seen. */
export function saveChanges(list) {
  return list.map(({ kind, entity, id, values, base, seen, temporaryID }) => {
    if (kind === 'insert') return { insert: entity, temporaryID, values };
    if (kind === 'delete') return { delete: entity, id, base: seen };
    const former = Object.fromEntries(Object.keys(values).map((name) => [name, own(base, name)]));
    return { update: entity, id, values, base: former };
  });
}

const key = (entity, id) => `${entity}\u0000${id}`;
