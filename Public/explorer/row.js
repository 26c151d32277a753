// One row's elements: made once, filled again whenever its item is another.

import { isPending } from '../livefetch.js';
import { h } from './dom.js';
import { beginning, isNumeric, toNumber, show } from './format.js';
import { own } from './json.js';

/** The number of rows that were made, for the ids of their cells. */
let rows = 0;

export class Row {
  item = null;
  y = 0;
  #columns;
  #cells;
  #check;
  #isSelected = null;

  /** @param handlers `{onRemove(item), onOpen(id, item), onSelect(item)}`; without `onOpen` there are no buttons. */
  constructor(columns, { onRemove, onOpen, onSelect }) {
    this.#columns = columns;
    rows += 1;
    this.#cells = columns.map((column, index) => h('div', {
      id: `cell-${rows}-${index}`, class: `cell ${kindOf(column)}`, role: 'gridcell', 'aria-colindex': index + 1,
      dataset: { column: index } }));
    this.#check = h('input', { type: 'checkbox', class: 'row-check', tabindex: -1, 'aria-label': 'Select the row',
      onclick: (event) => { event.stopPropagation(); onSelect(this.item, event.shiftKey); } });
    this.element = h('div', { class: 'row', role: 'row' }, this.#cells,
      onOpen && h('div', { class: 'row-actions', role: 'gridcell', 'aria-colindex': columns.length + 1 }, this.#check,
        h('button', { class: 'row-open', tabindex: -1, title: 'Show the row (Space)', 'aria-label': 'Show the row',
          onclick: () => onOpen(this.item.id, this.item) }, '⤢'),
        h('button', { class: 'row-remove', tabindex: -1, title: 'Delete (Del)', 'aria-label': 'Delete',
          onclick: () => onRemove(this.item) }, '×')));
    this.element.livefetchRow = this;
  }

  cell(index) {
    return this.#cells[index];
  }

  /**
   * Fills the cells; returns those whose text is another than before.
   *
   * @param options `onText(index, text)` is called for every text that is new.
   */
  fill(item, { related, staged, measure, isSelected = false, onText }) {
    const changed = [];
    this.#columns.forEach((column, index) => {
      const isStaged = staged?.values && Object.hasOwn(staged.values, column.name);
      const value = own(isStaged ? staged.values : item, column.name);
      const text = column.type === 'relationship' ? related(column, value)
        : column.isID ? String(value) : show(value, column.type);
      const cell = this.#cells[index];
      cell.classList.toggle('is-staged', isStaged === true);
      cell.classList.toggle('is-nil', value === null);
      this.#bar(cell, measure?.column === index ? toNumber(value) / measure.most : null);
      const shown = value === null ? 'NULL' : beginning(text);
      if (cell.textContent === shown) return;
      if (this.item && this.item.id === item.id) changed.push(cell);
      cell.textContent = shown;
      onText?.(index, shown);
    });
    if (isSelected !== this.#isSelected) this.#select(isSelected);
    this.element.classList.toggle('is-removed', staged?.isDeleted === true);
    this.element.classList.toggle('is-pending', isPending(item));
    this.item = item;
    return changed;
  }

  #select(isSelected) {
    this.#isSelected = isSelected;
    this.element.classList.toggle('is-selected', isSelected);
    this.element.setAttribute('aria-selected', String(isSelected));
    this.#check.checked = isSelected;
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

  /** The height at which it is seen. Reading the style during an animation is slow. */
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
