// The sort of a view: text, which the address holds too, and the terms in it. A term is a path, behind a minus if it
// is descending, and may have options: `name`, `-population`, `name:cd`. The text is a comma list, as in the API;
// it is a JSON array if a term contains a comma or begins with a bracket.

/** Returns the terms in the text of a sort; none if the text is not valid JSON. */
export function sortTerms(sort) {
  if (!sort.startsWith('[')) return sort.split(',').filter(Boolean);
  try {
    return JSON.parse(sort).map(String);
  } catch {
    return [];
  }
}

/** Returns the text of a sort. */
export function sortText(terms) {
  return terms.some((term) => /^\[|,/.test(term)) ? JSON.stringify(terms) : terms.join(',');
}

/** Returns `ascending` or `descending` if a term sorts by `path`, with or without options; null otherwise. */
export function directionOf(term, path) {
  const begins = (text) => term === text || term.startsWith(`${text}:`);
  return begins(path) ? 'ascending' : begins(`-${path}`) ? 'descending' : null;
}

export const sortsBy = (term, path) => directionOf(term, path) !== null;

/** Returns a term without its options. */
export const withoutOptions = (term) => term.split(':')[0];

/**
 * True if a term is descending: it begins with a minus that is not part of a column's name. If both `-name` and `name`
 * are columns, the term `-name` is descending.
 *
 * @param paths the paths by which the entity can be sorted.
 */
export const isDescending = (term, paths) =>
  term.startsWith('-') && (!paths.includes(withoutOptions(term)) || paths.includes(withoutOptions(term.slice(1))));
