// The cell that the keyboard is at, and the field that edits it.

import { h } from './dom.js';

const PAGE = 12;

export class Cursor {
  #grid;
  #handlers;
  /** The row by its id, so that it stays with a row that moves. */
  #id = null;
  #column = 0;
  #editor = null;

  constructor(grid, handlers) {
    this.#grid = grid;
    this.#handlers = handlers;
    const { element } = grid;
    element.addEventListener('keydown', (event) => this.#key(event));
    element.addEventListener('pointerdown', (event) => this.#press(event));
    element.addEventListener('dblclick', () => this.edit());
  }

  get id() {
    return this.#id;
  }

  get isEditing() {
    return this.#editor !== null;
  }

  /** Marks the current cell among the rows that show now. */
  draw() {
    const { element } = this.#grid;
    element.querySelector('.cell.is-current')?.classList.remove('is-current');
    element.querySelector('.row.is-current')?.classList.remove('is-current');
    const row = this.#id === null ? null : this.#grid.row(this.#id);
    if (!row) return;
    row.element.classList.add('is-current');
    row.cell(this.#column)?.classList.add('is-current');
  }

  #press({ target }) {
    const cell = target.closest?.('.cell');
    if (!cell || target.closest('.editor')) return;
    this.#id = cell.parentElement.livefetchRow.item.id;
    this.#column = Number(cell.dataset.column);
    this.draw();
  }

  #key(event) {
    if (this.#editor || event.target.closest('.editor')) return;
    const moves = {
      ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1],
      PageDown: [PAGE, 0], PageUp: [-PAGE, 0], Home: [-Infinity, 0], End: [Infinity, 0] };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (moves[event.key]) this.#move(...moves[event.key]);
    else if (event.key === 'Enter' || event.key === 'F2') this.edit();
    else if (event.key === 'Delete' || event.key === 'Backspace') this.#remove();
    else return;
    event.preventDefault();
  }

  #move(rows, columns) {
    const { layout } = this.#grid;
    if (layout.count === 0) return;
    const last = this.#grid.columns.length - 1;
    this.#column = Math.max(0, Math.min(last, this.#column + columns));
    const index = this.#index();
    const place = layout.place(index < 0 ? 0 : index + rows);
    this.#id = layout.sections[place.section].items[place.item].id;
    this.#grid.reveal(place);
    this.#grid.row(this.#id)?.cell(this.#column)?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }

  /** How many rows stand before the current one; -1 where there is none. */
  #index() {
    const { layout } = this.#grid;
    for (let section = 0; section < layout.sections.length; section += 1) {
      const item = layout.sections[section].items.findIndex(({ id }) => id === this.#id);
      if (item >= 0) return layout.counts[section] + item;
    }
    return -1;
  }

  #remove() {
    const row = this.#id === null ? null : this.#grid.row(this.#id);
    if (row) this.#handlers.onRemove(row.item);
  }

  // MARK: Editing

  edit() {
    const row = this.#id === null ? null : this.#grid.row(this.#id);
    const column = this.#grid.columns[this.#column];
    if (!row || !column || column.readOnly || this.#editor) return;
    this.#editor = this.#handlers.editor(row.item, column, {
      close: (step) => this.#closeEditor(step) });
    if (!this.#editor) return;
    // Over the row, not in the cell: a diff may fill the cell while it is edited.
    const cell = row.cell(this.#column);
    const layer = h('div', { class: 'editor' }, this.#editor.element);
    layer.style.left = `${cell.offsetLeft}px`;
    layer.style.width = `${Math.max(cell.offsetWidth, 150)}px`;
    row.element.append(layer);
    this.#editor.focus();
  }

  #closeEditor(step = 0) {
    const element = this.#editor?.element.closest('.editor');
    this.#editor = null;
    element?.remove();
    this.#grid.element.focus({ preventScroll: true });
    if (step === 0) return;
    this.#move(0, step);
    this.edit();
  }
}
