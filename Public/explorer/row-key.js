// The keys that distinguish the rows of a table: their ids. In a view several rows may have the same id.

import { isSame } from './json.js';

const KEY = Symbol('key');

export const keyOf = (item) => item[KEY] ?? String(item.id);

/** Gives a row whose id another row before it has a key of its own. */
export function distinguish(sections) {
  const counts = new Map();
  for (const { items } of sections) {
    for (const item of items) {
      const count = (counts.get(item.id) ?? 0) + 1;
      counts.set(item.id, count);
      if (count > 1) item[KEY] = `${item.id}\u0000${count}`;
    }
  }
}

/** True if two keys are the same: a key may be a number and its text. NULL, the key of no row, is no text. */
export const isSameID = (one, other) => ((one ?? null) === null || (other ?? null) === null ? one === other : String(one) === String(other));

/** The row with an id; of several the one that is like `item`. undefined if there is none. */
export function rowLike(items, id, item) {
  const found = items.filter((each) => String(each.id) === String(id));
  return found.length < 2 || !item ? found[0] : found.find((each) => isSame(each, item));
}
