// Changes that were made on the page and not saved yet: collected by object, sent as one save.

export class Staged {
  #objects = new Map();
  #inserts = [];
  #onChange;

  constructor(onChange) {
    this.#onChange = onChange;
  }

  get count() {
    return this.#objects.size + this.#inserts.length;
  }

  /** What is staged for an object: `{values, base, isDeleted}`. */
  of(entity, id) {
    return this.#objects.get(key(entity, id));
  }

  /** Everything, in the order in which it was made: `{kind, entity, id, item, values, base}`. */
  get list() {
    return [...this.#objects.values(), ...this.#inserts].map((change) => ({
      ...change, kind: change.isInsert ? 'insert' : change.isDeleted ? 'delete' : 'update' }));
  }

  /** Stages a value; the one that was seen first is what the save is based on. */
  set(entity, item, name, value) {
    const former = this.#objects.get(key(entity, item.id)) ?? { entity, id: item.id, item };
    const base = { [name]: item[name], ...former.base };
    const values = { ...former.values, [name]: value };
    if (same(base[name], value)) {
      delete values[name];
      delete base[name];
    }
    this.#put(entity, item.id, { ...former, base, values, isDeleted: false });
  }

  /** Stages a deletion, or takes it back. */
  toggleDeletion(entity, item) {
    const former = this.of(entity, item.id);
    if (former?.isDeleted) this.#put(entity, item.id, { ...former, isDeleted: false });
    else this.#put(entity, item.id, { base: {}, ...former, entity, id: item.id, item, isDeleted: true });
  }

  insert(entity, values, temporaryID) {
    this.#inserts.push({ entity, values, temporaryID, isInsert: true });
    this.#onChange();
  }

  drop(change) {
    if (change.kind === 'insert') {
      this.#inserts = this.#inserts.filter(({ temporaryID }) => temporaryID !== change.temporaryID);
    } else this.#objects.delete(key(change.entity, change.id));
    this.#onChange();
  }

  clear() {
    this.#objects.clear();
    this.#inserts = [];
    this.#onChange();
  }

  /** Takes everything out to be saved; `restore` puts it back. */
  take() {
    const taken = { objects: new Map(this.#objects), inserts: [...this.#inserts] };
    this.clear();
    return taken;
  }

  /** What was staged meanwhile stays in front of what comes back. */
  restore({ objects, inserts }) {
    this.#objects = new Map([...objects, ...this.#objects]);
    this.#inserts = [...inserts, ...this.#inserts];
    this.#onChange();
  }

  /** After a conflict: what the store holds now is what has been seen; `mine` of it is kept. */
  rebase(change, stored, mine) {
    const former = this.of(change.entity, change.id);
    if (!former) return;
    const values = { ...former.values };
    for (const name of Object.keys(stored)) if (!mine.has(name)) delete values[name];
    this.#put(change.entity, change.id, { ...former, values, base: { ...former.base, ...stored } });
  }

  #put(entity, id, change) {
    const isEmpty = !change.isDeleted && Object.keys(change.values ?? {}).length === 0;
    if (isEmpty) this.#objects.delete(key(entity, id));
    else this.#objects.set(key(entity, id), change);
    this.#onChange();
  }
}

/** Staged changes as a save's: each guarded by the values that were seen. */
export function saveChanges(list) {
  return list.map(({ kind, entity, id, values, base, temporaryID }) => {
    if (kind === 'insert') return { insert: entity, temporaryID, values };
    if (kind === 'delete') return { delete: entity, id };
    const seen = Object.fromEntries(Object.keys(values).map((name) => [name, base[name]]));
    return { update: entity, id, values, base: seen };
  });
}

const key = (entity, id) => `${entity}\u0000${id}`;
const same = (left, right) => JSON.stringify(left ?? null) === JSON.stringify(right ?? null);
