// The widths of the columns. A column is at least as wide as the longest of its numbers that have been shown. Unless
// the user has set its width, it is also as wide as its heading, up to WIDEST_HEAD pixels.

import { isNumeric } from './format.js';

/** The padding of `.cell` in grid.css, and room for a mark. */
const PADDING = 22;
/** `--inset` and `--inset-end` of narrow screens in grid.css. */
const INSETS = 20;
/** The padding of `.head-cell` and `.head-menu` in grid.css, and the arrow of the order. */
const HEAD_ROOM = 54;
const WIDEST_HEAD = 180;

export class ColumnWidths {
  #grid;
  #columns = [];
  /** The pixels that the numbers of each column need. */
  #needed = [];
  /** The pixels that the name of each column needs. */
  #heads = [];
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
    this.#context.font = `600 11px ${getComputedStyle(this.#grid).fontFamily}`;
    this.#context.letterSpacing = '.22px';
    this.#heads = columns.map(({ label, name }) => {
      const needed = Math.ceil(this.#context.measureText(label ?? name).width) + HEAD_ROOM;
      return Math.min(needed, WIDEST_HEAD);
    });
    this.#context.letterSpacing = '0px';
  }

  /** Records a cell's text. Returns true if its column must grow. */
  record(index, text) {
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
    // `.cell.is-id` in grid.css has 12 pixels.
    this.#context.font = this.#columns[index].isID ? `12px ${style.getPropertyValue('--mono')}`
      : `600 ${style.fontSize} ${style.fontFamily}`;
    return this.#context.measureText(text).width + PADDING;
  }

  /**
   * Gives the grid its columns, and the pixels that they need at least.
   *
   * @param room on narrow screens the width that the first three columns share.
   */
  apply(room) {
    const template = this.#columns.map((column, index) => this.#width(column, index, room)).join(' ');
    const least = [...template.matchAll(/(\d+)px/g)].reduce((sum, [, pixels]) => sum + Number(pixels), 0);
    this.#grid.style.setProperty('--columns', template);
    this.#grid.style.setProperty('--least', `${least}px`);
  }

  #width(column, index, room) {
    const needed = this.#needed[index];
    const count = this.#columns.length;
    if (column.width) return `${Math.max(column.width, needed)}px`;
    const head = this.#heads[index];
    if (room) return `${Math.max(needed, narrowWidth(index, room, count) ?? Math.max(column.isID ? 92 : 108, head))}px`;
    const atLeast = (pixels) => Math.max(pixels, needed, head);
    if (count === 2) return index === 0 ? 'minmax(0, 1fr)' : `minmax(${atLeast(120)}px, 46%)`;
    if (column.isID) return `${atLeast(92)}px`;
    if (isNumeric(column.type)) return `minmax(${atLeast(92)}px, .7fr)`;
    if (index === 0) return `minmax(${atLeast(160)}px, 1.6fr)`;
    if (column.type === 'boolean') return `${atLeast(96)}px`;
    if (column.type === 'date') return `${atLeast(160)}px`;
    return `minmax(${atLeast(104)}px, 1fr)`;
  }
}

/** Whole columns fill the screen; the others, which have no share of it, are a swipe away. */
function narrowWidth(index, room, count) {
  const shares = count === 2 ? [0.56, 0.44] : [0.38, 0.32, 0.3];
  return index < shares.length ? Math.floor((room - INSETS) * shares[index]) : undefined;
}
