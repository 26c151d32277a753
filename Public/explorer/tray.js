// The staged changes at the lower edge: their number, their details, save and discard.

import { h, replace, sentence } from './dom.js';
import { beginning, show } from './format.js';
import { own } from './json.js';
import { isGone } from './saving.js';

export class Tray {
  #parent;
  #handlers;
  #isOpen = false;
  #problem = null;
  #others = null;
  /** The changes of the save that was refused. */
  #refused = [];
  #notes = [];

  /** @param handlers `{onSave, onDiscard, onDrop(change), onOpen(change), onInsertAgain(change), nameOf(change), keyOf(entity), show(change, name, value)}`. */
  constructor(parent, handlers) {
    this.#parent = parent;
    this.#handlers = handlers;
  }

  /**
   * @param others the changes that a refusal does not name: `{count, save()}`, or null.
   * @param refused the changes that were sent, to which the errors of the problem refer.
   */
  complain(problem, others = null, refused = []) {
    this.#problem = problem;
    this.#others = others;
    this.#refused = refused;
    // Shows the typed values, also where their row is gone.
    if (problem?.errors.length > 0) this.#isOpen = true;
  }

  /** Forgets a complaint about a server that could not be reached; whether there was one. */
  forgetOutage() {
    if (this.#problem?.status !== 0) return false;
    this.complain(null);
    return true;
  }

  /** @param notes sentences beside the changes: `{text, actions: [[text, run]]}`. */
  show(list, isSaving = false, notes = this.#notes) {
    this.#notes = notes;
    this.#parent.hidden = list.length + notes.length === 0 && !isSaving;
    if (list.length === 0 && !isSaving) {
      this.#isOpen = false;
      this.#problem = null;
    }
    replace(this.#parent, list.length > 0 && this.#complaint(), this.#noteList(), this.#isOpen && this.#details(list),
      list.length > 0 ? this.#line(list, isSaving) : isSaving && saving());
  }

  #noteList() {
    const button = (action) => action && h('button', { class: 'text-button', onclick: action[1] }, action[0]);
    return this.#notes.length > 0 && h('div', { class: 'tray-notes', role: 'status' },
      h('ul', {}, this.#notes.map(({ text, actions }) => h('li', {}, text, actions.map(button)))));
  }

  #line(list, isSaving) {
    const turn = () => {
      this.#isOpen = !this.#isOpen;
      this.show(list, isSaving);
    };
    return h('div', { class: 'tray-line' },
      h('button', { class: 'text-button', onclick: turn, 'aria-expanded': String(this.#isOpen) },
        summary(list)),
      h('span', { class: 'tray-note' }, 'saved in one transaction'),
      h('button', { class: 'button', onclick: this.#handlers.onDiscard }, 'Discard'),
      h('button', { class: 'button primary', disabled: isSaving, onclick: this.#handlers.onSave },
        'Save', h('kbd', {}, 'Ctrl S')));
  }

  #complaint() {
    if (!this.#problem) return null;
    const { errors, message } = this.#problem;
    const lines = errors.length > 0 ? distinct(errors).map((error) => this.#error(error)) : [h('li', {}, sentence(message))];
    return h('div', { class: 'tray-problem', role: 'alert' }, h('ul', {}, lines,
      this.#others && h('li', {}, h('button', { class: 'text-button', onclick: this.#others.save },
        `Save the ${this.#others.count === 1 ? 'other one' : `other ${this.#others.count}`}`))));
  }

  /** An error of one change, with the row that it is about. */
  #error(error) {
    const { change: index, detail, property } = error;
    const change = this.#refused[index];
    const text = (detail ?? property).replace(/^`id` /, `\`${change ? this.#handlers.keyOf(change.entity) : 'id'}\` `);
    return h('li', {}, change && [this.#opener(change, change.kind === 'insert' ? 'New row ' : ''), ': '],
      sentence(text), change?.kind === 'update' && isGone(error) && h('button', { class: 'text-button insert-again',
      title: 'Stages the row as a new one, with the values that you saw and typed', onclick: () => this.#handlers.onInsertAgain(change) }, 'Insert it again'));
  }

  /** The name of a changed row, which shows the row. */
  #opener(change, before = '') {
    const label = change.kind === 'insert' ? 'Edit the new row' : 'Show the row';
    return h('button', { class: 'text-button what', type: 'button', title: label, onclick: () => this.#handlers.onOpen(change) },
      `${before}${this.#handlers.nameOf(change)}`);
  }

  #details(list) {
    return h('ul', { class: 'tray-list' }, list.map((change) => h('li', {},
      h('span', { class: `kind is-${change.kind}` }, change.kind),
      this.#opener(change),
      h('span', { class: 'values' }, this.#values(change)),
      h('button', { class: 'text-button undo', onclick: () => this.#handlers.onDrop(change) }, 'Undo'))));
  }

  #values({ kind, values = {}, base = {}, ...change }) {
    if (kind === 'delete') return '';
    return Object.entries(values).map(([name, value]) => h('span', { class: 'value' },
      h('span', { class: 'property-name' }, name),
      kind === 'update' && own(base, name) !== undefined && h('s', {}, this.#text(change, name, base[name])),
      h('b', {}, this.#text(change, name, value))));
  }

  #text(change, name, value) {
    return value === null ? 'NULL' : beginning(this.#handlers.show?.(change, name, value) ?? show(value));
  }
}

/** The errors without those that say the same: of a value, and of the one that it is based on. */
function distinct(errors) {
  return [...new Map(errors.map((error) => [`${error.change} ${error.detail ?? error.property}`, error])).values()];
}

/** The line while everything that was staged is being saved. */
const saving = () => h('div', { class: 'tray-line' }, h('span', { role: 'status' }, 'Saving …'));

function summary(list) {
  const count = (kind) => list.filter((change) => change.kind === kind).length;
  const parts = [['update', 'edited'], ['insert', 'new'], ['delete', 'to delete']]
    .map(([kind, word]) => [count(kind), word]).filter(([number]) => number > 0);
  return parts.map(([number, word]) => `${number} ${word}`).join(', ');
}
