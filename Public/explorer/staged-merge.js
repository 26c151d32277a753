// Staged changes of two times → one set of changes: those of a save that failed, and those that were made
// while it was sent.

import { isSame, own } from './json.js';

/** The changes `{objects, inserts}` of both; of one property the later value counts, on the earlier base. */
export function merged(earlier, later) {
  const objects = new Map([...earlier.objects, ...later.objects]);
  for (const [key, change] of earlier.objects) {
    const next = later.objects.get(key);
    if (!next) continue;
    const both = mergedChange(change, next);
    if (both.isDeleted || Object.keys(both.values).length > 0) objects.set(key, both);
    else objects.delete(key);
  }
  const isNew = ({ temporaryID }) => !earlier.inserts.some((insert) => insert.temporaryID === temporaryID);
  return { objects, inserts: [...earlier.inserts, ...later.inserts.filter(isNew)] };
}

/** The later change was made on values that were not stored: the earlier base is what the store has. */
function mergedChange(earlier, later) {
  const values = { ...earlier.values, ...Object.fromEntries(Object.entries(later.values ?? {})
    .map(([name, value]) => [name, mergedValue(own(earlier.values, name), value)])) };
  const base = { ...later.base, ...earlier.base };
  for (const name of Object.keys(values)) {
    if (!Object.hasOwn(base, name) || !isSame(base[name], values[name])) continue;
    delete values[name];
    delete base[name];
  }
  const seen = later.seen ?? earlier.seen;
  return { ...earlier, ...later, values, base, seen: seen && { ...seen, ...known(earlier.base, seen) } };
}

/** The values whose names are among those of `others`. */
const known = (values, others) =>
  Object.fromEntries(Object.entries(values ?? {}).filter(([name]) => Object.hasOwn(others, name)));

const isList = (value) => value !== null && typeof value === 'object' && (Array.isArray(value.add) || Array.isArray(value.remove));

/** Rows that are added to a relationship and removed from it are those of both; for a row of both the later counts. */
function mergedValue(earlier, later) {
  if (!isList(earlier) || !isList(later)) return later;
  const { add = [], remove = [] } = later;
  const changed = new Set([...add, ...remove].map(String));
  const rest = (list = []) => list.filter((id) => !changed.has(String(id)));
  return { add: [...rest(earlier.add), ...add], remove: [...rest(earlier.remove), ...remove] };
}
