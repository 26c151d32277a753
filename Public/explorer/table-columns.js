// Changes of the table's columns by its reader: widths, order, hidden ones, reset.

import { ColumnSettings } from './column-settings.js';
import { h } from './dom.js';
import { popover } from './popover.js';

const STEP = 24;

export class TableColumns {
  #page;
  #settings = new ColumnSettings();

  /** @param page `{schema, view, grid, renamed()}`: `renamed` shows the rows' other names. */
  constructor(page) {
    this.#page = page;
  }

  get #entity() {
    return this.#page.view.entity;
  }

  /** The columns to show for the view's table. */
  get shown() {
    return this.#settings.arrange(this.#entity, this.#page.schema.columns(this.#entity));
  }

  /** The handlers of the heads. */
  get handlers() {
    return {
      onWidth: (column, width) => this.#change(() => this.#settings.setWidth(this.#entity, column.name, width)),
      onMove: (column, index) => this.#move(column, index),
      onShift: (column, step) => this.#move(column, this.#index(column) + step),
      onWider: (column, sign) => this.#change(() =>
        this.#settings.setWidth(this.#entity, column.name, this.#page.grid.widthOf(column.name) + sign * STEP)) };
  }

  /** The lines for the menu of a column: `[text, run]`. */
  actions(column) {
    const index = this.#index(column);
    const last = this.#page.grid.columns.length - 1;
    return [
      index > 0 && ['Move left', () => this.#move(column, index - 1)],
      index < last && ['Move right', () => this.#move(column, index + 1)],
      ['Fit to its values', () => this.fit(column)],
      ...this.#labelActions(column),
      last > 0 && ['Hide the column', () => this.#change(() => this.#settings.setHidden(this.#entity, column.name, true))],
    ].filter(Boolean);
  }

  /** By which column the rows of this table are called where other tables refer to them. */
  #labelActions({ name, type }) {
    const { schema } = this.#page;
    const choose = (label) => () => {
      schema.chooseLabel(this.#entity, label);
      this.#page.renamed();
      this.#change(() => {});
    };
    if (schema.hasChosenLabel(this.#entity) && schema.label(this.#entity) === name) {
      return [['Name rows by the default column', choose(null)]];
    }
    const isLabel = schema.labels(this.#entity).includes(name);
    return type === 'string' && !isLabel ? [['Name rows by this column', choose(name)]] : [];
  }

  /** Makes a column as wide as the values that are seen. */
  fit(column) {
    this.#change(() => this.#settings.setWidth(this.#entity, column.name, this.#page.grid.fittingWidth(column.name)));
  }

  /** Opens the list of all columns, in which they are hidden and shown. */
  choose(anchor) {
    const { schema } = this.#page;
    const line = ({ name, label }) => h('label', { class: 'menu-item' },
      h('span', {}, h('input', { type: 'checkbox', checked: !this.#settings.isHidden(this.#entity, name),
        onchange: ({ target }) => this.#change(() => this.#settings.setHidden(this.#entity, name, !target.checked)) }), ` ${label ?? name}`));
    const reset = h('button', { class: 'menu-item', type: 'button', onclick: () => {
      opened.close();
      this.#change(() => this.#settings.reset(this.#entity));
    } }, 'Reset columns');
    const opened = popover(anchor, h('div', { class: 'menu' }, schema.columns(this.#entity).map(line),
      this.#settings.isChanged(this.#entity) && reset), { label: 'Columns', className: 'columns-menu' });
  }

  #index({ name }) {
    return this.#page.grid.columns.findIndex((column) => column.name === name);
  }

  #move(column, index) {
    const names = this.#page.grid.columns.map(({ name }) => name);
    this.#change(() => this.#settings.move(this.#entity, names, column.name, index));
    this.#page.grid.focusHead(column.name);
  }

  #change(run) {
    run();
    this.#page.grid.arrange(this.shown, this.#page.view.sort);
  }
}
