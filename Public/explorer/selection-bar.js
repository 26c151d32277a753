// The actions on the selected rows: edit a column of all, delete, copy. Edits and deletions
// are staged, so that one save has them all.

import { csvText } from './csv.js';
import { copyText, h, replace } from './dom.js';
import { editable, isDigits, isNumeric, number } from './format.js';
import { stringify } from './json.js';
import { popover } from './popover.js';
import { RelatedEditor } from './related-editor.js';
import { choiceField, choices, kindOf, ValueField } from './value-field.js';

export class SelectionBar {
  #page;
  element = h('div', { class: 'selection-bar', role: 'toolbar', 'aria-label': 'Selected rows', hidden: true });

  /** @param page `{grid, editing, view, isReadOnly}`. */
  constructor(page) {
    this.#page = page;
  }

  show(selection) {
    const count = selection.size;
    this.element.hidden = count === 0;
    if (count === 0) return replace(this.element);
    const button = (text, onclick, kind = '') => h('button', { class: `button small ${kind}`, type: 'button', onclick }, text);
    const { isReadOnly } = this.#page;
    return replace(this.element, h('strong', { role: 'status' }, `${number(count)} selected`),
      this.#lacksRows && h('span', { class: 'quiet' }, `of ${number(this.#page.grid.layout.total)}: as many as are loaded`),
      !isReadOnly && this.#editable.length > 0 && button('Edit …', ({ currentTarget }) => this.#edit(currentTarget)),
      !isReadOnly && button('Delete', () => this.remove(), 'danger'),
      button('Copy as CSV', ({ currentTarget }) => this.copy('csv', currentTarget)),
      button('Copy as JSON', ({ currentTarget }) => this.copy('json', currentTarget)),
      button('Clear', () => selection.clear()));
  }

  /** True if every loaded row is selected, and there are others. */
  get #lacksRows() {
    const { grid: { selection, layout } } = this.#page;
    return selection.size >= layout.count && layout.count < layout.total;
  }

  get #items() {
    return this.#page.grid.selectedItems;
  }

  /** Copies the selected rows as they are shown, with their staged values. */
  copy(format, button) {
    const { grid: { columns }, editing: { staged }, view } = this.#page;
    const items = this.#items.map((item) => ({ ...item, ...staged.of(view.entity, item.id)?.values }));
    copyText(format === 'csv' ? csvOf(columns, items) : jsonOf(columns, items), button);
  }

  /** Stages the deletion of the selected rows. */
  remove() {
    if (this.#page.isReadOnly) return;
    const { editing, view } = this.#page;
    editing.staged.batch(() => {
      for (const item of this.#items) {
        if (!editing.staged.of(view.entity, item.id)?.isDeleted) editing.remove(view.entity, item);
      }
    });
  }

  #stage(column, value) {
    const { editing, view } = this.#page;
    editing.staged.batch(() => {
      for (const item of this.#items) editing.staged.set(view.entity, item, column.name, value);
    });
  }

  // MARK: Editing a column

  get #editable() {
    return this.#page.grid.columns.filter(({ isFixed, type }) => !isFixed && type !== 'binary');
  }

  #edit(anchor) {
    const columns = this.#editable;
    const holder = h('div', { class: 'batch-value row-control' });
    const complaint = h('p', { class: 'complaint', role: 'alert', hidden: true });
    let control;
    const choose = (column) => {
      control = this.#control(column, holder);
      complaint.hidden = true;
    };
    const apply = () => {
      try {
        this.#stage(control.column, control.read());
        opened.close();
      } catch (error) {
        complaint.textContent = error.message;
        complaint.hidden = false;
      }
    };
    const select = h('select', { class: 'field', 'aria-label': 'Column', onchange: ({ target }) => choose(columns[Number(target.value)]) },
      columns.map(({ name }, index) => h('option', { value: index }, name)));
    const opened = popover(anchor, [h('p', {}, `Set a column of ${number(this.#items.length)} rows`),
      h('div', { class: 'batch-edit' }, select, holder), complaint,
      h('p', { class: 'builder-foot' }, h('span', { class: 'quiet' }, 'Staged; one save has all of them.'),
        h('button', { class: 'button primary', type: 'button', onclick: apply }, 'Stage'))],
    { label: 'Edit the selected rows', className: 'batch-editor' });
    choose(columns[0]);
  }

  /** The control of a column in `holder`: `{column, read()}`. */
  #control(column, holder) {
    if (column.type === 'relationship') return this.#relatedControl(column, holder);
    if (column.type === 'boolean') {
      const offered = choices(column, true);
      const select = choiceField(column, true, offered);
      replace(holder, select);
      return { column, read: () => offered[Number(select.value)][0] };
    }
    const field = new ValueField(column, null, 'nothing chosen');
    replace(holder, field.element);
    return { column, read: () => {
      const changed = field.read();
      if (changed) return changed.value;
      throw new Error(column.optional ? 'Type a value, or choose NULL.' : 'Type a value.');
    } };
  }

  #relatedControl(column, holder) {
    const { lookups } = this.#page.editing;
    let chosen;
    const show = (id) => {
      chosen = id;
      const text = id === undefined ? 'choose …' : lookups.nameOf(column.destination, id) ?? String(id ?? 'NULL');
      const button = h('button', { class: 'related-value', type: 'button', onclick: search }, text);
      const hadFocus = holder.contains(document.activeElement);
      replace(holder, button);
      if (hadFocus) button.focus();
    };
    const search = () => {
      const editor = new RelatedEditor(column, undefined, { ...lookups, done: show, cancel: () => show(chosen) });
      replace(holder, h('span', { class: 'editor' }, editor.element));
      editor.focus();
    };
    show(undefined);
    return { column, read: () => {
      if (chosen === undefined) throw new Error('Choose a row.');
      return chosen;
    } };
  }
}

/** The name of a column as the database has it. */
export const titleOf = ({ label, name }) => label ?? name;

/**
 * Rows as CSV, after a heading with the names of the columns: exact values, relationships as keys. A text of a column
 * without a type is in quotes, as it may look like a number.
 */
export function csvOf(columns, items, { hasHeading = true } = {}) {
  const value = (item, { name, type, untyped }) => {
    const content = item[name];
    if (content === null || content === undefined) return null;
    const text = editable(content, type);
    return untyped && kindOf(content, type) === 'text' ? { text, isQuoted: true } : text;
  };
  return csvText([...(hasHeading ? [columns.map(titleOf)] : []), ...items.map((item) => columns.map((column) => value(item, column)))]);
}

export function jsonOf(columns, items) {
  return stringify(items.map((item) => jsonItem(columns, item)), 1);
}

/** A row as a JSON object: a number of any size is a number. */
export function jsonItem(columns, item) {
  const isNumber = ({ type, idType }) => isNumeric(type === 'relationship' ? idType : type);
  const value = (column) => (isNumber(column) && isDigits(item[column.name]) ? BigInt(item[column.name]) : item[column.name] ?? null);
  return Object.fromEntries(columns.map((column) => [titleOf(column), value(column)]));
}
