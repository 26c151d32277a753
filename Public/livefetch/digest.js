// Sections → their digest (`digest=true`), to check that the client holds what the server holds.

import { idOf } from './apply.js';
import { stringify } from './json.js';

const OFFSET = 0x811c9dc5;
const PRIME = 0x01000193;
const encoder = new TextEncoder();

/** FNV-1a, 32 bits, over the UTF-8 of `text`, continuing from `hash`. */
export function fnv1a(text, hash = OFFSET) {
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code > 0x7f) return fnv1aBytes(encoder.encode(text.slice(index)), hash);
    hash = Math.imul(hash ^ code, PRIME);
  }
  return hash >>> 0;
}

function fnv1aBytes(bytes, hash) {
  for (const byte of bytes) hash = Math.imul(hash ^ byte, PRIME);
  return hash >>> 0;
}

/**
 * A number as the server writes it. Unlike JavaScript it writes an exponent, of two digits at least, below 0.0001
 * and beyond 2^53, where a number is a double if integers of that size are text.
 */
function asSent(value, int64) {
  const size = Math.abs(value);
  if (size === 0 || (size >= 1e-4 && size <= 2 ** 53) || (size > 1 && int64 !== 'string')) return stringify(value);
  const [digits, power] = value.toExponential().split('e');
  return `${digits}e${power[0]}${power.slice(1).padStart(2, '0')}`;
}

/**
 * The digest as eight hex digits. O(items), about 10 ms for 100,000.
 *
 * @param int64 the fetch's: 'string' if integers beyond 2^53 are text.
 */
export function digest(sections, int64 = 'string') {
  let sum = 0;
  for (const { value, items } of sections) {
    const start = fnv1a(`${typeof value === 'number' ? asSent(value, int64) : stringify(value ?? null)}\x1f`);
    let previous = '';
    for (const item of items) {
      const id = stringify(idOf(item));
      sum = (sum + fnv1a(`${previous}\x1e${id}`, start)) >>> 0;
      previous = id;
    }
  }
  return sum.toString(16).padStart(8, '0');
}
