// Values and names → the text of a predicate.

import { Decimal } from './json.js';
import { keywords } from './predicate-language.js';

/** A value as a literal. */
export function quoted(value) {
  if (value === null || value === undefined) return 'NULL';
  if (typeof value === 'boolean') return value ? 'TRUE' : 'FALSE';
  if (['number', 'bigint'].includes(typeof value) || value instanceof Decimal) return String(value);
  return `'${String(value).replace(/[\\']/g, '\\$&').replace(/\n/g, '\\n').replace(/\r/g, '\\r').replace(/\t/g, '\\t')}'`;
}

/** A key path; a step that is a reserved word is escaped. */
export function pathText(path) {
  return path.split('.').map((step) => (keywords.has(step.toUpperCase()) ? `#${step}` : step)).join('.');
}

/** True if a predicate can name a column: `first name` can be no more than an argument of `%K`. */
export const isName = (name) => /^[\p{L}_][\p{L}\p{N}_]*$/u.test(name);

/** Why a column has no filter; nothing where it can have one. */
export const filterProblem = (name) => (isName(name) ? undefined
  : `A filter cannot name the column “${name}”: predicates know letters, digits and _ in names.`);

/** A condition in addition to those of `where`; an OR in them is put in parentheses. */
export function joined(where, condition) {
  const text = where.trim();
  if (text === '' || /^TRUEPREDICATE$/i.test(text)) return condition;
  const isOr = /\b(or)\b|\|\|/i.test(text.replace(/'(\\.|[^'\\])*'|"(\\.|[^"\\])*"/g, "''"));
  return `${isOr ? `(${text})` : text} AND ${condition}`;
}

/** The condition that a column has a value, or that it does not. */
export function equals(path, value, isNot = false) {
  return `${pathText(path)} ${isNot ? '!=' : '=='} ${quoted(value)}`;
}

/** True if the value of a column can be compared in a predicate. */
export function isComparable(column, value) {
  return isName(column.name) && (value === null || value === undefined || !['binary', 'json'].includes(column.type));
}
