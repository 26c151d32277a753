// The heads of the columns: the name sorts, the button beside it opens the column's menu, the right
// edge changes the width. A head that is dragged moves its column.

import { h, isPhone, replace } from './dom.js';
import { directionOf, sortTerms } from './sort-terms.js';

/** Pixels that a pointer moves before it drags. */
const DRAG = 6;

export class ColumnHeads {
  #handlers;
  #columns = [];
  /** The name of the column whose head is reached by Tab. */
  #current;
  /** True if the press that is about to end was a drag, and sorts nothing. */
  #isDragged = false;

  /**
   * @param handlers `{onSort(column, isFurther), onColumn(column, anchor), onWidth(column, width),
   * onMove(column, index), onShift(column, step), onWider(column, sign), onFit(column)}`; a table
   * without `onColumn` has heads that only sort.
   */
  constructor(handlers) {
    this.#handlers = handlers;
    this.element = h('div', { class: 'grid-head', role: 'row', 'aria-rowindex': 1 });
  }

  /** Shows the heads, with arrows for the keys of `sort`. */
  show(columns, sort) {
    this.#columns = columns;
    const hadFocus = this.element.contains(document.activeElement);
    if (!columns.some(({ name }) => name === this.#current)) this.#current = columns[0]?.name;
    const terms = sortTerms(sort);
    replace(this.element, columns.map((column, index) => this.#cell(column, index, direction(terms, column))));
    if (hadFocus) this.cell(this.#current)?.querySelector('.head-name').focus({ preventScroll: true });
  }

  cell(name) {
    return [...this.element.children].find(({ dataset }) => dataset.column === name);
  }

  #cell(column, index, order) {
    const { onColumn } = this.#handlers;
    const arrow = { ascending: ' ↑', descending: ' ↓' }[order] ?? '';
    const name = h('button', { class: 'head-name', tabindex: column.name === this.#current ? 0 : -1,
      onclick: (event) => this.#sort(column, event),
      onkeydown: (event) => this.#key(event, column) }, (column.label ?? column.name) + arrow);
    const menu = onColumn && h('button', { class: 'head-menu', tabindex: -1, 'aria-haspopup': 'dialog',
      'aria-label': `${column.label ?? column.name}: values and order`, onclick: () => onColumn(column, menu) }, '▾');
    const cell = h('div', { class: `head-cell ${column.type}${arrow && ' is-sorted'}${column.isID ? ' is-key' : ''}`,
      role: 'columnheader', 'aria-colindex': index + 1, 'aria-sort': order, dataset: { column: column.name } }, name, menu,
    onColumn && h('span', { class: 'head-grip', onpointerdown: (event) => this.#resize(event, column),
      ondblclick: () => this.#handlers.onFit(column) }));
    if (onColumn) name.addEventListener('pointerdown', (event) => this.#drag(event, column, cell));
    return cell;
  }

  #sort(column, event) {
    this.#current = column.name;
    if (this.#isDragged) this.#isDragged = false;
    // On a phone there is no room for the button of the menu; the menu sorts as well.
    else if (this.#handlers.onColumn && isPhone()) this.#handlers.onColumn(column, event.currentTarget);
    else this.#handlers.onSort(column, event.shiftKey);
  }

  /**
   * Arrows go from head to head. Alt and an arrow move the column, with Shift they make it narrower
   * and wider; Alt and the arrow down open its menu.
   */
  #key(event, column) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const isMenu = event.key === 'ArrowDown' && event.altKey;
    if ((!step && !isMenu) || (event.altKey && !this.#handlers.onColumn)) return;
    event.preventDefault();
    event.stopPropagation();
    this.#current = column.name;
    if (isMenu) this.#handlers.onColumn(column, event.target.parentElement);
    else if (!event.altKey) this.#focus(this.#columns.indexOf(column) + step);
    else if (event.shiftKey) this.#handlers.onWider(column, step);
    else this.#handlers.onShift(column, step);
  }

  #focus(index) {
    const column = this.#columns[index];
    if (!column) return;
    this.cell(this.#current).querySelector('.head-name').tabIndex = -1;
    this.#current = column.name;
    const name = this.cell(column.name).querySelector('.head-name');
    name.tabIndex = 0;
    name.focus();
  }

  #resize(event, column) {
    const start = event.clientX;
    const { width } = event.target.parentElement.getBoundingClientRect();
    event.preventDefault();
    follow(event, ({ clientX }) => this.#handlers.onWidth(column, width + clientX - start));
  }

  #drag(event, column, cell) {
    const start = event.clientX;
    let target = -1;
    this.#isDragged = false;
    if (event.pointerType === 'touch') return;
    follow(event, ({ clientX }) => {
      if (Math.abs(clientX - start) < DRAG && target < 0) return;
      target = this.#indexAt(clientX);
      cell.classList.add('is-dragged');
      this.#mark(target, this.#columns.indexOf(column));
    }, () => {
      this.#mark(-1);
      cell.classList.remove('is-dragged');
      if (target < 0) return;
      this.#isDragged = true;
      this.#handlers.onMove(column, target);
      setTimeout(() => { this.#isDragged = false; });
    });
  }

  #indexAt(x) {
    const index = [...this.element.children].findIndex((cell) => x < cell.getBoundingClientRect().right);
    return index < 0 ? this.#columns.length - 1 : index;
  }

  /** Marks the edge at which the column would stand. */
  #mark(target, from) {
    [...this.element.children].forEach((cell, index) => {
      cell.classList.toggle('is-target-left', index === target && target < from);
      cell.classList.toggle('is-target-right', index === target && target > from);
    });
  }
}

/** Calls `move` for each move of the pointer until it is released, then `end`. */
function follow(event, move, end = () => {}) {
  const { pointerId } = event;
  const isOwn = (run) => (other) => other.pointerId === pointerId && run(other);
  const moved = isOwn(move);
  const ended = isOwn(() => {
    removeEventListener('pointermove', moved);
    removeEventListener('pointerup', ended);
    removeEventListener('pointercancel', ended);
    end();
  });
  addEventListener('pointermove', moved);
  addEventListener('pointerup', ended);
  addEventListener('pointercancel', ended);
}

function direction(terms, { name }) {
  const related = (term) => (term.startsWith(`${name}.`) ? 'ascending' : term.startsWith(`-${name}.`) ? 'descending' : null);
  return terms.map((term) => directionOf(term, name) ?? related(term)).find(Boolean) ?? null;
}
