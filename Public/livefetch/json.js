// JSON with numbers of any size: integers that a number of JavaScript would round are BigInts, other
// numbers Decimals.

import { randomText } from './pages.js';

const form = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** A number of more digits than a number of JavaScript has, as these digits. */
export class Decimal {
  /** @param {string} digits as JSON writes a number. */
  constructor(digits) {
    if (typeof digits !== 'string' || !form.test(digits)) throw new SyntaxError(`livefetch: \`${digits}\` is not a number of JSON.`);
    this.digits = digits;
  }

  toString() {
    return this.digits;
  }

  /** Text for programs that write JSON themselves. In requests of this library it is a number. */
  toJSON() {
    return this.digits;
  }

  /** The nearest number where one is calculated or compared, else the digits. */
  [Symbol.toPrimitive](hint) {
    return hint === 'number' ? Number(this.digits) : this.digits;
  }
}

/** A number that may be inexact, of many digits or with an exponent; also within a text. */
const long = /(?:^|[:,[\s])(?=-?\d[\d.]{15}|-?[\d.]+[eE])(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)/g;
const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** A text as a value; throws what `JSON.parse` throws. */
export function parse(text) {
  const value = JSON.parse(text);
  if (![...text.matchAll(long)].some(([, digits]) => !isExact(digits))) return value;
  let mark = '';
  const marked = text.replace(tokens, (token) => {
    if (token[0] === '"' || isExact(token)) return token;
    // No text of the value has it, as nobody knows it before.
    mark ||= randomText();
    return `"${mark}${token}"`;
  });
  if (!mark) return value;
  return JSON.parse(marked, (_, part) =>
    (typeof part === 'string' && part.startsWith(mark) ? number(part.slice(mark.length)) : part));
}

/** A number of JSON as a number of JavaScript where that has the same value, else as a BigInt or a Decimal. */
export function number(digits) {
  if (isExact(digits)) return Number(digits);
  return isInteger(digits) ? BigInt(digits) : new Decimal(digits);
}

const isInteger = (digits) => /^-?\d+$/.test(digits);

function isExact(digits) {
  if (digits.length < 16 && !/e/i.test(digits)) return true;
  const nearest = Number(digits);
  if (isInteger(digits)) return Number.isSafeInteger(nearest) || (Math.abs(nearest) === 2 ** 53 && String(nearest) === digits);
  const written = String(nearest);
  return written === digits || (Number.isFinite(nearest) && significant(written) === significant(digits));
}

/** The same text for numbers that are equal. */
function significant(digits) {
  const [, sign, whole, fraction = '', power = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:e(.+))?$/i.exec(digits);
  const all = whole + fraction;
  let [start, end] = [0, all.length];
  while (all[start] === '0') start += 1;
  if (start === end) return '0';
  while (all[end - 1] === '0') end -= 1;
  return `${sign}${all.slice(start, end)}e${Number(power) - fraction.length + all.length - end}`;
}

/** True if a value has no elements. */
export const isScalar = (value) => value === null || typeof value !== 'object' || value instanceof Decimal;

const isLong = (value) => typeof value === 'bigint' || value instanceof Decimal;

/** A BigInt as an attribute of an item shows it: a number, or text where a number cannot hold it. */
export function plainInteger(value) {
  if (typeof value !== 'bigint') return value;
  return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
}

const integerTag = '$integer';
const decimalTag = '$decimal';

/**
 * The value where only JSON can be: a BigInt is `{"$integer": digits}`, a Decimal `{"$decimal": digits}`, an
 * object of such a form is put into one more.
 */
export function packed(value) {
  if (isLong(value)) return { [value instanceof Decimal ? decimalTag : integerTag]: String(value) };
  const inner = mapped(value, packed);
  const tag = tagOf(value);
  return tag ? { [tag]: inner } : inner;
}

/** The value that was packed. */
export function unpacked(value) {
  const tag = tagOf(value);
  if (!tag) return mapped(value, unpacked);
  if (typeof value[tag] !== 'string') return mapped(value[tag], unpacked);
  return tag === decimalTag ? new Decimal(value[tag]) : BigInt(value[tag]);
}

function tagOf(value) {
  if (isScalar(value) || Array.isArray(value)) return undefined;
  const [name, ...others] = Object.keys(value);
  return others.length === 0 && [integerTag, decimalTag].includes(name) ? name : undefined;
}

/** The value with what `change` makes of its elements; itself where nothing changes. */
function mapped(value, change) {
  if (isScalar(value)) return value;
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
  if (value instanceof Decimal) return new Decimal(value.digits);
  if (isScalar(value)) return value;
  if (typeof value.toJSON === 'function') return copied(value.toJSON());
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, copied(each)]));
}

/** A value as text; BigInts and Decimals are their digits. @param indent as `JSON.stringify` takes it. */
export function stringify(value, indent) {
  if (isLong(value)) return String(value);
  if (isScalar(value)) return JSON.stringify(value);
  let mark = '';
  const text = JSON.stringify(value, function marked(key, each) {
    if (!isLong(this[key])) return each;
    mark ||= randomText();
    return `${mark}${this[key]}`;
  }, indent);
  return mark ? text.replaceAll(new RegExp(`"${mark}([^"]+)"`, 'g'), '$1') : text;
}
