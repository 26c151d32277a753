// Animations of rows that come into a table and leave it when its result changes.

import { keyOf } from './row-key.js';

const clamp = (value, low, high) => Math.max(low, Math.min(high, value));

/**
 * Rows that had another place in the result slide in from there, at most by the height of the table; rows
 * that are new appear.
 *
 * @param change `{before, after, shift, isNews, reach}`: both layouts, how far the table was scrolled,
 * `isNews` where a diff made the change, and the table's height.
 */
export function enter(rows, motion, { before, shift, isNews, reach }) {
  const keys = new Set(rows.map((row) => keyOf(row.item)));
  const places = keys.size > 0 ? before.find(keys) : new Map();
  for (const row of rows) {
    const from = places.get(keyOf(row.item));
    if (from === undefined) motion.appear(row, isNews);
    else motion.slide(row, clamp(from + shift, row.y - reach, row.y + reach), true);
  }
}

/** Rows that are in the result but no longer seen go at once; others fade. @param rows by their keys. */
export function leave(rows, motion, { after, shift, isNews }) {
  const places = rows.size > 0 ? after.find(new Set(rows.keys())) : new Map();
  for (const [key, row] of rows) {
    row.move(row.y + shift);
    if (places.has(key)) row.element.remove();
    else motion.leave(row, isNews);
  }
}
