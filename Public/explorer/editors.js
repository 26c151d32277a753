// What edits a cell: a field, a choice, or a search among the objects of a relationship.

import { debounce, h, replace } from './dom.js';
import { editable, parse } from './format.js';

/** An editor for a column: `{element, focus()}`; `done(value, step)` and `cancel()` end it. */
export function editor(column, value, options) {
  if (column.type === 'relationship') return new RelatedEditor(column, value, options);
  if (column.type === 'boolean') return choiceEditor(column, value, options);
  return fieldEditor(column, value, options);
}

function fieldEditor(column, value, { done, cancel }) {
  const input = h('input', { value: editable(value, column.type), 'aria-label': column.name,
    inputmode: ['integer', 'double', 'decimal'].includes(column.type) ? 'decimal' : null });
  const complaint = h('p', { class: 'complaint', role: 'alert', hidden: true });
  const commit = (step) => {
    try {
      done(parse(input.value, column), step);
    } catch (error) {
      input.classList.add('is-wrong');
      complaint.textContent = error.message;
      complaint.hidden = false;
    }
  };
  input.addEventListener('keydown', (event) => onKey(event, commit, cancel));
  input.addEventListener('blur', () => input.isConnected && commit(0));
  return { element: h('div', {}, input, complaint), focus: () => { input.focus(); input.select(); } };
}

function choiceEditor(column, value, { done, cancel }) {
  const options = [[true, 'yes'], [false, 'no'], ...(column.optional ? [[null, 'nil']] : [])];
  const select = h('select', { 'aria-label': column.name }, options.map(([choice, name], index) =>
    h('option', { value: index, selected: choice === value }, name)));
  const commit = (step) => done(options[Number(select.value)][0], step);
  select.addEventListener('keydown', (event) => onKey(event, commit, cancel));
  select.addEventListener('blur', () => select.isConnected && commit(0));
  return { element: h('div', {}, select), focus: () => select.focus() };
}

function onKey(event, commit, cancel) {
  const { key } = event;
  if (key === 'Enter') commit(0);
  else if (key === 'Tab') commit(event.shiftKey ? -1 : 1);
  else if (key === 'Escape') cancel();
  else return;
  event.preventDefault();
  event.stopPropagation();
}

/** A field that searches by name and takes an object, or nothing. */
export class RelatedEditor {
  #input;
  #list;
  #found = [];
  #chosen = 0;
  #options;
  #column;

  /** @param options also `search(entity, text)` → `[{id, name}]` and `nameOf(entity, id)`. */
  constructor(column, value, options) {
    this.#column = column;
    this.#options = options;
    this.#input = h('input', {
      value: options.nameOf(column.destination, value) ?? value ?? '', 'aria-label': column.name,
      role: 'combobox', 'aria-expanded': 'true', autocomplete: 'off',
      oninput: debounce(() => this.#search(), 120), onkeydown: (event) => this.#key(event),
      onblur: () => this.#input.isConnected && options.cancel() });
    this.#list = h('ul', { class: 'choices', role: 'listbox', hidden: true });
    this.element = h('div', {}, this.#input, this.#list);
  }

  focus() {
    this.#input.focus();
    this.#input.select();
    this.#search('');
  }

  async #search(text = this.#input.value) {
    const found = await this.#options.search(this.#column.destination, text);
    const none = this.#column.optional ? [{ id: null, name: 'nil' }] : [];
    this.#found = text === '' ? [...found, ...none] : found;
    this.#chosen = 0;
    this.#draw();
  }

  #draw() {
    this.#list.hidden = this.#found.length === 0;
    replace(this.#list, this.#found.map(({ id, name }, index) => h('li', {
      role: 'option', 'aria-selected': String(index === this.#chosen),
      onpointerdown: (event) => { event.preventDefault(); this.#options.done(id, 0); } }, name)));
  }

  #key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return onKey(event, (next) => this.#commit(next), this.#options.cancel);
    this.#chosen = (this.#chosen + step + this.#found.length) % Math.max(1, this.#found.length);
    this.#draw();
    event.preventDefault();
    event.stopPropagation();
  }

  #commit(step) {
    const chosen = this.#found[this.#chosen];
    if (chosen) this.#options.done(chosen.id, step);
    else this.#options.cancel();
  }
}
