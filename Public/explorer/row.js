// One row's elements: made once, filled again whenever its item is another.

import { isPending } from '../livefetch.js';
import { h } from './dom.js';
import { isNumeric, show } from './format.js';

export class Row {
  item = null;
  y = 0;
  #columns;
  #cells;

  constructor(columns, { onRemove, onOpen }) {
    this.#columns = columns;
    this.#cells = columns.map((column, index) => h('div', {
      class: `cell ${kindOf(column)}`, role: 'gridcell', 'aria-colindex': index + 1,
      dataset: { column: index } }));
    this.element = h('div', { class: 'row', role: 'row' }, this.#cells,
      onOpen && h('button', { class: 'row-open', tabindex: -1, title: 'Show the row (Space)', 'aria-label': 'Show the row',
        onclick: () => onOpen(this.item.id) }, '⤢'),
      h('button', { class: 'row-remove', tabindex: -1, title: 'Delete (Del)', 'aria-label': 'Delete',
        onclick: () => onRemove(this.item) }, '×'));
    this.element.livefetchRow = this;
  }

  cell(index) {
    return this.#cells[index];
  }

  /** Fills the cells; returns those whose text is another than before. */
  fill(item, { related, staged, measure }) {
    const changed = [];
    this.#columns.forEach((column, index) => {
      const isStaged = staged?.values && column.name in staged.values;
      const value = isStaged ? staged.values[column.name] : item[column.name];
      const text = column.type === 'relationship' ? related(column, value)
        : column.isID ? String(value) : show(value, column.type);
      const cell = this.#cells[index];
      cell.classList.toggle('is-staged', !!isStaged);
      cell.classList.toggle('is-nil', value === null);
      this.#bar(cell, measure?.column === index ? value / measure.most : null);
      const shown = value === null ? 'NULL' : text;
      if (cell.textContent === shown) return;
      if (this.item && this.item.id === item.id) changed.push(cell);
      cell.textContent = shown;
    });
    this.element.classList.toggle('is-removed', staged?.isDeleted === true);
    this.element.classList.toggle('is-pending', isPending(item));
    this.item = item;
    return changed;
  }

  /** Draws a share of the largest value behind a number. */
  #bar(cell, share) {
    cell.classList.toggle('has-bar', share !== null && share > 0);
    if (share > 0) cell.style.setProperty('--share', (share * 100).toFixed(2));
  }

  move(y) {
    this.y = y;
    this.element.style.transform = `translateY(${y}px)`;
  }

  /** Where it is seen, in the middle of a movement too: asking the browser then is dear. */
  get seenAt() {
    if (!this.isSliding) return this.y;
    const { transform } = getComputedStyle(this.element);
    return transform === 'none' ? this.y : new DOMMatrixReadOnly(transform).m42;
  }
}

function kindOf(column) {
  if (column.isID) return 'is-id';
  if (column.type === 'relationship') return 'is-related';
  return isNumeric(column.type) ? 'is-number' : `is-${column.type}`;
}

/**
 * The widths of the columns, as `grid-template-columns` takes them.
 *
 * @param room where it is narrow, the width that the first three columns share.
 */
export function widths(columns, room) {
  if (room) return columns.map((column, index) => narrowWidth(column, index, room, columns.length)).join(' ');
  const width = (column, index) => {
    if (columns.length === 2) return index === 0 ? 'minmax(0, 1fr)' : 'minmax(120px, 46%)';
    if (index === 0) return 'minmax(160px, 1.6fr)';
    if (column.isID) return '92px';
    if (isNumeric(column.type)) return 'minmax(92px, .7fr)';
    if (column.type === 'boolean') return '84px';
    if (column.type === 'date') return '160px';
    return 'minmax(104px, 1fr)';
  };
  return columns.map(width).join(' ');
}

const INSETS = 20;

/** Whole columns fill the screen; the others are a swipe away. */
function narrowWidth(column, index, room, count) {
  const shares = count === 2 ? [0.56, 0.44] : [0.38, 0.32, 0.3];
  if (index < shares.length) return `${Math.floor((room - INSETS) * shares[index])}px`;
  return column.isID ? '92px' : '108px';
}
