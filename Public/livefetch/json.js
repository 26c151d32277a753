// JSON with integers of any size: those that a number of JavaScript cannot hold are BigInts.

import { randomText } from './pages.js';

/** An integer of so many digits may be unsafe. Quoted ones and fractions are not looked at. */
const long = /(?:^|[:,[\s-])\d{16}/;

/**
 * A text as a value. Integers that a number cannot hold are BigInts, where the engine gives their digits
 * (Node 21, Chrome 114, Firefox 135, Safari 18.4); in others they are the nearest number.
 */
export function parse(text) {
  return long.test(text) ? JSON.parse(text, exactly) : JSON.parse(text);
}

function exactly(_, value, context) {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value;
  return /^-?\d+$/.test(context?.source) ? BigInt(context.source) : value;
}

/** A BigInt as an attribute of an item shows it: a number, or text where a number cannot hold it. */
export function plainInteger(value) {
  if (typeof value !== 'bigint') return value;
  return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
}

const tag = '$integer';

/** The value where only JSON can be: a BigInt is `{"$integer": digits}`, an object of that form is put into one more. */
export function packed(value) {
  if (typeof value === 'bigint') return { [tag]: String(value) };
  const inner = mapped(value, packed);
  return isTagged(value) ? { [tag]: inner } : inner;
}

/** The value that was packed. */
export function unpacked(value) {
  if (!isTagged(value)) return mapped(value, unpacked);
  return typeof value[tag] === 'string' ? BigInt(value[tag]) : mapped(value[tag], unpacked);
}

const isTagged = (value) => value !== null && typeof value === 'object' && !Array.isArray(value)
  && Object.hasOwn(value, tag) && Object.keys(value).length === 1;

/** The value with what `change` makes of its elements; itself where nothing changes. */
function mapped(value, change) {
  if (value === null || typeof value !== 'object') return value;
  let copy = value;
  for (const key of Object.keys(value)) {
    const each = change(value[key]);
    if (each === value[key]) continue;
    if (copy === value) copy = Array.isArray(value) ? [...value] : { ...value };
    copy[key] = each;
  }
  return copy;
}

/** A copy of the value as JSON has it: proxies of a framework cannot be posted to another page. */
export function copied(value) {
  if (Array.isArray(value)) return value.map(copied);
  if (value === null || typeof value !== 'object') return value;
  if (typeof value.toJSON === 'function') return copied(value.toJSON());
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, copied(each)]));
}

/** A value as text; a BigInt is its digits. */
export function stringify(value) {
  if (typeof value === 'bigint') return String(value);
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  let mark = '';
  const text = JSON.stringify(value, function marked(key, each) {
    if (typeof this[key] !== 'bigint') return each;
    // No text of the value has it, as nobody knows it before.
    mark ||= randomText();
    return `${mark}${this[key]}`;
  });
  return mark ? text.replaceAll(new RegExp(`"${mark}(-?\\d+)"`, 'g'), '$1') : text;
}
