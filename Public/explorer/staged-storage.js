// Keeps staged changes over a reload of the tab: each store has its own, so that changes of one
// are never saved into another that is served at the same address later.

const PREFIX = 'livefetch.staged ';

/** The key of a store: its name, and the history that its tokens begin with. */
const keyOf = ({ database = '', token = '' }) => `${PREFIX}${token.split('-')[0]} ${database}`;
const databaseOf = (key) => key.slice(PREFIX.length).replace(/^\S* /, '');

/** True if two answers of `GET /v1` are of one store. */
export const isSameStore = (left, right) => keyOf(left) === keyOf(right);

export class StagedStorage {
  #storage;
  #about;
  /** Texts that the browser does not keep, by their keys. */
  #unkept = new Map();

  /** @param about the answer of `GET /v1`. @param storage that of the tab; a browser may have none. */
  constructor(about, storage) {
    this.#about = about;
    this.#storage = storage;
  }

  get about() {
    return this.#about;
  }

  /** Goes to another store; what is kept of the one before stays there. */
  follow(about) {
    this.#about = about;
  }

  /** True if a reload loses nothing. */
  get isKept() {
    return this.#unkept.size === 0;
  }

  read(key = keyOf(this.#about)) {
    try { return this.#unkept.get(key) ?? this.#storage.getItem(key); } catch { return null; }
  }

  write(text, key = keyOf(this.#about)) {
    this.#unkept.delete(key);
    try {
      if (text === null) this.#storage.removeItem(key);
      else this.#storage.setItem(key, text);
    } catch {
      if (text !== null) this.#unkept.set(key, text);
      // The text that was kept before is outdated.
      try { this.#storage.removeItem(key); } catch { /* The browser keeps nothing at all. */ }
    }
  }

  /** Forgets the texts of all stores. */
  clear() {
    [...this.others.map(({ key }) => key), keyOf(this.#about)].forEach((key) => this.write(null, key));
  }

  /** The texts of other stores: `{key, database, isNamesake}`, the last for a former state of this one. */
  get others() {
    const keys = new Set(this.#unkept.keys());
    try { Object.keys(this.#storage).forEach((key) => keys.add(key)); } catch { /* It has none. */ }
    const { database = '' } = this.#about;
    return [...keys].filter((key) => key.startsWith(PREFIX) && key !== keyOf(this.#about))
      .map((key) => ({ key, database: databaseOf(key), isNamesake: databaseOf(key) === database }));
  }
}
