// The heads of the columns: the name sorts, the button beside it opens the column's menu.

import { h, replace } from './dom.js';

export class ColumnHeads {
  #handlers;
  #columns = [];

  /** @param handlers `{onSort(column, isFurther), onColumn(column, anchor)}`. */
  constructor(handlers) {
    this.#handlers = handlers;
    this.element = h('div', { class: 'grid-head', role: 'row' });
  }

  /** Shows the heads, with arrows for the keys of `sort`. */
  show(columns, sort) {
    this.#columns = columns;
    const terms = sort.split(',').map((term) => term.split(':')[0]);
    replace(this.element, columns.map((column, index) => this.#cell(column, index, direction(terms, column))));
  }

  #cell(column, index, order) {
    const { onSort, onColumn } = this.#handlers;
    const arrow = { ascending: ' ↑', descending: ' ↓' }[order] ?? '';
    const name = h('button', { class: 'head-name', title: column.name,
      onclick: (event) => onSort(column, event.shiftKey) }, column.name + arrow);
    const menu = onColumn && h('button', { class: 'head-menu', 'aria-haspopup': 'dialog',
      'aria-label': `${column.name}: values and order`, onclick: () => onColumn(column, menu) }, '▾');
    return h('div', { class: `head-cell ${column.type}${arrow && ' is-sorted'}`, role: 'columnheader',
      'aria-colindex': index + 1, 'aria-sort': order, dataset: { column: column.name } }, name, menu);
  }
}

function direction(terms, { name }) {
  const term = terms.find((each) => each === name || each === `-${name}`
    || each.startsWith(`${name}.`) || each.startsWith(`-${name}.`));
  if (!term) return null;
  return term.startsWith('-') ? 'descending' : 'ascending';
}
