// Staged changes of other stores in this tab: the tray names them, and never shows them as changes of the
// store that is served.

import { number } from './format.js';
import { changesIn } from './staged.js';

export class SetAside {
  #storage;
  #settled;
  /** `{key, database, isNamesake, changes}`. */
  #list = [];

  /** @param settled called after changes were discarded, or with those to restore. */
  constructor(storage, settled) {
    this.#storage = storage;
    this.#settled = settled;
  }

  /** Reads the changes of other stores; true if there are any. */
  look() {
    this.#list = this.#storage.others.map((other) => ({ ...other, changes: changesIn(this.#storage.read(other.key)) }));
    return this.#list.length > 0;
  }

  /** The notes of the tray: `{text, actions}`. Changes of a former state of the same file can be restored. */
  get notes() {
    const { database = 'another database' } = this.#storage.about;
    return this.#list.map((other) => {
      const count = other.changes.objects.size + other.changes.inserts.length;
      const changes = `${number(count)} ${count === 1 ? 'change' : 'changes'}`;
      const discard = ['Discard', () => this.#forget(other)];
      if (!other.isNamesake) return { text: `Not shown: ${changes} of ${other.database}; this server serves ${database}.`, actions: [discard] };
      return { text: `Not shown: ${changes} of an earlier ${database}, from before its tables or the file changed.`,
        actions: [['Restore', () => this.#forget(other, other.changes)], discard] };
    });
  }

  #forget({ key }, changes = { objects: [], inserts: [] }) {
    this.#storage.write(null, key);
    this.look();
    this.#settled(changes);
  }
}
