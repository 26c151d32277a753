// The number of rows of each table, for the list of tables.

import { throttle } from './dom.js';

/** At most so often, in milliseconds, all tables are counted again. */
const PAUSE = 10_000;

export class RowCounts {
  #client;
  #counts = new Map();
  #onChange;
  #entities = [];
  #isCounting = false;
  /** The names of the entities whose counts were requested, and of those to count again. */
  #asked = new Set();
  #pending = new Set();

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

  /** Counts all again, soon: something was saved. */
  refresh = throttle(() => {
    this.#pending = new Set(this.#entities.map(({ name }) => name));
    this.load(this.#entities);
  }, PAUSE);
}
