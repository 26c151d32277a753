// Values and names → the text of a predicate.

import { isDigits, isNumeric, isUUID, toNumber, show } from './format.js';
import { Decimal } from './json.js';
import { keywords } from './predicate-language.js';

/** A value as a literal. */
export function quoted(value) {
  if (value === null || value === undefined) return 'NULL';
  if (typeof value === 'boolean') return value ? 'TRUE' : 'FALSE';
  if (['number', 'bigint'].includes(typeof value) || value instanceof Decimal) return String(value);
  return `'${escaped(String(value), "'")}'`;
}

/**
 * A key path: a step that is a reserved word is escaped, and a path with other characters than a word's is quoted.
 *
 * @param options `isDotted`: true if dots belong to the column's name.
 */
export function pathText(path, { isDotted = false } = {}) {
  const steps = path.split('.');
  if (isDotted || !steps.every((step, index) => isWord(index > 0 ? step.replace(/^@/, '') : step))) return quotedPath(path);
  return steps.map((step) => (keywords.has(step.toUpperCase()) ? `#${step}` : step)).join('.');
}

/** A column's name, which may have a dot itself. */
export const nameText = (name) => pathText(name, { isDotted: name.includes('.') });

/** The key path that such a text names. */
export const pathOf = (text) => text.replace(/#(?:"((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)')|#/g, (_, double, single) => unescaped(double ?? single ?? ''));

const isWord = (name) => /^[\p{L}_][\p{L}\p{N}_]*$/u.test(name);

const escapes = { n: '\n', r: '\r', t: '\t', "'": "'", '"': '"', '\\': '\\' };

/** The text between the quotes of a literal. As on the server, a backslash that begins no escape is kept. */
export const unescaped = (text) => text.replace(/\\(?:u([\dA-Fa-f]{4})|(.))/g, (escape, code, letter) =>
  (code ? String.fromCharCode(parseInt(code, 16)) : escapes[letter] ?? escape));

const completeString = /^(['"])(?:\\u[\dA-Fa-f]{4}|\\[^u]|(?!\1)[^\\])*\1$/;

/** True if the server accepts a string literal: it is closed, and its `\u` escapes are characters. */
export const isCompleteString = (text) => completeString.test(text) && !/\p{Surrogate}/u.test(unescaped(text));

const quotedPath = (path) => `#"${escaped(path, '"')}"`;

const escaped = (text, quote) => text.replaceAll('\\', '\\\\').replaceAll(quote, `\\${quote}`)
  .replaceAll('\n', '\\n').replaceAll('\r', '\\r').replaceAll('\t', '\\t');

/** The reason why a column cannot be filtered by this value; undefined if it can. */
export function filterProblem(column, value) {
  const { type } = column;
  return fits(value, type) ? undefined : `A filter compares ${type} values, and “${show(value)}” is none.`;
}

/** True if a value is of its column's type: SQLite stores others as well. */
function fits(value, type) {
  if (value === null || value === undefined) return true;
  if (isNumeric(type)) return isNumber(value) || isLargeInteger(value) || isInfinity(value);
  if (type === 'boolean' || type === 'string') return typeof value === type;
  if (type === 'uuid') return isUUID(value);
  return type !== 'date' || /^[+-]?\d{4,}-\d\d-\d\dT.*Z$/.test(value);
}

const isNumber = (value) => !['string', 'boolean'].includes(typeof value) && !Number.isNaN(toNumber(value));

/** Integers that JavaScript's numbers cannot hold come as texts. */
const isLargeInteger = (value) => isDigits(value) && !Number.isSafeInteger(Number(value));

const isInfinity = (value) => value === 'Infinity' || value === '-Infinity';

/** A condition in addition to those of `where`; an OR in them is put in parentheses. */
export function joined(where, condition) {
  const text = where.trim();
  if (text === '' || /^TRUEPREDICATE$/i.test(text)) return condition;
  const isOr = /\b(or)\b|\|\|/i.test(text.replace(/'(\\.|[^'\\])*'|"(\\.|[^"\\])*"/g, "''"));
  return `${isOr ? `(${text})` : text} AND ${condition}`;
}

/** The condition that a column, or the value at a key path, equals a value, or that it does not. */
export function equals({ name, path, isDotted, type }, value, isNot = false) {
  return `${path === undefined ? nameText(name) : pathText(path, { isDotted })} ${isNot ? '!=' : '=='} ${isNumeric(type) && isDigits(value) ? value : quoted(value)}`;
}

/** True if the value of a column can be compared in a predicate. */
export function isComparable(column, value) {
  return filterProblem(column, value) === undefined && (value === null || value === undefined || !['binary', 'json'].includes(column.type));
}
