// Local edits that the server has not shown yet, laid over a result.
//
// Enters: sections as the server gave them, the request, and the changes of unfinished saves.
// Leaves: sections as they will probably be. It is a guess that a diff soon replaces: values change
// in place, deleted items go, new ones are placed by `sort` as far as its key paths are in the items.

import { isScalar, plainInteger } from './json.js';

const guesses = new WeakSet();

/** True if an item has local values that the server has not confirmed yet. */
export function isPending(item) {
  return item !== null && typeof item === 'object' && guesses.has(item);
}

/** @param changes the changes of all unfinished saves for the result's entity, in their order. */
export function overlay(sections, request, changes) {
  if (changes.length === 0 || (request.as ?? 'objects') !== 'objects') return sections;
  const { edits, inserts } = collect(changes, request.entity);
  let list = edits.size > 0 ? sections.map((section) => edit(section, edits)) : [...sections];
  if (request.section) list = list.filter((section) => section.items.length > 0);
  // Where they stand relative to a window that begins later is not known.
  if (inserts.size === 0 || Number(request.offset) > 0 || request.after) return list;
  list = insert(list, request, [...inserts.values()]);
  return request.limit === undefined ? list : windowed(list, request);
}

/** No more than the window holds: what is inserted pushes the last ones out, or is behind them. */
function windowed(sections, { limit, section: path }) {
  let left = Number(limit);
  const list = sections.map((section) => {
    const items = section.items.length > left ? section.items.slice(0, left) : section.items;
    left -= items.length;
    return items === section.items ? section : { ...section, items };
  });
  return path ? list.filter(({ items }) => items.length > 0) : list;
}

/** The same for changes that the server has confirmed: no item is pending. */
export function confirmed(sections, request, changes) {
  const list = overlay(sections, request, changes);
  list.forEach(({ items }) => items.forEach((item) => guesses.delete(item)));
  return list;
}

/** The changes of each object by its id: `edits` (null: deleted), and `inserts` of objects that are new. */
function collect(changes, entity) {
  const edits = new Map();
  const inserts = new Map();
  // Later changes have the temporary id, or the one that the store gave.
  const ids = new Map();
  const keyOf = (id) => {
    const name = String(id !== null && typeof id === 'object' ? id.temporaryID : id);
    return ids.get(name) ?? name;
  };
  for (const change of changes) {
    if (change.insert === entity) {
      const id = change.id ?? change.values?.id ?? change.temporaryID;
      ids.set(change.temporaryID, String(id));
      inserts.set(String(id), { id, ...plain(change.values) });
    } else if (change.update === entity) {
      const key = keyOf(change.id);
      if (inserts.has(key)) inserts.set(key, { ...inserts.get(key), ...plain(change.values) });
      else edits.set(key, { ...edits.get(key), ...plain(change.values) });
    } else if (change.delete === entity) {
      const key = keyOf(change.id);
      if (!inserts.delete(key)) edits.set(key, null);
    }
  }
  return { edits, inserts };
}

/** Values as an item shows them: temporary ids as they are, edits of to-many lists left out. */
function plain(values) {
  const shown = {};
  for (const [name, value] of Object.entries(values ?? {})) {
    if (value?.temporaryID !== undefined) shown[name] = value.temporaryID;
    else if (!value?.add && !value?.remove) shown[name] = plainInteger(value);
  }
  return shown;
}

function edit(section, edits) {
  if (!section.items.some((item) => edits.has(String(item.id)))) return section;
  const items = [];
  for (const item of section.items) {
    const values = edits.get(String(item.id));
    if (values === undefined) items.push(item);
    else if (values !== null) items.push(guess({ ...item, ...known(item, values) }));
  }
  return { ...section, items };
}

/** Only what the item shows: the rest was not selected. */
function known(item, values) {
  return Object.fromEntries(Object.entries(values).filter(([name]) => Object.hasOwn(item, name)));
}

function guess(item) {
  guesses.add(item);
  return item;
}

/** The sections with new items. O(items + n log n) for n new ones. */
function insert(shown, request, inserts) {
  const order = terms(request.sort);
  const sample = shown.find(({ items }) => items.length > 0)?.items[0] ?? Object.assign({}, ...inserts);
  const sections = isAttribute(request.section) ? withSections(shown, request.section, inserts) : shown;
  const sectionOf = finder(sections, request.section);
  const sorted = order.length > 0 ? inserts.sort((left, right) => compare(order, left, right)) : inserts;
  const arriving = sections.map(() => []);
  for (const item of sorted) arriving[sectionOf(item)]?.push(item);
  return sections.map((section, index) => (arriving[index].length === 0 ? section
    : { ...section, items: weave(section.items, arriving[index], order, (item) => guess(shaped(item, request.select, sample))) }));
}

/** Both lists as one: each new item before the first one that is greater. */
function weave(items, sorted, order, shape) {
  const woven = [];
  let next = 0;
  for (const item of items) {
    while (next < sorted.length && compare(order, sorted[next], item) < 0) woven.push(shape(sorted[next++]));
    woven.push(item);
  }
  while (next < sorted.length) woven.push(shape(sorted[next++]));
  return woven;
}

/** A new item with the properties that the others have: null if nothing is known of them. */
function shaped(item, select, sample) {
  const selected = typeof select === 'string' ? select.split(',') : select;
  const names = selected ? ['id', ...selected.map((name) => name.trim())] : Object.keys({ ...sample, ...item });
  return Object.fromEntries(names.map((name) => [name, Object.hasOwn(item, name) ? item[name] : null]));
}

/** True if the sections have the values of an attribute: not those behind a relationship, or parts such as `:initial`. */
const isAttribute = (path) => Boolean(path) && !/[.:]/.test(path);

/** The sections of an attribute, with empty ones for the values that only new items have. */
function withSections(sections, path, items) {
  const name = path.replace(/^-/, '');
  const sign = path.startsWith('-') ? -1 : 1;
  const known = new Set(sections.map(({ value }) => String(value)));
  const list = [...sections];
  for (const { [name]: value } of items) {
    if (value === undefined || !isScalar(value) || known.has(String(value))) continue;
    known.add(String(value));
    const next = list.findIndex((other) => compareValues(value, other.value, false) * sign < 0);
    list.splice(next < 0 ? list.length : next, 0, emptySection(value));
  }
  return list;
}

function emptySection(value) {
  const name = value === null ? '' : typeof value === 'boolean' ? String(Number(value)) : String(value);
  const [first = ''] = name;
  return { name, value, indexTitle: first.toUpperCase(), items: [] };
}

/** Returns a function that gives the index of an item's section; undefined where its value is not in the items. */
function finder(sections, path) {
  if (!path) return () => 0;
  const [root] = path.replace(/^-/, '').split(/[.:]/);
  const indices = new Map(isAttribute(path) ? sections.map(({ value }, index) => [String(value), index]) : []);
  sections.forEach(({ items }, index) => {
    for (const other of items) if (!indices.has(String(other[root]))) indices.set(String(other[root]), index);
  });
  return (item) => (item[root] === undefined ? undefined : indices.get(String(item[root])));
}

function terms(sort) {
  const list = Array.isArray(sort) ? sort : (sort ?? '').split(',').filter(Boolean);
  return list.map((term) => {
    const [path, ...options] = term.replace(/^-/, '').split(':');
    return { path, sign: term.startsWith('-') ? -1 : 1, folds: options.some((o) => /^c?d?$/.test(o)) };
  });
}

function compare(order, left, right) {
  for (const { path, sign, folds } of order) {
    const result = path === 'id' ? compareIDs(left.id, right.id)
      : compareValues(left[path], right[path], folds);
    if (result !== 0) return result * sign;
  }
  return 0;
}

/** A temporary id is text; the number that the store will give is greater than the others. */
function compareIDs(left, right) {
  if (typeof left === typeof right) return compareValues(left, right, false);
  return typeof left === 'string' ? 1 : -1;
}

function compareValues(left, right, folds) {
  if (left == null || right == null) return (left == null ? 0 : 1) - (right == null ? 0 : 1);
  const isMixed = typeof left !== typeof right;
  const [a, b] = isMixed ? [integer(left), integer(right)]
    : folds && typeof left === 'string' ? [fold(left), fold(right)] : [left, right];
  if (isMixed && (typeof a === 'string' || typeof b === 'string')) return 0;
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Beside a number, text of many digits is an integer that a number cannot hold. */
const integer = (value) => (/^-?\d{16,}$/.test(value) ? BigInt(value) : value);
const fold = (text) => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();
