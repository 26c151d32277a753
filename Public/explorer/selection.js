// The rows that are selected: kept by their keys, so that they stay selected while rows move.

import { keyOf } from './row-key.js';

export class Selection {
  #items = new Map();
  /** The index of the row from which a range is counted. */
  #anchor = -1;
  #onChange;

  constructor(onChange) {
    this.#onChange = onChange;
  }

  get size() {
    return this.#items.size;
  }

  has(item) {
    return this.#items.has(keyOf(item));
  }

  /** The selected rows, in the order of the table as far as they are in it, with their newest values. */
  items(layout) {
    const newest = new Map();
    for (const { items } of layout.sections) {
      for (const item of items) if (this.has(item)) newest.set(keyOf(item), item);
    }
    const rest = [...this.#items].filter(([key]) => !newest.has(key));
    return [...newest, ...rest].map(([, item]) => item);
  }

  toggle(item, index) {
    const key = keyOf(item);
    if (!this.#items.delete(key)) this.#items.set(key, item);
    this.#anchor = index;
    this.#onChange();
  }

  /** Selects the rows from the last one that was selected to `index`. */
  extend(layout, index) {
    const from = this.#anchor < 0 ? index : this.#anchor;
    this.#anchor = from;
    for (let at = Math.min(from, index); at <= Math.max(from, index); at += 1) {
      const place = layout.place(at);
      const item = place && layout.sections[place.section].items[place.item];
      if (item) this.#items.set(keyOf(item), item);
    }
    this.#onChange();
  }

  all(layout) {
    for (const { items } of layout.sections) for (const item of items) this.#items.set(keyOf(item), item);
    this.#onChange();
  }

  clear() {
    if (this.size === 0) return;
    this.#items.clear();
    this.#anchor = -1;
    this.#onChange();
  }
}
