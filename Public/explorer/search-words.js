// Plain words in the search field → a predicate. Text with a comparison is a predicate itself.

import { isNumeric } from './format.js';
import { isComparison, tokens } from './predicate-language.js';
import { nameText, quoted } from './predicate-text.js';

/** True if a text is words to search for, and no predicate. The address of a page is one, whatever characters it has. */
export function isSearch(text) {
  if (/^[a-z][a-z\d+.-]*:\/\/\S+$/i.test(text.trim())) return true;
  const list = tokens(text).filter(({ kind }) => kind !== 'space');
  if (list.length === 0) return false;
  const isPredicate = list.some((token) => isComparison(token) || /^[({!]$|^&&$|^\|\|$/.test(token.text)
    || /^(TRUEPREDICATE|FALSEPREDICATE|SUBQUERY)$/i.test(token.text));
  return !isPredicate;
}

/** True if a text may be meant as words though it is no search; one that ends behind a comparison is still being typed. */
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
 * The text of the search field as a predicate: each word is in a text column, or is the value of a
 * number. Rows without text columns have none: `FALSEPREDICATE`.
 */
export function predicateOf(text, schema, entity) {
  return isSearch(text) ? allOf(words(text).map((word) => anywhere(word, schema, entity))) : text.trim();
}

const allOf = (conditions) =>
  conditions.map((condition) => (conditions.length > 1 ? `(${condition})` : condition)).join(' AND ');

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
