// An unfinished save, from the click until every live fetch that shows its entities contains it.

import { fnv1a } from './digest.js';
import { Decimal, isScalar } from './json.js';

/** True if a result at `token` contains the save at `target`, as far as the tokens show. */
export function hasReached(token, target) {
  if (token === undefined) return false;
  if (token === target) return true;
  // Tokens are opaque; this form is looked at only to settle sooner. For another, a fetch asks.
  const [held, wanted] = [token, target].map((text) => /^(.+)-(\d+)-[^-]*$/.exec(text));
  return !!held && !!wanted && held[1] === wanted[1] && Number(held[2]) >= Number(wanted[2]);
}

/** Ids that a client made up: `new-`, random text, a number. Others may be values as well. */
const temporary = /^new-[0-9a-f]{24}-\d+$/;
export const isTemporary = (id) => typeof id === 'string' && temporary.test(id);

/** The temporary id of a change of a save with an idempotency key: the same whenever that is made. */
export function keyedID(key, index) {
  const digits = ['a', 'b', 'c'].map((start) => fnv1a(`${start}${key}`).toString(16).padStart(8, '0')).join('');
  return `new-${digits}-${String(index + 1).padStart(6, '0')}`;
}

/** The temporary ids of objects that the changes refer to. */
export function namesIn(changes) {
  const names = new Set();
  const collect = (value) => {
    const name = value?.temporaryID ?? value;
    if (isTemporary(name)) names.add(name);
    else if (!isScalar(value)) Object.values(value).forEach(collect);
  };
  changes.forEach(({ temporaryID, ...change }) => collect(change));
  return names;
}

/** True if one of these names has an id. */
export const hasID = (names, ids = {}) => [...names].some((name) => ids[name] !== undefined);

/** The changes with ids of inserted objects in place of temporary ones; the same array if none is. */
export function withIDs(changes, ids) {
  let isChanged = false;
  const replace = (value) => {
    const name = value?.temporaryID ?? value;
    if (isTemporary(name) && ids[name] !== undefined) {
      isChanged = true;
      return ids[name];
    }
    if (Array.isArray(value)) return value.map(replace);
    if (isScalar(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, replace(each)]));
  };
  const replaced = changes.map(({ temporaryID, ...change }) =>
    (temporaryID === undefined ? replace(change) : { temporaryID, ...replace(change) }));
  return isChanged ? replaced : changes;
}

/**
 * A copy of a change as it is sent: without what is undefined, a Date as its text, an infinity of an
 * attribute, an argument or a variable as `"Infinity"`. Throws a TypeError for what JSON does not have.
 */
export function sendable({ values, base, arguments: list, variables, ...change }) {
  const copy = asJSON(change, []);
  if (list !== undefined) copy.arguments = asGiven(list, 'arguments');
  if (variables !== undefined) copy.variables = asGiven(variables, 'variables');
  if (values !== undefined) copy.values = asJSON(values, [], 1);
  if (base !== undefined) copy.base = asJSON(base, [], 1);
  return copy;
}

/** The `arguments` or `variables` of a predicate as JSON has them. An element may be a list of values. */
export const asGiven = (values, name) => asJSON(values, [name], 3);

/**
 * A copy of the value at `path` as JSON has it. An infinity is text where its path has at most `depth` names, as those
 * of attributes. Throws a TypeError with the path of what JSON does not have.
 */
export function asJSON(given, path, depth = 0) {
  if (typeof given === 'bigint' || given instanceof Decimal) return given;
  if (given instanceof Date && Number.isNaN(given.getTime())) throw notSendable(path, 'a Date without a time');
  const value = unboxed(typeof given?.toJSON === 'function' ? given.toJSON(path.at(-1) ?? '') : given);
  if (typeof value === 'function' || typeof value === 'symbol') throw notSendable(path, `a ${typeof value}`);
  if (typeof value === 'number' && !Number.isFinite(value)) {
    if (path.length > 0 && path.length <= depth && !Number.isNaN(value)) return String(value);
    throw notSendable(path, value);
  }
  if (value === null || typeof value !== 'object') return value;
  const inner = (each, key) => asJSON(each, [...path, key], depth);
  if (Array.isArray(value)) return value.map((each, index) => inner(each ?? null, index));
  const entries = Object.entries(value).filter(([, each]) => each !== undefined);
  return Object.fromEntries(entries.map(([key, each]) => [key, inner(each, key)]));
}

const unboxed = (value) =>
  (value instanceof Number || value instanceof String || value instanceof Boolean ? value.valueOf() : value);

function notSendable(path, what) {
  return new TypeError(`livefetch: \`${path.join('.')}\` is ${what}, which JSON does not have.`);
}

export class Pending {
  /** The save's token, once it is answered. */
  token = null;
  #entities;
  /** The temporary ids that the changes name: most name none. */
  #names;
  #settled = new WeakSet();

  constructor(changes) {
    this.changes = changes;
    this.#names = namesIn(changes);
    this.#entities = new Set(changes.map((change) => change.insert ?? change.update ?? change.delete));
  }

  concerns(live) {
    return this.#entities.has(live.request.entity) && !this.#settled.has(live)
      && (live.request.as ?? 'objects') === 'objects';
  }

  settle(live) {
    this.#settled.add(live);
  }

  /** Takes over the ids of objects that another save has inserted. */
  replaceIDs(ids) {
    if (hasID(this.#names, ids)) this.changes = withIDs(this.changes, ids);
  }

  /** Takes over the ids that the store gave. */
  answer({ token, ids }) {
    this.token = token;
    this.changes = this.changes.map((change) =>
      ids[change.temporaryID] === undefined ? change : { ...change, id: ids[change.temporaryID] });
  }
}
