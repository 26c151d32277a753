// Values and names → the text of a predicate.

import { isDigits, isNumeric, nearest, show } from './format.js';
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

/** Why there is no filter by a value of a column; nothing where there can be one. */
export function filterProblem(column, value) {
  const { name, type } = column;
  if (!isName(name)) return `A filter cannot name the column “${name}”: predicates know letters, digits and _ in names.`;
  return fits(value, type) ? undefined : `A filter compares ${type} values, and “${show(value)}” is none.`;
}

const forms = { uuid: /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i, date: /^[+-]?\d{4,}-\d\d-\d\dT.*Z$/ };

/** True if a value is of its column's type: SQLite stores others as well. */
function fits(value, type) {
  if (value === null || value === undefined) return true;
  if (isNumeric(type)) return typeof value === 'string' ? isDigits(value) || /^-?Infinity$/.test(value) : !Number.isNaN(nearest(value)) && typeof value !== 'boolean';
  if (type === 'boolean' || type === 'string') return typeof value === type;
  return !forms[type] || forms[type].test(value);
}

/** A condition in addition to those of `where`; an OR in them is put in parentheses. */
export function joined(where, condition) {
  const text = where.trim();
  if (text === '' || /^TRUEPREDICATE$/i.test(text)) return condition;
  const isOr = /\b(or)\b|\|\|/i.test(text.replace(/'(\\.|[^'\\])*'|"(\\.|[^"\\])*"/g, "''"));
  return `${isOr ? `(${text})` : text} AND ${condition}`;
}

/** The condition that a column has a value, or that it does not. */
export function equals({ name, type }, value, isNot = false) {
  return `${pathText(name)} ${isNot ? '!=' : '=='} ${isNumeric(type) && isDigits(value) ? value : quoted(value)}`;
}

/** True if the value of a column can be compared in a predicate. */
export function isComparable(column, value) {
  return filterProblem(column, value) === undefined && (value === null || value === undefined || !['binary', 'json'].includes(column.type));
}
