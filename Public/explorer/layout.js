// Sections → the place of every row. O(sections) to make, O(log sections) to look up.
//
// The sections may be a window of a longer table. Offsets are pixels from the window's first row,
// indexes count from the table's first row.

import { keyOf } from './row-key.js';

/** The heights of a row, of the column heads and of a section's header, in pixels. On a phone the first two are greater. */
export let ROW = 32;
export let COLUMN_HEAD = 33;
export const SECTION_HEADER = 36;
/** Sets the heights for a phone, or for others. They are those of `--row` and `--head` in the style sheets. */
export function useTouchSizes(isTouch) {
  [ROW, COLUMN_HEAD] = isTouch ? [44, 45] : [32, 33];
}

/** Space after a section. */
const GAP = 10;

export class Layout {
  /** @param options `before`: the number of rows before the window; `total`: of all rows. */
  constructor(sections, hasHeaders, { before = 0, total = 0 } = {}) {
    this.sections = sections;
    this.before = before;
    this.header = hasHeaders ? SECTION_HEADER : 0;
    const gap = hasHeaders ? GAP : 0;
    /** The offset at which each section begins. */
    this.tops = new Float64Array(sections.length + 1);
    /** The number of items before each section. */
    this.counts = new Float64Array(sections.length + 1);
    this.counts[0] = before;
    sections.forEach(({ items }, index) => {
      this.tops[index + 1] = this.tops[index] + this.header + items.length * ROW + gap;
      this.counts[index + 1] = this.counts[index] + items.length;
    });
    /** The number of rows of the whole table. */
    this.total = Math.max(total, this.end);
  }

  get height() {
    return this.tops[this.sections.length];
  }

  /** The index after the window's last row. */
  get end() {
    return this.counts[this.sections.length];
  }

  /** The number of rows of the window. */
  get count() {
    return this.end - this.before;
  }

  /** The height of the rows before the window, in pixels. */
  get top() {
    return this.before * ROW;
  }

  /** The height of the whole table, in pixels. */
  get fullHeight() {
    return this.top + this.height + (this.total - this.end) * ROW;
  }

  /** True if a section may have rows outside the window. */
  isCut(section) {
    return (section === 0 && this.before > 0)
      || (section === this.sections.length - 1 && this.end < this.total);
  }

  y(section, item) {
    return this.tops[section] + this.header + item * ROW;
  }

  /** The section at an offset; the last one below the end. */
  sectionAt(y) {
    return this.#lastSection(this.tops, y);
  }

  /** The last section whose element of `starts` is at most `value`; the first one if there is none. */
  #lastSection(starts, value) {
    let low = 0;
    let high = this.sections.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (starts[middle] <= value) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** The index of the row at an offset, inside the window or not. */
  indexAt(y) {
    if (y < 0) return Math.max(0, this.before + Math.floor(y / ROW));
    if (y >= this.height) return Math.min(this.total - 1, this.end + Math.floor((y - this.height) / ROW));
    const section = this.sectionAt(y);
    const item = Math.floor((y - this.y(section, 0)) / ROW);
    const last = this.sections[section].items.length - 1;
    return this.counts[section] + Math.max(0, Math.min(last, item));
  }

  /** The distance of a row from the window's first row, in pixels. The row may be outside the window. */
  offsetOf(index) {
    if (index < this.before) return (index - this.before) * ROW;
    if (index >= this.end) return this.height + (index - this.end) * ROW;
    const { section, item } = this.place(index);
    return this.y(section, item);
  }

  /** The rows that show between two offsets: `{section, item, y, value}`. */
  *rows(from, to) {
    for (let section = this.sectionAt(from); section < this.sections.length; section += 1) {
      if (this.tops[section] > to) return;
      const { items } = this.sections[section];
      const first = Math.max(0, Math.floor((from - this.y(section, 0)) / ROW));
      for (let item = first; item < items.length; item += 1) {
        const y = this.y(section, item);
        if (y > to) break;
        yield { section, item, y, value: items[item] };
      }
    }
  }

  /** The headers between two offsets: `{section, y}`. */
  *headers(from, to) {
    if (this.header === 0) return;
    for (let section = this.sectionAt(from); section < this.sections.length; section += 1) {
      if (this.tops[section] > to) return;
      yield { section, y: this.tops[section] };
    }
  }

  /** The offsets of the items with these keys. O(items). */
  find(keys) {
    const found = new Map();
    for (let section = 0; section < this.sections.length && found.size < keys.size; section += 1) {
      const { items } = this.sections[section];
      for (let item = 0; item < items.length; item += 1) {
        const key = keyOf(items[item]);
        if (keys.has(key)) found.set(key, this.y(section, item));
      }
    }
    return found;
  }

  /** Section and item of a row by its index; null outside the window. */
  place(index) {
    if (index < this.before || index >= this.end) return null;
    const section = this.#lastSection(this.counts, index);
    return { section, item: index - this.counts[section] };
  }
}
