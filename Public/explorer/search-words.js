// The text of the search field → a predicate. Text with a comparison is a predicate already; other text is words.

import { isNumeric } from './format.js';
import { isComparison, tokens } from './predicate-language.js';
import { nameText, quoted } from './predicate-text.js';

/** True if a text is words to search for, and no predicate. A URL is a word, also with `?a=1` in it. */
export function isSearch(text) {
  if (/^[a-z][a-z\d+.-]*:\/\/\S+$/i.test(text.trim())) return true;
  const list = tokens(text).filter(({ kind }) => kind !== 'space');
  if (list.length === 0) return false;
  const isPredicate = list.some((token) => isComparison(token) || /^[({!]$|^&&$|^\|\|$/.test(token.text)
    || /^(TRUEPREDICATE|FALSEPREDICATE|SUBQUERY)$/i.test(token.text));
  return !isPredicate;
}

/**
 * True if a text that `isSearch` takes for a predicate, and that has an error, may be meant as words.
 *
 * @param isUnfinished true if the error is at the end of a text that is being typed: after a comparison operator the
 *   text is then a predicate whose value is missing.
 */
export function mayBeWords(text, isUnfinished) {
  const list = tokens(text);
  const hasOnlyWords = list.every(({ kind }) => ['space', 'word', 'keyword'].includes(kind));
  return !isSearch(text) && (hasOnlyWords || !isUnfinished || !list.some((token) => isComparison(token)));
}

/** The words of a text; a part in quotes is one word. */
export function words(text) {
  return [...text.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)]
    .map((match) => match.slice(1).find((part) => part !== undefined)).filter(Boolean);
}

/**
 * The text of the search field as a predicate. For each word: a text column contains it, or a number column has its
 * value. `FALSEPREDICATE` for a word that no column of the entity can hold.
 */
export function predicateOf(text, schema, entity) {
  return isSearch(text) ? allOf(words(text).map((word) => anywhere(word, schema, entity))) : text.trim();
}

const allOf = (conditions) =>
  conditions.map((condition) => (conditions.length > 1 ? `(${condition})` : condition)).join(' AND ');

/** The condition that any column contains a word, or has its value. */
function anywhere(word, schema, entity) {
  const { attributes, idType } = schema.entity(entity);
  const texts = [...attributes.filter(({ type }) => type === 'string' || type === 'uri').map(({ name }) => name),
    ...(idType === 'string' ? ['id'] : [])];
  const list = texts.map((name) => `${nameText(name)} CONTAINS[cd] ${quoted(word)}`);
  if (/^-?\d+(\.\d+)?$/.test(word)) {
    const isWhole = !word.includes('.');
    const numbers = [{ name: 'id', type: idType }, ...attributes].filter(({ type }) =>
      (type === 'integer' ? isWhole : isNumeric(type)));
    list.push(...numbers.map(({ name }) => `${nameText(name)} == ${word.replace(/^(-?)0+(?=\d)/, '$1')}`));
  }
  return list.length === 0 ? 'FALSEPREDICATE' : list.join(' OR ');
}
