// Sections → where every row stands. O(sections) to make, O(log sections) to ask.

export const ROW = 32;
export const HEADER = 36;
/** Space after a section. */
const GAP = 10;

export class Layout {
  constructor(sections, hasHeaders) {
    this.sections = sections;
    this.header = hasHeaders ? HEADER : 0;
    const gap = hasHeaders ? GAP : 0;
    /** Where each section begins. */
    this.tops = new Float64Array(sections.length + 1);
    /** How many items stand before each section. */
    this.counts = new Float64Array(sections.length + 1);
    sections.forEach(({ items }, index) => {
      this.tops[index + 1] = this.tops[index] + this.header + items.length * ROW + gap;
      this.counts[index + 1] = this.counts[index] + items.length;
    });
  }

  get height() {
    return this.tops[this.sections.length];
  }

  get count() {
    return this.counts[this.sections.length];
  }

  y(section, item) {
    return this.tops[section] + this.header + item * ROW;
  }

  /** The section at a height; the last one below the end. */
  sectionAt(y) {
    let low = 0;
    let high = this.sections.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.tops[middle] <= y) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** The rows that show between two heights: `{section, item, y, value}`. */
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

  /** The headers between two heights: `{section, y}`. */
  *headers(from, to) {
    if (this.header === 0) return;
    for (let section = this.sectionAt(from); section < this.sections.length; section += 1) {
      if (this.tops[section] > to) return;
      yield { section, y: this.tops[section] };
    }
  }

  /** Where the items with these keys stand, in one walk over everything. */
  find(keys) {
    const found = new Map();
    for (let section = 0; section < this.sections.length && found.size < keys.size; section += 1) {
      const { items } = this.sections[section];
      for (let item = 0; item < items.length; item += 1) {
        const key = String(items[item].id);
        if (keys.has(key)) found.set(key, this.y(section, item));
      }
    }
    return found;
  }

  /** Section and item of the row that is `index` rows from the first. */
  place(index) {
    const wanted = Math.max(0, Math.min(this.count - 1, index));
    let section = 0;
    while (this.counts[section + 1] <= wanted) section += 1;
    return { section, item: wanted - this.counts[section] };
  }
}
