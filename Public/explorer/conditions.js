// Conditions of the filter builder ↔ the text of a predicate. Only comparisons of one key path with
// literals, all joined by AND or all by OR. The builder does not show other predicates.

import { isDay, isNumeric, isUUID } from './format.js';
import { isComparison, tokens } from './predicate-language.js';
import { isCompleteString, pathOf, pathText, quoted, unescaped } from './predicate-text.js';

const nulls = [['== NULL', 'is NULL'], ['!= NULL', 'is not NULL']];
const order = [['==', 'is'], ['!=', 'is not'], ['>', 'is more than'], ['>=', 'is at least'],
  ['<', 'is less than'], ['<=', 'is at most'], ['BETWEEN', 'is from … to']];

/** The operators that a type offers: `[operator, name]`. */
export function operatorsFor(type) {
  if (type === 'string' || type === 'uri') {
    return [['CONTAINS[cd]', 'contains'], ['==', 'is'], ['!=', 'is not'], ['BEGINSWITH[cd]', 'begins with'],
      ['ENDSWITH[cd]', 'ends with'], ...nulls];
  }
  if (type === 'boolean' || type === 'uuid') return [['==', 'is'], ['!=', 'is not'], ...nulls];
  if (isNumeric(type) || type === 'date') return [...order, ...nulls];
  return nulls;
}

/** The number of values that an operator takes. */
export const valueCount = (operator) => (operator.endsWith(' NULL') ? 0 : operator === 'BETWEEN' ? 2 : 1);

/** A condition `{path, type, operator, values}` as text; null while it is not complete. */
export function conditionText({ path, isDotted, type, operator, values }) {
  const count = valueCount(operator);
  const literals = Array.from({ length: count }, (_, index) => (isTyped(values[index], operator) ? literal(values[index], type) : null));
  if (literals.includes(null)) return null;
  const name = pathText(path, { isDotted });
  if (count === 0) return `${name} ${operator}`;
  return `${name} ${operator} ${count === 2 ? `{${literals.join(', ')}}` : literals[0]}`;
}

/** True for a value of a condition. An empty text is one of `==` and `!=` only: the server finds it in no text. */
const isTyped = (value, operator) => value !== undefined && (value !== '' || ['==', '!='].includes(operator));

/** A value as a literal; null if it is not one of the type. */
function literal(text, type) {
  if (isNumeric(type)) return isNumber(text.trim()) ? text.trim() : null;
  if (type === 'boolean') return { yes: 'TRUE', no: 'FALSE' }[text] ?? null;
  if (type === 'date') return isDate(text) ? quoted(text) : null;
  return type === 'uuid' && !isUUID(text) ? null : quoted(text);
}

const numberForm = /^-?(?:0x[\da-f]+|0o[0-7]+|0b[01]+|(?:\d+(?:\.\d+)?|\.\d+)(?:e[+-]?\d+)?)$/i;

const isNumber = (text) => numberForm.test(text) && Number.isFinite(Number(text.replace('-', '')));

/** Years of more than four digits need a sign. */
const dateForm = /^(\d{4}|[+-]\d{4,11})-(\d\d)-(\d\d)(?:[T ](?:[01]\d|2[0-3])(?::[0-5]\d){1,2}(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)?)?$/;

function isDate(text) {
  const [, year, month, day] = dateForm.exec(text) ?? [];
  return year !== undefined && isDay(year, month, day);
}

/**
 * A predicate as `{conditions, word}`, `word` being AND or OR; null if the builder cannot show it.
 *
 * @param typeOf gives the type at a key path, or nothing.
 */
export function conditionsOf(where, typeOf) {
  const list = tokens(where).filter(({ kind }) => kind !== 'space');
  if (list.length === 0) return { conditions: [], word: 'AND' };
  const parts = [[]];
  const joins = new Set();
  for (const token of list) {
    if (/^(AND|&&|OR|\|\|)$/i.test(token.text) && token.kind !== 'string') {
      joins.add(/^(AND|&&)$/i.test(token.text) ? 'AND' : 'OR');
      parts.push([]);
    } else parts.at(-1).push(token);
  }
  const conditions = parts.map((part) => condition(part, typeOf));
  return joins.size > 1 || conditions.includes(null) ? null : { conditions, word: [...joins][0] ?? 'AND' };
}

/** A comparison as a condition; null if the builder cannot show it. */
function condition([path, comparison, ...others], typeOf) {
  if (!path || !comparison || !isComparison(comparison)) return null;
  const name = pathOf(path.text);
  const type = ['string', 'number'].includes(path.kind) ? undefined : typeOf(name);
  const read = type && comparedWith(comparison, others);
  const values = read?.list.map((token) => shown(token, type));
  const isKnown = operatorsFor(type).some(([operator]) => operator === read?.operator);
  if (!isKnown || values.includes(null) || !values.every((value) => isTyped(value, read.operator))) return null;
  const isDotted = path.text.startsWith('#"') && pathText(name) === name;
  return { path: name, ...(isDotted && { isDotted }), type, operator: read.operator, values };
}

/** The operator as the builder spells it, and the tokens of its values; null if there are other tokens. */
function comparedWith({ text }, others) {
  const hasOption = /^\[[cdn]+\]$/i.test(others[0]?.text ?? '');
  const option = hasOption ? others[0].text.toLowerCase() : '';
  const operator = { '=': '==', '<>': '!=', '=>': '>=', '=<': '<=' }[text] ?? text.toUpperCase();
  const list = valueTokens(signed(hasOption ? others.slice(1) : others), operator);
  if (list?.length === 1 && isNull(list[0])) return { operator: `${operator} NULL`, list: [] };
  return list && { operator: `${operator}${option}`, list };
}

/** The tokens, a number with the sign before it as one. A minus after a value is an operator. */
function signed(list) {
  const isSign = (index) => list[index]?.text === '-' && list[index + 1]?.kind === 'number'
    && ['{', ',', undefined].includes(list[index - 1]?.text);
  return list.flatMap((token, index) => (isSign(index) ? [] : isSign(index - 1) ? [{ ...token, text: `-${token.text}` }] : [token]));
}

/** One token, two in braces for BETWEEN; null for others. */
function valueTokens(list, operator) {
  if (operator !== 'BETWEEN') return list.length === 1 ? list : null;
  const [opening, from, comma, to, closing] = list;
  const isRange = list.length === 5 && opening.text === '{' && comma.text === ',' && closing.text === '}';
  return isRange ? [from, to] : null;
}

const isNull = ({ kind, text }) => kind === 'keyword' && /^(NULL|NIL)$/i.test(text);

/** A literal of the type as the builder shows it; null for other tokens. */
function shown({ kind, text }, type) {
  const value = plain(kind, text, type);
  return value !== null && literal(value, type) !== null ? value : null;
}

function plain(kind, text, type) {
  if (isNumeric(type)) return kind === 'number' ? text : null;
  if (type === 'boolean') return /^(TRUE|YES)$/i.test(text) ? 'yes' : /^(FALSE|NO)$/i.test(text) ? 'no' : null;
  return kind === 'string' && isCompleteString(text) ? unescaped(text.slice(1, -1)) : null;
}
