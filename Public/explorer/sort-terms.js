// The sort of a view: a comma list, as the address and the API have it; as JSON where a column's name contains
// a comma.

/** The terms of a view's sort. */
export function sortTerms(sort) {
  if (!sort.startsWith('[')) return sort.split(',').filter(Boolean);
  try {
    return JSON.parse(sort).map(String);
  } catch {
    return [];
  }
}

/** The text of terms. */
export function sortText(terms) {
  return terms.some((term) => /^\[|,/.test(term)) ? JSON.stringify(terms) : terms.join(',');
}

/** `ascending` or `descending` where a term sorts by a path, with or without options behind it; otherwise null. */
export function directionOf(term, path) {
  const begins = (text) => term === text || term.startsWith(`${text}:`);
  return begins(path) ? 'ascending' : begins(`-${path}`) ? 'descending' : null;
}

export const sortsBy = (term, path) => directionOf(term, path) !== null;

const pathOf = (term) => term.split(':')[0];

/** True if a term is descending. A minus may be part of a column's name: then no other column has the name without it. */
export const isDescending = (term, paths) =>
  term.startsWith('-') && (!paths.includes(pathOf(term)) || paths.includes(pathOf(term.slice(1))));
