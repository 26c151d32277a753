// The widths of the columns. A number is never cut: its column is at least as wide as the longest one
// that has been shown.

import { isNumeric } from './format.js';

/** The padding of a cell, and room for a mark. */
const PADDING = 22;
const INSETS = 20;

export class ColumnWidths {
  #grid;
  #columns = [];
  /** The pixels that the numbers of each column need. */
  #needed = [];
  #longest = [];
  #context = document.createElement('canvas').getContext('2d');

  /** @param grid the element whose fonts the cells have. */
  constructor(grid) {
    this.#grid = grid;
  }

  begin(columns) {
    this.#columns = columns;
    this.#needed = columns.map(() => 0);
    this.#longest = columns.map(() => 0);
  }

  /** Takes note of the text of a cell; whether its column has to be wider. */
  note(index, text) {
    const { isID, type } = this.#columns[index];
    const isNumber = isNumeric(type) || (isID && /^-?\d+$/.test(text));
    if (!isNumber || text.length <= this.#longest[index]) return false;
    this.#longest[index] = text.length;
    // Digits are of the same width in the table, and bold where a value is staged.
    const needed = Math.ceil(this.measure(text.replace(/\d/g, '0'), index));
    if (needed <= this.#needed[index]) return false;
    this.#needed[index] = needed;
    return true;
  }

  /** The pixels that a text needs in a cell of a column. */
  measure(text, index) {
    const style = getComputedStyle(this.#grid);
    this.#context.font = this.#columns[index].isID ? `12px ${style.getPropertyValue('--mono')}`
      : `600 ${style.fontSize} ${style.fontFamily}`;
    return this.#context.measureText(text).width + PADDING;
  }

  /**
   * As `grid-template-columns` takes them.
   *
   * @param room where it is narrow, the width that the first three columns share.
   */
  template(room) {
    return this.#columns.map((column, index) => this.#width(column, index, room)).join(' ');
  }

  #width(column, index, room) {
    const needed = this.#needed[index];
    const count = this.#columns.length;
    if (column.width) return `${Math.max(column.width, needed)}px`;
    if (room) return `${Math.max(needed, narrowWidth(column, index, room, count))}px`;
    if (count === 2) return index === 0 ? 'minmax(0, 1fr)' : `minmax(${Math.max(120, needed)}px, 46%)`;
    if (column.isID) return `${Math.max(92, needed)}px`;
    if (isNumeric(column.type)) return `minmax(${Math.max(92, needed)}px, .7fr)`;
    if (index === 0) return 'minmax(160px, 1.6fr)';
    if (column.type === 'boolean') return '96px';
    if (column.type === 'date') return '160px';
    return 'minmax(104px, 1fr)';
  }
}

/** Whole columns fill the screen; the others are a swipe away. */
function narrowWidth(column, index, room, count) {
  const shares = count === 2 ? [0.56, 0.44] : [0.38, 0.32, 0.3];
  if (index < shares.length) return Math.floor((room - INSETS) * shares[index]);
  return column.isID ? 92 : 108;
}
