// Conditions of the filter builder ↔ the text of a predicate. Only comparisons of one key path with
// literals, all joined by AND or all by OR; other predicates are not the builder's.

import { isNumeric } from './format.js';
import { isComparison, tokens } from './predicate-language.js';
import { pathOf, pathText, quoted, unescaped } from './predicate-text.js';

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
  const literals = values.slice(0, count).map((value) => literal(value, type));
  if (literals.length < count || literals.includes(null)) return null;
  const name = pathText(path, { isDotted });
  if (count === 0) return `${name} ${operator}`;
  return `${name} ${operator} ${count === 2 ? `{${literals.join(', ')}}` : literals[0]}`;
}

function literal(text, type) {
  if (isNumeric(type)) return text.trim() !== '' && Number.isFinite(Number(text)) ? text.trim() : null;
  if (type === 'boolean') return text === 'yes' ? 'TRUE' : 'FALSE';
  if (type === 'date') return Number.isNaN(Date.parse(text)) ? null : quoted(dateText(text));
  return quoted(text);
}

/** A day is its first second. */
const dateText = (text) => (/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text);

/**
 * A predicate as `{conditions, word}`, `word` being AND or OR; null where the builder cannot show it.
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

/** The tokens with a minus and the number behind it as one. */
function signed(list) {
  return list.flatMap((token, index) => {
    const next = list[index + 1];
    if (token.text === '-' && next?.kind === 'number') return [];
    return token.kind === 'number' && list[index - 1]?.text === '-' ? [{ ...token, text: `-${token.text}` }] : [token];
  });
}

function condition([path, operator, ...others], typeOf) {
  const rest = signed(others);
  if (!path || !operator || !isComparison(operator)) return null;
  const name = pathOf(path.text);
  const type = path.kind === 'string' || path.kind === 'number' ? undefined : typeOf(name);
  if (!type) return null;
  const option = /^\[[cdn]+\]$/i.test(rest[0]?.text ?? '') ? rest.shift().text.toLowerCase() : '';
  const sign = { '=': '==', '<>': '!=', '=>': '>=', '=<': '<=' }[operator.text] ?? operator.text.toUpperCase();
  const values = rest.filter(({ text }) => !['{', '}', ','].includes(text)).map((token) => plain(token));
  const isNull = values.length === 1 && /^(NULL|NIL)$/i.test(values[0] ?? '') && rest[0].kind === 'keyword';
  const full = isNull ? `${sign} NULL` : `${sign}${option}`;
  const isKnown = operatorsFor(type).some(([each]) => each === full);
  if (!isKnown || values.includes(null) || (!isNull && values.length !== valueCount(full))) return null;
  const isDotted = path.text.startsWith('#"') && pathText(name) === name;
  return { path: name, ...(isDotted && { isDotted }), type, operator: full, values: isNull ? [] : values };
}

/** A literal as the builder shows it; null for what is none. */
function plain({ kind, text }) {
  if (kind === 'number') return text;
  if (kind === 'string') return unescaped(text.slice(1, -1));
  if (/^(TRUE|YES)$/i.test(text)) return 'yes';
  if (/^(FALSE|NO)$/i.test(text)) return 'no';
  return /^(NULL|NIL)$/i.test(text) ? text : null;
}
