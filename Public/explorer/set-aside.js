// What was staged for other stores in this tab: it is said, and never offered as if it were of the
// store that is served.

import { number } from './format.js';
import { changesIn } from './staged.js';

export class SetAside {
  #storage;
  #settled;
  /** `{key, database, isNamesake, changes}`. */
  #list = [];

  /** @param settled called after changes were discarded, or with those that are taken over. */
  constructor(storage, settled) {
    this.#storage = storage;
    this.#settled = settled;
  }

  /** Looks for what is kept of other stores; whether there is some. */
  look() {
    this.#list = this.#storage.others.map((other) => ({ ...other, changes: changesIn(this.#storage.read(other.key)) }));
    return this.#list.length > 0;
  }

  /** What the tray says: `{text, actions}`. A former state of the same file may be taken over. */
  get notes() {
    const { database = 'another database' } = this.#storage.about;
    return this.#list.map((other) => {
      const count = other.changes.objects.size + other.changes.inserts.length;
      const changes = `${number(count)} ${count === 1 ? 'change' : 'changes'}`;
      const discard = ['Discard', () => this.#forget(other)];
      if (!other.isNamesake) return { text: `Kept aside: ${changes} of ${other.database}, for this is ${database}.`, actions: [discard] };
      return { text: `Kept aside: ${changes} of an earlier ${database}, before its tables or the file changed.`,
        actions: [['Take over', () => this.#forget(other, other.changes)], discard] };
    });
  }

  #forget({ key }, changes = { objects: [], inserts: [] }) {
    this.#storage.write(null, key);
    this.look();
    this.#settled(changes);
  }
}
