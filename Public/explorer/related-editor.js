// A field that searches by name and takes an object, or NULL.
//
// Promises: Enter takes what is highlighted, of the answer to what was typed last; at first that is
// the present value. Where nothing matches, nothing is highlighted and Enter changes nothing.

import { debounce, h, replace } from './dom.js';
import { onKey } from './editors.js';
import { MOST } from './names.js';
import { isSameID } from './row-key.js';

let lists = 0;

/**
 * A button that is replaced by a `RelatedEditor` while the user searches.
 *
 * @param value gives the present value.
 * @param options those of the editor; `done(id)` is called after the button is there again.
 */
export function searchButton(button, column, value, options) {
  const holder = h('span', { class: 'related-holder' }, button);
  const close = () => {
    const hadFocus = holder.contains(document.activeElement);
    holder.replaceChildren(button);
    if (hadFocus) button.focus();
  };
  button.addEventListener('click', () => {
    const editor = new RelatedEditor(column, value(), { ...options, cancel: close, done: (id) => { close(); options.done(id); } });
    holder.replaceChildren(h('span', { class: 'editor' }, editor.element));
    editor.focus();
  });
  return holder;
}

export class RelatedEditor {
  #input;
  #list;
  #name;
  /** The note below the choices. */
  #note = '';
  /** `{id, name, key}` of the objects that the list shows. */
  #found = [];
  #chosen = -1;
  #options;
  #column;
  #value;
  /** The number of the newest search, and its end. */
  #search = 0;
  #searching = null;
  #searchSoon = debounce(() => this.#begin(this.#input.value), 120);

  /**
   * @param value undefined where there is no present value: NULL can be chosen as well.
   * @param options also `search(entity, text)` → `[{id, name, key}]` and `nameOf(entity, id)`.
   */
  constructor(column, value, options) {
    this.#column = column;
    this.#options = options;
    this.#value = value;
    this.#name = `choices-${lists += 1}`;
    this.#input = h('input', {
      value: options.nameOf(column.destination, value) ?? value ?? '', 'aria-label': column.name,
      role: 'combobox', 'aria-expanded': 'false', 'aria-controls': this.#name,
      'aria-autocomplete': 'list', autocomplete: 'off', placeholder: value === null ? 'NULL' : '',
      oninput: () => this.#typed(), onkeydown: (event) => this.#key(event),
      onblur: () => this.#input.isConnected && options.cancel(0) });
    this.#list = h('ul', { class: 'choices', role: 'listbox', id: this.#name, hidden: true });
    this.element = h('div', { class: 'related-editor' }, this.#input, this.#list);
  }

  focus() {
    this.#input.focus();
    this.#input.select();
    this.#begin('');
  }

  /** Leaves the value as it is: what was typed is a search. */
  finish() {
    this.#options.cancel(0);
  }

  /** The typed text has no answer yet: Enter waits for it. */
  #typed() {
    this.#search += 1;
    this.#searching = new Promise((resolve) => { this.#searched = resolve; });
    this.#searchSoon();
  }

  #searched = () => {};

  async #begin(text) {
    const number = this.#search += 1;
    let found = [];
    let failure = '';
    try {
      found = await this.#options.search(this.#column.destination, text);
    } catch (error) {
      failure = error.message;
    }
    if (number === this.#search) this.#show(found, text, failure);
  }

  #show(found, text, failure) {
    const none = this.#column.optional ? [{ id: null, name: 'NULL' }] : [];
    this.#found = text === '' ? [...found, ...none] : found;
    const isOwn = ({ id }) => isSameID(id, this.#value);
    this.#chosen = text === '' ? this.#found.findIndex(isOwn) : Math.min(0, found.length - 1);
    this.#note = failure || (found.length >= MOST ? 'Type a name or a key to find others.'
      : text !== '' && found.length === 0 ? 'No row has this name or key.' : '');
    this.#searching = null;
    this.#draw();
    this.#searched();
  }

  #draw() {
    this.#list.hidden = this.#found.length === 0 && this.#note === '';
    this.#input.setAttribute('aria-expanded', String(!this.#list.hidden));
    replace(this.#list, this.#found.map(({ id, name, key }, index) => h('li', {
      role: 'option', id: `${this.#name}-${index}`, class: id === null ? 'is-nil' : '',
      'aria-selected': String(index === this.#chosen),
      onpointerdown: (event) => event.preventDefault(), onclick: () => this.#take(index, 0) }, name, key !== undefined && h('small', {}, key))),
    this.#note && h('li', { class: 'choices-note', role: 'option', 'aria-disabled': 'true',
      onpointerdown: (event) => event.preventDefault() }, this.#note));
    const chosen = this.#list.children[this.#chosen];
    if (chosen) this.#input.setAttribute('aria-activedescendant', chosen.id);
    else this.#input.removeAttribute('aria-activedescendant');
    this.#place();
    chosen?.scrollIntoView({ block: 'nearest' });
  }

  /** Above the field where there is no room below. */
  #place() {
    const frame = this.element.closest('.grid, .row-panel-body')?.getBoundingClientRect();
    if (!frame || this.#list.hidden) return;
    const field = this.#input.getBoundingClientRect();
    const height = this.#list.offsetHeight + 8;
    const isTight = field.bottom + height > Math.min(frame.bottom, innerHeight);
    this.#list.classList.toggle('is-above', isTight && field.top - frame.top > frame.bottom - field.bottom);
  }

  #key(event) {
    if (event.isComposing) return undefined;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return onKey(event, (next) => this.#commit(next), this.#options.cancel);
    const count = this.#found.length;
    if (count > 0) this.#chosen = (Math.max(this.#chosen, step < 0 ? 0 : -1) + step + count) % count;
    this.#draw();
    event.preventDefault();
    event.stopPropagation();
  }

  async #commit(step) {
    while (this.#searching) await this.#searching;
    if (this.element.isConnected) this.#take(this.#chosen, step);
  }

  #take(index, step) {
    const chosen = this.#found[index];
    if (!chosen || isSameID(chosen.id, this.#value)) this.#options.cancel(step);
    else this.#options.done(chosen.id, step);
  }
}
