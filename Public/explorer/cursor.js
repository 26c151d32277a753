// Tracks the current cell of the table, handles its keys and opens its editors.

import { copyText, h } from './dom.js';
import { editable } from './format.js';
import { own } from './json.js';
import { keyOf } from './row-key.js';

export class Cursor {
  #grid;
  #handlers;
  /** The current row, with the values that it had when it was chosen. It stays current when it moves. */
  #held = null;
  /** The last known index of the current row. The cursor continues there if the row is deleted. */
  #at = -1;
  /** True if the row at `#at` becomes the current one as soon as it has been fetched. */
  #isAwaited = false;
  #column = 0;
  /**
   * The open editors by their cells: `{key, editor, layer, next}`. One with an invalid value stays open. `next` is
   * the control that the focus has gone to.
   */
  #editors = new Map();

  constructor(grid, handlers) {
    this.#grid = grid;
    this.#handlers = handlers;
    const { element } = grid;
    element.addEventListener('keydown', (event) => this.#key(event));
    element.addEventListener('pointerdown', (event) => this.#press(event));
    element.addEventListener('dblclick', ({ target }) => target.closest('.cell') && this.edit());
    element.addEventListener('click', (event) => this.#clicked(event));
    element.addEventListener('contextmenu', (event) => this.#menu(event));
    element.addEventListener('wheel', () => { this.#isAwaited = false; }, { passive: true });
  }

  get id() {
    return this.#held?.id ?? null;
  }

  get #heldKey() {
    return this.#held && keyOf(this.#held);
  }

  /** The keys of the rows with an open editor. */
  get editedRows() {
    return new Set([...this.#editors.values()].map(({ key }) => key));
  }

  /** Marks the current row and cell, if they are visible. */
  draw() {
    const { element } = this.#grid;
    element.querySelector('.cell.is-current')?.classList.remove('is-current');
    element.querySelector('.row.is-current')?.classList.remove('is-current');
    const row = this.#held && this.#grid.row(this.#heldKey);
    this.#column = Math.max(0, Math.min(this.#grid.columns.length - 1, this.#column));
    const cell = row?.cell(this.#column);
    if (cell) element.setAttribute('aria-activedescendant', cell.id);
    else element.removeAttribute('aria-activedescendant');
    row?.element.classList.add('is-current');
    cell?.classList.add('is-current');
  }

  #press({ target }) {
    this.#isAwaited = false;
    const cell = target.closest?.('.cell');
    if (!cell || target.closest('.editor')) return;
    this.#held = cell.parentElement.livefetchRow.item;
    this.#at = this.#find();
    this.#column = Number(cell.dataset.column);
    this.draw();
  }

  #key(event) {
    if (event.target.closest('.editor')) return;
    const moves = {
      ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1],
      PageDown: [this.#grid.pageSize, 0], PageUp: [-this.#grid.pageSize, 0],
      Home: [-Infinity, 0], End: [Infinity, 0] };
    const isEnd = event.key === 'Home' || event.key === 'End';
    if (event.target !== this.#grid.element) return;
    if ((event.ctrlKey || event.metaKey) && this.#command(event)) return event.preventDefault();
    if (event.altKey || ((event.ctrlKey || event.metaKey) && !isEnd)) return;
    if (event.shiftKey && moves[event.key]?.[0] && this.#canSelect) this.#extend(moves[event.key][0]);
    else if (moves[event.key]) this.#move(...moves[event.key]);
    else if (event.key === 'Enter' || event.key === 'F2') this.edit();
    else if (event.key === ' ' && event.shiftKey) this.toggle();
    else if (event.key === ' ') this.open();
    else if (event.key === 'Escape' && this.#grid.selection.size > 0) this.#grid.selection.clear();
    else if (event.key === 'Delete' || event.key === 'Backspace') this.#remove();
    else return;
    event.preventDefault();
  }

  #move(rows, columns) {
    const { layout } = this.#grid;
    if (layout.total === 0) return;
    const last = this.#grid.columns.length - 1;
    this.#column = Math.max(0, Math.min(last, this.#column + columns));
    const found = this.#find();
    const index = found < 0 ? this.#at : found;
    this.#at = Math.max(0, Math.min(layout.total - 1, index + rows));
    this.#isAwaited = true;
    this.#take();
    this.#grid.reveal(this.#at);
    this.#grid.row(this.#heldKey)?.cell(this.#column)?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    this.#report(false);
  }

  /** Moves the cursor by `rows` rows. */
  step(rows) {
    this.#move(rows, 0);
  }

  /** Shows the current row beside the table. */
  open() {
    if (this.#held) this.#handlers.onOpen?.(this.id, this.#item ?? this.#held);
  }

  #clicked({ target, altKey, ctrlKey, metaKey, shiftKey }) {
    if (!target.closest?.('.cell') || !this.#item) return;
    if (altKey) this.#handlers.onFilter?.(target.closest('.cell'), this.#columnNow, this.#item);
    else if (this.#canSelect && (ctrlKey || metaKey || shiftKey)) this.select(this.#item, shiftKey);
    else this.#report(true);
  }

  /** The table of a second client shows rows only: none is opened or selected. */
  get #canSelect() {
    return this.#handlers.onOpen !== undefined;
  }

  /** Toggles the selection of the current row. */
  toggle() {
    if (this.#item && this.#canSelect) this.select(this.#item, false);
  }

  /** Makes a row the current one. */
  hold(item) {
    this.#held = item;
    this.#at = this.#find();
    this.draw();
  }

  /** Toggles the selection of a row. `isRange` selects all rows from the last selected one to it. */
  select(item, isRange) {
    this.hold(item);
    const { selection, layout } = this.#grid;
    if (isRange) selection.extend(layout, this.#at);
    else selection.toggle(item, this.#at);
    this.draw();
  }

  get #columnNow() {
    return this.#grid.columns[this.#column];
  }

  /** The value of the current cell as it is shown: the staged one, or the stored one. */
  get #valueNow() {
    const { name } = this.#columnNow;
    const staged = this.#handlers.staged(this.id)?.values;
    return own(staged && Object.hasOwn(staged, name) ? staged : this.#item, name);
  }

  get #item() {
    return this.#held ? this.#grid.row(this.#heldKey)?.item : undefined;
  }

  /** The menu of the current cell, by the pointer or the key for menus. */
  #menu(event) {
    const isKey = event.target === this.#grid.element && event.button !== 2;
    if (!this.#handlers.onCell || !this.#item || !(isKey || event.target.closest('.cell'))) return;
    event.preventDefault();
    const cell = this.#grid.row(this.#heldKey).cell(this.#column);
    this.#handlers.onCell(event.button === 2 ? { x: event.clientX, y: event.clientY } : cell, this.#columnNow, this.#item);
  }

  /** @param isPointer true if a pointer chose the row. */
  #report(isPointer) {
    if (this.#held && this.#editors.size === 0) this.#handlers.onCurrent?.(this.#item ?? this.#held, isPointer);
  }

  /**
   * Keeps the current row after another result, or makes the awaited row the current one if it has been fetched.
   *
   * @param isOther true if it is the result of another request, in which indexes mean other rows.
   */
  follow(isOther) {
    if (isOther) this.#isAwaited = false;
    if (this.#isAwaited && this.#take()) {
      this.#grid.reveal(this.#at);
      return this.#report(false);
    }
    const index = this.#find();
    if (index >= 0) this.#at = index;
    else if (isOther) this.reset();
  }

  /** Leaves the current row: none is current. */
  reset() {
    this.finish();
    [this.#held, this.#at, this.#isAwaited] = [null, -1, false];
  }

  /** Makes the row at `#at` the current one if it has been fetched. */
  #take() {
    const { layout } = this.#grid;
    const place = layout.place(this.#at);
    this.#held = place && layout.sections[place.section].items[place.item];
    this.#isAwaited = !place;
    return place !== null;
  }

  /** The index of the current row; -1 if it is not in the window. */
  #find() {
    const { layout } = this.#grid;
    if (!this.#held) return -1;
    const key = this.#heldKey;
    for (let section = 0; section < layout.sections.length; section += 1) {
      const item = layout.sections[section].items.findIndex((each) => keyOf(each) === key);
      if (item >= 0) return layout.counts[section] + item;
    }
    return -1;
  }

  #remove() {
    if (this.#grid.selection.size > 0) return this.#handlers.onRemoveSelected();
    if (this.#item) this.#handlers.onRemove(this.#item);
  }

  /** Ctrl C copies, Ctrl A selects all rows. Returns true if the key was one of them. With Caps Lock the key is a capital letter. */
  #command(event) {
    const key = event.shiftKey ? '' : event.key.toLowerCase();
    if (key === 'a' && this.#canSelect) {
      this.#grid.selection.all(this.#grid.layout);
      return true;
    }
    if (key !== 'c' || !getSelection().isCollapsed || !this.#item) return false;
    if (this.#grid.selection.size > 0) this.#handlers.onCopy();
    else copyText(editable(this.#valueNow, this.#columnNow.type));
    return true;
  }

  /** Moves the cursor and selects the rows that it passes. */
  #extend(rows) {
    const { selection, layout } = this.#grid;
    if (selection.size === 0) selection.extend(layout, this.#at);
    this.#move(rows, 0);
    selection.extend(layout, this.#at);
  }

  // MARK: Editing

  /** Opens an editor over the current cell. */
  edit() {
    const row = this.#held && this.#grid.row(this.#heldKey);
    const column = this.#grid.columns[this.#column];
    if (!row || !column || column.isFixed) return;
    const place = `${this.#heldKey} ${column.name}`;
    if (this.#editors.has(place)) return this.#editors.get(place).editor.focus();
    const editor = this.#handlers.editor(row.item, column, { close: (step) => this.#closeEditor(place, step) });
    if (!editor) return;
    // Over the row, not in the cell: a diff may fill the cell while it is edited.
    const cell = row.cell(this.#column);
    const layer = h('div', { class: 'editor' }, editor.element);
    layer.style.left = `${cell.offsetLeft}px`;
    layer.style.width = `${Math.max(cell.offsetWidth, 150)}px`;
    const open = { key: this.#heldKey, editor, layer, next: null };
    layer.addEventListener('blur', ({ relatedTarget }) => { open.next = relatedTarget; }, true);
    this.#editors.set(place, open);
    row.element.append(layer);
    editor.focus();
  }

  /** Closes the editors of a row, or all, before the rows are removed. A typed text is staged if it is a value. */
  finish(key) {
    for (const [place, open] of this.#editors) {
      if (key !== undefined && open.key !== key) continue;
      open.editor.finish();
      this.#closeEditor(place);
    }
  }

  #closeEditor(place, step = 0) {
    const open = this.#editors.get(place);
    if (!open) return;
    this.#editors.delete(place);
    const isLeft = hasLeft(open);
    open.layer.remove();
    if (!isLeft) this.#grid.element.focus({ preventScroll: true });
    if (step === 0) return;
    this.#move(0, step);
    this.edit();
  }
}

/** True if the user has gone from an open editor to another control. During a `blur` event the body has the focus. */
function hasLeft({ layer, next }) {
  const { activeElement } = document;
  return activeElement === document.body ? next !== null : !layer.contains(activeElement);
}
