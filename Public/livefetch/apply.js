// Diffs onto snapshots. Enters: the present result and a diff; leaves: the result that the server has now.
// Promises: pure (nothing that enters is changed, unchanged sections and items are shared) and
// exact (a diff that does not fit throws OutOfStep).

/** A diff that does not belong to the snapshot it was applied to. */
export class OutOfStep extends Error {
  constructor(message) {
    super(message);
    this.name = 'OutOfStep';
  }
}

/** The properties of a result without its sections; they may change without them. */
const summary = ['count', 'next', 'total', 'truncated'];

/** True if two results have the same summary. */
export function sameSummary(left, right) {
  return summary.every((name) => left[name] === right[name]);
}

/** The id of an item: of an object its `id`, with `as=ids` the item itself. */
export function idOf(item) {
  return item !== null && typeof item === 'object' ? item.id : item;
}

/** True if a diff changes nothing. */
export function isEmptyDiff(diff) {
  if (diff.reset !== undefined) return !diff.reset;
  if (!diff.items) return isUnchanged(diff);
  const { items, sections, included = {} } = diff;
  const lists = [...Object.values(items), ...Object.values(sections)];
  return !lists.some((list) => list.length > 0)
    && !Object.values(included).some((objects) => Object.keys(objects).length > 0);
}

/** True if a diff has only its tokens, as that of unchanged dictionaries. */
function isUnchanged(diff) {
  return !diff.reset && !['items', 'total', 'changed', 'deleted'].some((name) => name in diff);
}

/**
 * Applies a diff to the sections of the snapshot that it starts from.
 *
 * Costs O(the items of the changed sections), whatever the number of entries.
 */
export function apply(sections, diff) {
  if (diff.reset) return diff.sections;
  const held = new Map();
  const stay = takeOut(sections, diff.items, held);
  const renumbered = changeSections(stay, diff.sections);
  return merge(putIn(renumbered, diff.items, held), diff.items.updated);
}

/** Takes a whole result from one token to the next; `count`, `total` and the like come along. */
export function advance(result, diff) {
  if (diff.from !== result.token) {
    throw new OutOfStep(`a diff from ${diff.from} does not fit ${result.token}`);
  }
  // An expired wait for dictionaries has only tokens: the result is unchanged.
  if (isUnchanged(diff)) return { ...result, token: diff.to };
  const next = { entity: result.entity, token: diff.to };
  for (const name of [...summary, 'digest']) if (diff[name] !== undefined) next[name] = diff[name];
  const hasSections = diff.reset || diff.items;
  if (result.sections) next.sections = hasSections ? apply(result.sections, diff) : result.sections;
  if (result.included) next.included = mergeIncluded(result.included, diff.included);
  return next;
}

/** Leaves the sections without `deleted` and `moved` items; keeps the moved ones in `held`. */
function takeOut(sections, { deleted, moved }, held) {
  const taken = new Map();
  for (const entry of [...deleted, ...moved]) {
    const [section, index] = entry.from;
    expectItem(sections[section]?.items[index], entry.id, entry.from);
    group(taken, section, new Set()).add(index);
  }
  for (const entry of moved) {
    held.set(entry, sections[entry.from[0]].items[entry.from[1]]);
  }
  return sections.map((section, index) => {
    const gone = taken.get(index);
    if (!gone) return section;
    return { ...section, items: section.items.filter((_, place) => !gone.has(place)) };
  });
}

function changeSections(sections, { deleted, inserted }) {
  if (deleted.length + inserted.length === 0) return sections;
  const list = [...sections];
  for (const { index } of [...deleted].sort((a, b) => b.index - a.index)) {
    if (list[index]?.items.length !== 0) {
      throw new OutOfStep(`section ${index} is deleted but not empty`);
    }
    list.splice(index, 1);
  }
  for (const { index, ...info } of [...inserted].sort((a, b) => a.index - b.index)) {
    if (index > list.length) throw new OutOfStep(`there is no place for section ${index}`);
    list.splice(index, 0, { ...info, items: [] });
  }
  return list;
}

/** Puts `moved` and `inserted` items in, from the first place to the last. */
function putIn(sections, { moved, inserted }, held) {
  const arriving = new Map();
  for (const entry of moved) {
    const item = changed(held.get(entry), entry.changed);
    group(arriving, entry.to[0], []).push({ index: entry.to[1], item });
  }
  for (const entry of inserted) {
    const item = entry.item === undefined ? entry.id : entry.item;
    group(arriving, entry.to[0], []).push({ index: entry.to[1], item });
  }
  if (arriving.size === 0) return sections;
  const list = [...sections];
  for (const [index, newcomers] of arriving) {
    if (!list[index]) throw new OutOfStep(`there is no section ${index}`);
    list[index] = { ...list[index], items: weave(list[index].items, newcomers) };
  }
  return list;
}

/** Both lists as one, each newcomer at its index; the same as inserting them one by one. */
function weave(items, newcomers) {
  newcomers.sort((a, b) => a.index - b.index);
  const woven = [];
  let next = 0;
  for (const { index, item } of newcomers) {
    while (woven.length < index && next < items.length) woven.push(items[next++]);
    if (woven.length !== index) throw new OutOfStep(`there is no place ${index}`);
    woven.push(item);
  }
  while (next < items.length) woven.push(items[next++]);
  return woven;
}

function merge(sections, updated) {
  if (updated.length === 0) return sections;
  const list = [...sections];
  const copied = new Set();
  for (const { to: [section, index], id, changed: values } of updated) {
    expectItem(list[section]?.items[index], id, [section, index]);
    if (!copied.has(section)) {
      list[section] = { ...list[section], items: [...list[section].items] };
      copied.add(section);
    }
    list[section].items[index] = changed(list[section].items[index], values);
  }
  return list;
}

function changed(item, values) {
  return values && item !== null && typeof item === 'object' ? { ...item, ...values } : item;
}

function mergeIncluded(included, news = {}) {
  const merged = { ...included };
  for (const [entity, objects] of Object.entries(news)) {
    merged[entity] = { ...merged[entity], ...objects };
  }
  return merged;
}

function expectItem(item, id, place) {
  if (item === undefined || String(idOf(item)) !== String(id)) {
    throw new OutOfStep(`at [${place}] stands ${item && idOf(item)}, not ${id}`);
  }
}

function group(map, key, initial) {
  if (!map.has(key)) map.set(key, initial);
  return map.get(key);
}
