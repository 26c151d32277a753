// Changes of a view's texts: another sort, a further condition.

import { joined, nameText, quoted } from './predicate-text.js';
import { directionOf, sortsBy, sortTerms, sortText } from './sort-terms.js';

/** `sort` after a column's head was pressed: by that path, turned round where it was there before. */
export function sortedBy(sort, path, isFurther) {
  const terms = sortTerms(sort);
  const former = terms.find((term) => sortsBy(term, path));
  const next = former === undefined ? path : directionOf(former, path) === 'descending' ? former.slice(1) : `-${former}`;
  if (!isFurther) return sortText([next]);
  const all = former === undefined ? [...terms, next]
    : terms.map((term) => (term === former ? next : term));
  return sortText(all);
}

/** `where` with the range of an attribute as a further condition, in place of an earlier one. */
export function narrowed(where, attribute, from, to) {
  const path = nameText(attribute);
  const range = `${path} BETWEEN {${bounds(from, to).join(', ')}}`;
  const own = new RegExp(`(^|\\s+AND\\s+)${path.replaceAll(/[$.*+?^{}()|[\]\\]/g, '\\$&')} BETWEEN \\{[^}]*\\}(?=\\s+AND\\s|\\s*$)`);
  const rest = where.replace(own, '').trim().replace(/^AND\s+/, '');
  return joined(rest, range);
}

/** Both ends as literals: numbers with as few digits as a hundredth of their distance needs, never nearer to each other. */
function bounds(from, to) {
  if (typeof from !== 'number' || from === to) return [quoted(from), quoted(to)];
  const digits = Math.max(0, Math.min(20, 2 - Math.floor(Math.log10(to - from))));
  const step = 10 ** digits;
  const outward = (value, round) => (Number.isSafeInteger(Math.trunc(value * step)) ? Number((round(value * step) / step).toFixed(digits)) : value);
  return [outward(from, Math.floor), outward(to, Math.ceil)];
}
