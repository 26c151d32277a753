// One value of a row in the panel: its control, always open, and a preview where the value is JSON
// or binary.
//
// Promise: a control that is left as it was stages nothing; one that is edited while another save changes
// the row keeps what was typed, and the save is based on the value that was seen.

import { binaryPreview } from './binary-preview.js';
import { datePicker } from './date-picker.js';
import { h, replace } from './dom.js';
import { beginning, editable, LONG, number, show } from './format.js';
import { own, stringify } from './json.js';
import { equals, isComparable } from './predicate-text.js';
import { searchButton } from './related-editor.js';
import { choiceField, choices, ValueField } from './value-field.js';

export class RowField {
  #column;
  #options;
  #signature;
  /** The values of the control: `[item, value, isReadOnly]`. */
  #shown = [];
  /** The arguments of the last `show`. */
  #latest;
  /** True if a long value is shown whole. */
  #isWhole = false;
  /** True if the control has just committed its value. */
  #isDone = false;
  #control = h('div', { class: 'row-control' });
  #filter = h('button', { class: 'text-button row-filter', type: 'button', onclick: () => this.#addFilter() }, 'filter');
  #preview = h('div', { class: 'row-preview' });

  /**
   * @param options `commit(item, value)` with the item that was seen; `stored(name)` resolves
   * to the bytes of a value, `isText(name)` to whether the database has it as text; `open(entity, id)` goes to a related row; `filter(condition)` filters the table; `search`, `nameOf`.
   */
  constructor(column, options) {
    this.#column = column;
    this.#options = options;
    this.element = h('div', { class: 'row-field', dataset: { property: column.name } },
      h('p', { class: 'row-label' }, h('span', {}, column.label ?? column.name), this.#filter, h('small', {}, typeName(column))),
      this.#control, this.#preview);
    this.#control.addEventListener('focusout', () => queueMicrotask(() => this.#left()));
  }

  /** The control was left: the row may have changed while it had the focus. */
  #left() {
    if (!this.#control.querySelector('.is-wrong')) this.show(...this.#latest);
  }

  get column() {
    return this.#column;
  }

  /** The typed text that is no value; undefined if there is none. */
  get refused() {
    return this.#control.querySelector('.is-wrong')?.value;
  }

  /** @param staged the staged values of the row. */
  show(item, staged = {}, isReadOnly) {
    this.#latest = [item, staged, isReadOnly];
    const { name, type } = this.#column;
    const isStaged = Object.hasOwn(staged, name);
    const value = own(isStaged ? staged : item, name);
    this.element.classList.toggle('is-staged', isStaged);
    const related = type === 'relationship' ? this.#options.nameOf(this.#column.destination, value) : '';
    const signature = stringify([value ?? null, isReadOnly, related ?? '']);
    const isTyping = !this.#isDone && this.#control.contains(document.activeElement);
    if (signature === this.#signature || isTyping) return;
    this.#signature = signature;
    this.#shown = [item, value, isReadOnly || this.#column.isFixed];
    this.#draw();
  }

  #draw() {
    const [item, value, isReadOnly] = this.#shown;
    this.#isDone = false;
    const long = this.#isWhole ? null : this.#longText(value);
    replace(this.#control, long ?? (isReadOnly ? this.#text(value) : this.#editor(item, value)));
    this.#control.querySelectorAll('textarea').forEach(fit);
    if (long) replace(this.#preview);
    else this.#showPreview(item, value, isReadOnly);
    this.#filter.hidden = !isComparable(this.#column, own(item, this.#column.name));
    this.#filter.setAttribute('aria-label', `Filter by this ${this.#column.name}`);
  }

  #addFilter() {
    const [item] = this.#shown;
    this.#options.filter(equals(this.#column, own(item, this.#column.name)));
  }

  #commit(item, value) {
    this.#isDone = true;
    this.#options.commit(item, value);
  }

  /** The beginning of a long value, with a button that shows it whole; null for others. */
  #longText(value) {
    const { type, name } = this.#column;
    const text = ['binary', 'relationship'].includes(type) ? '' : editable(value, type);
    if (text.length <= LONG) return null;
    const showAll = () => {
      this.#isWhole = true;
      this.#draw();
      this.#control.querySelector('input, textarea')?.focus();
    };
    return [h('p', { class: 'row-text', 'aria-label': name }, beginning(text)),
      h('button', { class: 'text-button row-link', type: 'button', title: `${number(text.length)} characters`,
        'aria-label': `Show all of ${name}`, onclick: showAll }, 'show all')];
  }

  #text(value) {
    const { type, name } = this.#column;
    if (type === 'binary') return null;
    const isNil = value === null || value === undefined;
    const isRelated = !isNil && type === 'relationship';
    const text = isRelated ? this.#relatedName(value) : isNil ? 'NULL' : show(value, type);
    return [h('p', { class: `row-text${isNil ? ' is-nil' : ''}`, 'aria-label': name }, text), isRelated && this.#link(value)];
  }

  #editor(item, value) {
    const { type } = this.#column;
    if (type === 'relationship') return [this.#relatedEditor(item, value), this.#link(value)];
    if (type === 'boolean') return this.#choice(item, value);
    if (type === 'binary') return null;
    const field = new ValueField(this.#column, value);
    const commit = () => {
      try {
        const changed = field.read();
        if (changed) this.#commit(item, changed.value);
      } catch (error) {
        field.refuse(error.message);
      }
    };
    const { element } = field;
    element.addEventListener('keydown', (event) => this.#key(event, field, commit));
    element.addEventListener('focusout', ({ relatedTarget }) => {
      if (element.isConnected && !element.contains(relatedTarget)) commit();
    });
    return [element, type === 'date' && datePicker(this.#column, field.input, commit)];
  }

  /** Enter ends a line's value, Escape takes back what was typed. */
  #key(event, field, commit) {
    if (event.isComposing || field.key(event)) return;
    if (event.key === 'Enter' && event.target.localName === 'input') commit();
    else if (event.key === 'Escape' && field.isChanged) {
      this.#draw();
      this.#control.querySelector('input, textarea').focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  #choice(item, value) {
    const offered = choices(this.#column, value);
    const select = choiceField(this.#column, value, offered);
    select.addEventListener('change', () => this.#commit(item, offered[Number(select.value)][0]));
    return select;
  }

  // MARK: Related rows

  #relatedEditor(item, value) {
    const { nameOf, search } = this.#options;
    const { name } = this.#column;
    const text = value === null || value === undefined ? 'NULL' : this.#relatedName(value);
    const button = h('button', { class: 'related-value', type: 'button', 'aria-label': `${name}: ${text}; choose another` }, text);
    return searchButton(button, this.#column, () => value, { nameOf, search, done: (id) => this.#commit(item, id) });
  }

  #link(value) {
    const { destination } = this.#column;
    if (value === null || value === undefined) return h('span', { class: 'quiet' }, '');
    const text = this.#relatedName(value);
    return h('button', { class: 'text-button row-link', type: 'button', title: `Show ${destination} ${value}`,
      'aria-label': `Show ${text}`, onclick: () => this.#options.open(destination, value) }, 'show →');
  }

  #relatedName(id) {
    const { destination } = this.#column;
    return this.#options.nameOf(destination, id) ?? `${destination} ${id}`;
  }

  // MARK: Previews

  get #asStored() {
    const { name } = this.#column;
    const { stored, isText } = this.#options;
    return { stored: () => stored(name), isText: () => isText(name) };
  }

  #showPreview(item, value, isReadOnly) {
    const { type } = this.#column;
    if (type === 'json' && value !== null && typeof value === 'object') {
      return replace(this.#preview, h('pre', { class: 'code', tabindex: 0, 'aria-label': 'Formatted JSON' },
        stringify(value, 2)));
    }
    return replace(this.#preview, type === 'binary' && binaryPreview(this.#column, value, {
      commit: isReadOnly ? null : (next) => this.#commit(item, next),
      ...(value === own(item, this.#column.name) ? this.#asStored : { stored: null, isText: null }) }));
  }
}

/** As high as its text, up to a third of the panel. */
function fit(area) {
  area.style.height = 'auto';
  area.style.height = `${Math.min(area.scrollHeight, 260)}px`;
}

function typeName({ type, destination, optional, isFixed, untyped }) {
  const name = type === 'relationship' ? `→ ${destination}` : untyped ? 'without a type' : type;
  return [name, optional === false && !isFixed && 'NOT NULL'].filter(Boolean).join(', ');
}
