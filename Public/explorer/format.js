// Values → what a cell shows, and what was typed → values.

import { Decimal, number as exact, parse as parseText, stringify } from './json.js';

/** `min2` groups digits from 10,000 on, so that a year has no separator. */
const integers = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0, useGrouping: 'min2' });
const numbers = new Intl.NumberFormat(undefined, { maximumFractionDigits: 17, useGrouping: 'min2' });
const compact = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 });
/** The time of a day. */
export const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium', hour12: false });

export const isNumeric = (type) => ['integer', 'double', 'decimal'].includes(type);

/** The nearest number of a numeric value, to draw it; NaN of another value. */
export const toNumber = (value) => (value === null || value === '' ? NaN : Number(value));

/** Values as numbers to draw; as BigInts if all are whole and a number of JavaScript would round one of them. */
export function drawable(values) {
  const isWhole = (value) => Number.isInteger(value) || isDigits(value);
  const numbers = values.filter((value) => Number.isFinite(toNumber(value)));
  return numbers.some(isDigits) && numbers.every(isWhole) ? numbers.map(BigInt) : numbers.map(toNumber);
}

/** True for an integer that a number of JavaScript cannot hold: it is text. */
export const isDigits = (value) => typeof value === 'string' && /^-?\d+$/.test(value);

export const isUUID = (text) => /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text);

/** True for a text that is the base64 of bytes. A column of binary values may hold other texts. */
export const isBase64 = (text) => text.length % 4 === 0 && /^[a-z\d+/]*={0,2}$/i.test(text);

/** @param type an attribute's type as the model names it. */
export function show(value, type) {
  if (value === null || value === undefined) return '';
  if (type === 'boolean' && typeof value === 'boolean') return value ? 'yes' : 'no';
  if (type === 'date') return dateText(String(value));
  if (type === 'binary' && typeof value === 'string' && isBase64(value)) return `${bytes(value.length * 0.75 - (/=*$/.exec(value)[0].length))} of data`;
  if (typeof value === 'number') return number(value);
  return typeof value === 'object' && !(value instanceof Decimal) ? structure(value) : String(value);
}

/** A cell or a name shows at most this many characters: a browser takes seconds for the layout of a text of megabytes. */
const MAX_CHARACTERS = 1000;
/** From this length on the panel of a row shows only the beginning of a text. */
export const LONG = 100_000;

/** The first characters of a text of more than `longest`, and a mark. */
export function beginning(text, longest = MAX_CHARACTERS) {
  return text.length > longest ? `${text.slice(0, MAX_CHARACTERS).replace(/[\ud800-\udbff]$/, '')}…` : text;
}

/** A date without `T`, `Z`, and a time of 00:00; another text as it is. */
function dateText(text) {
  if (!/^[+-]?\d{4,}-\d\d-\d\dT/.test(text)) return text;
  return text.replace('T', ' ').replace(/Z$/, '').replace(/( 00:00|(:\d\d)):00$/, '$2');
}

/** An object of a class by its name and fields, anything else as JSON. */
function structure(value) {
  const { $class: name, ...fields } = value;
  if (name === undefined) return stringify(value);
  const texts = Object.entries(fields).map(([key, field]) => `${key} ${show(field)}`);
  return `${name} (${texts.join(', ')})`;
}

/** Very large and small numbers as they are written in programs: with all their digits. */
export function number(value) {
  const size = Math.abs(value);
  if (size >= 1e16 || (size > 0 && size < 1e-3)) return String(value);
  return (Number.isInteger(value) ? integers : numbers).format(value);
}

/** `1 row`, `2,000 rows`. */
export const rowsText = (count) => `${number(count)} ${count === 1 ? 'row' : 'rows'}`;

export const short = (value) => compact.format(value);

export function bytes(count) {
  if (count < 1000) return `${Math.round(count)} B`;
  if (count < 1e6) return `${(count / 1e3).toFixed(count < 1e4 ? 1 : 0)} kB`;
  return `${(count / 1e6).toFixed(1)} MB`;
}

export function milliseconds(time) {
  if (time < 10) return `${time.toFixed(1)} ms`;
  return time < 1000 ? `${Math.round(time)} ms` : `${(time / 1000).toFixed(1)} s`;
}

/** A value as the editor shows it: exact and unformatted. */
export function editable(value, type) {
  if (value === null || value === undefined) return '';
  return typeof value === 'object' || type === 'json' ? stringify(value) : String(value);
}

/** The typed text as a value. An empty text is a text. Throws an Error whose message is shown to the user. */
export function parse(text, { type, optional }) {
  const trimmed = text.trim();
  if (trimmed === '' && !['string', 'binary'].includes(type)) {
    throw new Error(optional ? 'Type a value, or choose NULL.' : 'A value is required.');
  }
  switch (type) {
    case 'integer': return parseInteger(trimmed);
    case 'double': case 'decimal': return parseNumber(trimmed, type);
    case 'boolean': return parseBoolean(trimmed);
    case 'json': return parseJSON(trimmed);
    case 'date': return parseDate(trimmed);
    case 'binary': return base64(trimmed);
    case 'uuid': return parseUUID(trimmed);
    default: return text;
  }
}

function parseDate(text) {
  const [, year, month, day] = /^[+-]?(\d{4,})(?:-(\d\d)-(\d\d))?/.exec(text) ?? [];
  if (year === undefined) throw new Error('A date is expected: 2024-01-31 or 2024-01-31T12:00:00Z.');
  if (month && !isDay(year, month, day)) throw new Error(`There is no day ${year}-${month}-${day}.`);
  return text;
}

/** True if a day exists. The calendar is the same every 400 years. */
export function isDay(year, month, day) {
  const days = new Date(Date.UTC(2000 + Number(year) % 400, Number(month), 0)).getUTCDate();
  return month >= 1 && month <= 12 && day >= 1 && day <= days;
}

function base64(text) {
  if (!isBase64(text)) throw new Error('Base64 is expected; the panel of the row takes a file.');
  return text;
}

function parseUUID(text) {
  if (!isUUID(text)) throw new Error('A UUID is expected: 8-4-4-4-12 hexadecimal digits.');
  return text;
}

function parseInteger(text) {
  const digits = ungrouped(text);
  if (!/^[+-]?\d+$/.test(digits)) throw new Error('A whole number is expected.');
  const value = Number(digits);
  return Number.isSafeInteger(value) ? value : digits.replace(/^\+/, '');
}

/** Infinities are texts in JSON. A decimal keeps its digits, a double is the nearest one. */
function parseNumber(text, type) {
  if (/^[+-]?infinity$/i.test(text)) return text.startsWith('-') ? '-Infinity' : 'Infinity';
  // `1,500` may mean one and a half.
  const digits = /,.*[.,]/.test(text) ? ungrouped(text) : text.replace(/[\s_]/g, '');
  if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(digits)) {
    throw new Error(`A number is expected${digits.includes(',') ? ', with a point before its decimals' : ''}.`);
  }
  if (type === 'decimal') return exact(asInJSON(digits));
  const value = Number(digits);
  if (!Number.isFinite(value)) throw new Error('The number is too large.');
  return value;
}

/** A number as JSON writes it: a digit at each side of the point, no zero or plus in front. */
function asInJSON(digits) {
  const [, sign, whole, fraction, power] = /^([+-]?)0*(\d*)(?:\.(\d*))?(e.*)?$/i.exec(digits);
  return `${sign === '-' ? '-' : ''}${whole || '0'}${fraction ? `.${fraction}` : ''}${power ?? ''}`;
}

/** The text without blanks and underscores, and without commas where they stand before every three digits. */
function ungrouped(text) {
  const plain = text.replace(/[\s_]/g, '');
  return /^[+-]?\d{1,3}(,\d{3})+(?![\d,])/.test(plain) ? plain.replaceAll(',', '') : plain;
}

function parseJSON(text) {
  try {
    return parseText(text);
  } catch {
    throw new Error('JSON is expected: a text stands in double quotes.');
  }
}

function parseBoolean(text) {
  if (/^(true|yes|1)$/i.test(text)) return true;
  if (/^(false|no|0)$/i.test(text)) return false;
  throw new Error('true or false is expected.');
}
