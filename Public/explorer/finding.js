// Makes filters from the menus of columns and cells, and from the filter builder. Each changes the text of the
// search field.

import { cellMenu } from './cell-menu.js';
import { columnMenu } from './column-menu.js';
import { FilterBuilder } from './filter-builder.js';
import { show } from './format.js';
import { own } from './json.js';
import { equals, isComparable, joined } from './predicate-text.js';
import { predicateOf } from './search-words.js';
import { narrowed } from './view-changes.js';

export class Finding {
  #page;
  #builder;

  /** @param page `{client, schema, names, view, isReadOnly, grid, editing, rowPanel, tools, sortPath(column), change(patch)}`. */
  constructor(page) {
    this.#page = page;
    const finding = this;
    this.#builder = new FilterBuilder({ schema: page.schema, get view() { return page.view; },
      get where() { return finding.where; }, change: (patch) => page.change(patch) });
  }

  /** The predicate of the view. Words in the search field are converted to a predicate. */
  get where() {
    const { view, schema } = this.#page;
    return schema.entity(view.entity) ? predicateOf(view.where, schema, view.entity) : '';
  }

  /** The handlers of the grid. */
  get handlers() {
    return { onColumn: (column, anchor) => this.#columnMenu(column, anchor),
      onCell: (...cell) => this.#cellMenu(...cell),
      onFilter: (anchor, column, item) => (isComparable(column, own(item, column.name)) ? this.add(equals(column, own(item, column.name)))
        : this.#cellMenu(anchor, column, item)) };
  }

  /** Filters by one more condition. */
  add(condition) {
    this.#page.change({ where: joined(this.where, condition) });
  }

  /** Filters by a range of an attribute. */
  narrow(name, from, to) {
    this.#page.change({ where: narrowed(this.where, name, from, to) });
  }

  build(anchor) {
    this.#builder.open(anchor);
  }

  #columnMenu(column, anchor) {
    const page = this.#page;
    columnMenu(column, anchor, { client: page.client, schema: page.schema,
      view: { entity: page.view.entity, where: this.where }, change: (patch) => page.change(patch),
      sortPath: (each) => page.sortPath(each),
      columnActions: (each) => page.tools.columns.actions(each), addCondition: (text) => this.add(text),
      narrow: ({ name }, from, to) => this.narrow(name, from, to) });
  }

  #cellMenu(anchor, column, item) {
    const { names, isReadOnly, grid, editing, rowPanel, view } = this.#page;
    const value = own(item, column.name) ?? null;
    const text = value === null ? 'NULL' : column.type === 'relationship'
      ? names.nameOf(column.destination, value) ?? String(value) : show(value, column.type);
    cellMenu(anchor, column, item, text, { isReadOnly, addCondition: (condition) => this.add(condition),
      openRow: () => rowPanel.open(view.entity, item.id, { item }), edit: () => grid.cursor.edit(),
      isSelected: grid.selection.has(item), toggle: () => grid.cursor.toggle(),
      remove: () => editing.remove(view.entity, item) });
  }
}
