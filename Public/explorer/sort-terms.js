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

/** True if a term sorts by a path, with or without options behind it. */
export function sortsBy(term, path) {
  const own = term.replace(/^-/, '');
  return own === path || own.startsWith(`${path}:`);
}
