// What edits a cell: a field, a choice, or a search among the objects of a relationship.
//
// Promise: an editor that is opened and left as it was stages nothing, whatever the value is.

import { h } from './dom.js';
import { editable, parse, show } from './format.js';
import { RelatedEditor } from './related-editor.js';

/**
 * An editor for a column: `{element, focus()}`. `done(value, step)` ends it with another value,
 * `cancel(step)` without one; `step` is 1 for the next cell, -1 for the one before.
 */
export function editor(column, value, options) {
  if (column.type === 'relationship') return new RelatedEditor(column, value, options);
  if (column.type === 'boolean') return choiceEditor(column, value, options);
  return fieldEditor(column, value, options);
}

/** A text area for texts and JSON, a line for other values; and NULL beside it. */
function fieldEditor(column, value, { done, cancel }) {
  const isText = ['string', 'json'].includes(column.type);
  const field = isText ? h('textarea', { rows: 1, spellcheck: 'false' }) : h('input', {
    inputmode: ['integer', 'double', 'decimal'].includes(column.type) ? 'decimal' : null });
  field.setAttribute('aria-label', column.name);
  field.value = editable(value, column.type);
  // A text area shows some texts otherwise than they are, as one with carriage returns.
  const shown = field.value;
  const wasNull = value === null || value === undefined;
  const complaint = h('p', { class: 'complaint', role: 'alert', hidden: true });
  const nullSwitch = new NullSwitch(column, wasNull, field);
  const refuse = (sentence) => {
    field.classList.add('is-wrong');
    complaint.textContent = sentence;
    complaint.hidden = false;
  };
  const commit = (step) => {
    if (nullSwitch.isNull ? wasNull : !wasNull && field.value === shown) return cancel(step);
    if (nullSwitch.isNull) return done(null, step);
    try {
      done(parse(field.value, column), step);
    } catch (error) {
      refuse(error.message);
    }
  };
  const element = h('div', { class: 'field-editor' }, field, nullSwitch.element, complaint);
  element.addEventListener('keydown', (event) => nullSwitch.key(event) || onKey(event, commit, cancel));
  element.addEventListener('focusout', ({ relatedTarget }) => {
    if (element.isConnected && !element.contains(relatedTarget)) commit(0);
  });
  if (isText) field.addEventListener('input', () => grow(field));
  return { element, focus: () => { field.focus(); field.select(); if (isText) grow(field); } };
}

/** As high as its lines, up to ten. */
function grow(area) {
  area.style.height = 'auto';
  area.style.height = `${Math.min(area.scrollHeight, 220)}px`;
}

/** The button that makes a value NULL; typing makes it a value again. */
class NullSwitch {
  isNull;
  element;
  #field;
  #isOptional;

  constructor(column, isNull, field) {
    this.isNull = isNull;
    this.#isOptional = column.optional === true;
    this.#field = field;
    this.element = h('button', { class: 'null-switch', type: 'button', tabindex: -1,
      hidden: !this.#isOptional && !isNull, title: 'NULL (Alt N)', onclick: () => this.#toggle() }, 'NULL');
    field.addEventListener('input', () => this.#set(false));
    this.#draw();
  }

  /** Takes Alt N. */
  key(event) {
    if (!event.altKey || event.code !== 'KeyN' || !this.#isOptional) return false;
    this.#toggle();
    event.preventDefault();
    event.stopPropagation();
    return true;
  }

  #toggle() {
    this.#set(!this.isNull);
    this.#field.focus();
  }

  #set(isNull) {
    if (this.isNull === isNull) return;
    this.isNull = isNull;
    if (isNull) this.#field.value = '';
    this.#draw();
  }

  #draw() {
    this.element.setAttribute('aria-pressed', String(this.isNull));
    this.#field.placeholder = this.isNull ? 'NULL' : '';
  }
}

/** A value that is neither of the usual ones is a choice as well, so that it can stay. */
function choiceEditor(column, value, { done, cancel }) {
  const choices = [[true, 'yes'], [false, 'no'], ...(column.optional ? [[null, 'NULL']] : [])];
  if (!choices.some(([choice]) => choice === (value ?? null))) {
    choices.push([value ?? null, value === null ? 'NULL' : show(value, 'boolean')]);
  }
  const select = h('select', { 'aria-label': column.name }, choices.map(([choice, name], index) =>
    h('option', { value: index, selected: choice === (value ?? null) }, name)));
  const commit = (step) => {
    const chosen = choices[Number(select.value)][0];
    if (chosen === (value ?? null)) cancel(step);
    else done(chosen, step);
  };
  select.addEventListener('keydown', (event) => onKey(event, commit, cancel));
  select.addEventListener('blur', () => select.isConnected && commit(0));
  return { element: h('div', {}, select), focus: () => select.focus() };
}

/** Enter and Tab end an editor with its value, Escape without. Shift Enter is a line break. */
export function onKey(event, commit, cancel) {
  const { key } = event;
  if (key === 'Enter' && !event.shiftKey) commit(0);
  else if (key === 'Tab') commit(event.shiftKey ? -1 : 1);
  else if (key === 'Escape') cancel(0);
  else return;
  event.preventDefault();
  event.stopPropagation();
}
