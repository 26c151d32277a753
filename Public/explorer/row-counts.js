// The number of rows of each table, for the list of tables.

import { throttle } from './dom.js';

/** At most so often, in milliseconds, tables are counted again. */
const PAUSE = 10_000;

export class RowCounts {
  #client;
  #counts = new Map();
  #onChange;
  #entities = [];
  #isCounting = false;
  /** The names of the entities whose counts were requested, of those to count again now, and of those to count after the pause. */
  #asked = new Set();
  #pending = new Set();
  #changed = new Set();

  /** @param onChange called with nothing after a count has changed. */
  constructor(client, onChange) {
    this.#client = client;
    this.#onChange = onChange;
  }

  get(entity) {
    return this.#counts.get(entity);
  }

  has(entity) {
    return this.#counts.has(entity);
  }

  set(entity, count) {
    if (this.#counts.get(entity) === count) return;
    this.#counts.set(entity, count);
    this.#onChange();
  }

  get #next() {
    const names = this.#entities.map(({ name }) => name);
    return names.find((name) => this.#pending.has(name) || (!this.has(name) && !this.#asked.has(name)));
  }

  /** Counts the rows of the entities that have not been counted, one after the other. */
  async load(entities) {
    this.#entities = entities;
    if (this.#isCounting) return;
    this.#isCounting = true;
    for (let next = this.#next; next; next = this.#next) {
      this.#pending.delete(next);
      this.#asked.add(next);
      await this.#client.fetch({ entity: next, as: 'count' }).then(({ total }) => this.set(next, total), () => {});
    }
    this.#isCounting = false;
  }

  /** Counts entities again, soon: something was saved. @param names those of the entities. */
  refresh(names) {
    for (const name of names) this.#changed.add(name);
    this.#countAgain();
  }

  #countAgain = throttle(() => {
    for (const name of this.#changed) this.#pending.add(name);
    this.#changed.clear();
    this.load(this.#entities);
  }, PAUSE);
}
