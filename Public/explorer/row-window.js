// The part of a long table that is fetched: the rows around the visible ones.

/** The rows of the first fetch of a view. Tables with fewer are there as a whole. */
export const FIRST = 5000;
/** The rows of the next ones. */
export const SIZE = 1000;
/** A window moves when fewer rows than this are left beyond the visible ones. */
const MARGIN = 200;

/**
 * The offset of the window to fetch; null while the current one has enough rows.
 *
 * @param held `{offset, count, total, size}`: the loaded rows, the number of all rows, and that of a window.
 * @param first index of the first visible row.
 * @param last index of the last one.
 */
export function nextOffset({ offset, count, total, size = SIZE }, first, last) {
  const margin = Math.min(MARGIN, Math.floor(count / 4));
  const end = offset + count;
  const lacksRows = (offset > 0 && first < offset + margin) || (end < total && last >= end - margin);
  if (!lacksRows) return null;
  const centred = Math.round((first + last - size) / 2);
  const next = Math.max(0, Math.min(total - size, centred));
  return next === offset ? null : next;
}

/** How many rows to ask for after so many were too large for one answer. @param total those of the whole table, if they are counted. */
export function smaller(limit, total = Infinity) {
  const asked = Math.max(2, Math.min(limit, total));
  return Math.ceil(asked / (asked > 100 ? 4 : 2));
}

/** The rows that a view spans: `{base, most}`, from its `offset` and `limit`. */
export function span(view) {
  return { base: Number(view.offset) || 0, most: view.limit === '' ? Infinity : Number(view.limit) };
}

/** The number of rows of a view, of `total` that match. */
export function rowCount(view, total) {
  const { base, most } = span(view);
  return Math.max(0, Math.min(most, total - base));
}
