// The control for a value: a text area for texts and JSON, a line for other types, a choice for a
// boolean; a button for NULL, which is never an empty text; and one for text or number, where the column
// has no type.

import { h } from './dom.js';
import { editable, isDigits, isNumeric, parse, show } from './format.js';
import { withLineEnds } from './line-ends.js';

const MOST_HEIGHT = 220;

export class ValueField {
  /** The input or text area. */
  input;
  #column;
  #isText;
  #wasNull;
  /** The text that the control showed at first: a text area changes carriage returns. */
  #shown;
  /** The text whose line ends the edited one keeps. */
  #stored;
  #nullSwitch;
  #kindSwitch;
  #complaint = h('p', { class: 'complaint', role: 'alert', hidden: true });

  /** @param ownDefault the name of the column's default; undefined if that is NULL. */
  constructor(column, value, ownDefault) {
    this.#column = column;
    this.#kindSwitch = column.untyped && column.type !== 'binary' ? new KindSwitch(column, value) : null;
    this.#isText = this.#kindSwitch !== null || ['string', 'json'].includes(column.type);
    this.input = this.#isText ? h('textarea', { rows: 1, spellcheck: 'false' })
      : h('input', { inputmode: isNumeric(column.type) ? 'decimal' : null });
    this.input.setAttribute('aria-label', column.name);
    this.input.value = editable(value, column.type);
    this.#shown = this.input.value;
    this.#stored = value;
    this.#wasNull = value === null || value === undefined;
    this.#nullSwitch = new NullSwitch(column, this.#wasNull, this.input, ownDefault);
    this.element = h('div', { class: 'field-editor' }, this.input, this.#kindSwitch?.element, this.#nullSwitch.element, this.#complaint);
    if (this.#isText) this.input.addEventListener('input', () => this.grow());
  }

  /** The content of the control as text: equal before and after if the user changed nothing. */
  get state() {
    return JSON.stringify([this.#nullSwitch.isNull, this.#nullSwitch.isChosen, this.#kindSwitch?.kind, this.input.value]);
  }

  /** Fills the control as if the value had been typed. */
  put(value) {
    this.#stored = value;
    this.#kindSwitch?.take(value);
    if (value === null) this.#nullSwitch.choose();
    else this.#nullSwitch.type(editable(value, this.#column.type));
  }

  get isChanged() {
    if (this.#nullSwitch.isNull) return !this.#wasNull || this.#nullSwitch.isChosen;
    return this.#wasNull || this.input.value !== this.#shown || this.#kindSwitch?.isChanged === true;
  }

  /** The new value as `{value}`; undefined if it is unchanged. Throws a sentence. */
  read() {
    if (!this.isChanged) return undefined;
    return { value: this.#nullSwitch.isNull ? null : this.#parsed };
  }

  get #parsed() {
    try {
      return parse(this.#lineEnds(this.input.value), this.#typed);
    } catch (error) {
      throw this.#kindSwitch ? new Error(`${error.message} “number” (Alt T) makes it a text.`) : error;
    }
  }

  /** The column, with the type of what is typed. */
  get #typed() {
    return this.#kindSwitch ? { ...this.#column, type: this.#kindSwitch.kind === 'number' ? 'decimal' : 'string' } : this.#column;
  }

  #lineEnds(text) {
    return this.#typed.type === 'string' && typeof this.#stored === 'string' ? withLineEnds(text, this.#stored) : text;
  }

  /** Shows why the text is not a value. */
  refuse(sentence) {
    this.input.classList.add('is-wrong');
    this.#complaint.textContent = sentence;
    this.#complaint.hidden = false;
    keepInTable(this.#complaint);
  }

  /** Takes Alt N and Alt T; whether it did. */
  key(event) {
    return this.#nullSwitch.key(event) || this.#kindSwitch?.key(event) === true;
  }

  focus() {
    this.input.focus();
    this.input.select();
    this.grow();
  }

  /** Makes a text area as high as its lines, up to ten. */
  grow() {
    if (!this.#isText) return;
    this.input.style.height = 'auto';
    this.input.style.height = `${Math.min(this.input.scrollHeight, MOST_HEIGHT)}px`;
  }
}

/** Moves the sentence below a cell to the left, or above the cell, if the edge of the table would cut it. */
function keepInTable(complaint) {
  const table = complaint.closest('.grid');
  if (!table) return;
  complaint.style.left = '0';
  complaint.classList.remove('is-above');
  const { left, top } = table.getBoundingClientRect();
  const { right, bottom } = complaint.getBoundingClientRect();
  complaint.style.left = `${Math.min(0, left + table.clientWidth - right)}px`;
  complaint.classList.toggle('is-above', bottom > top + table.clientHeight);
}

/**
 * The button that makes a value NULL; typing makes it a value again. A new row whose database has a default
 * has three: a value, NULL, and neither.
 */
class NullSwitch {
  isNull;
  /** True if NULL was chosen in place of the default. */
  isChosen = false;
  element;
  #field;
  #isOptional;
  /** The name of what the database makes of neither; nothing where that is NULL. */
  #default;

  constructor(column, isNull, field, ownDefault) {
    this.isNull = isNull;
    this.#default = ownDefault;
    this.#isOptional = column.optional === true;
    this.#field = field;
    this.element = h('button', { class: 'null-switch', type: 'button', tabindex: -1,
      hidden: !this.#isOptional && (!isNull || ownDefault !== undefined), title: 'NULL (Alt N)', onclick: () => this.#toggle() }, 'NULL');
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

  choose() {
    this.#set(true, this.#default !== undefined);
  }

  type(text) {
    this.#field.value = text;
    this.#set(false);
  }

  #toggle() {
    if (this.#default && this.isNull) this.#set(true, !this.isChosen);
    else if (this.isNull) this.#set(false);
    else this.choose();
    this.#field.focus();
  }

  #set(isNull, isChosen = false) {
    if (isNull && !this.isNull) this.#field.value = '';
    this.isNull = isNull;
    this.isChosen = isNull && isChosen;
    this.#draw();
  }

  #draw() {
    const isDefault = this.#default !== undefined && !this.isChosen;
    this.element.setAttribute('aria-pressed', String(this.isNull && !isDefault));
    this.#field.placeholder = this.isNull ? (isDefault ? this.#default : 'NULL') : '';
  }
}

/** The button that says whether a value is a text or a number, and changes it. */
class KindSwitch {
  kind;
  element;
  #name;
  #first;

  constructor({ name, type }, value) {
    this.#name = name;
    this.kind = value === null || value === undefined ? (isNumeric(type) ? 'number' : 'text') : kindOf(value, type);
    this.#first = this.kind;
    this.element = h('button', { class: 'null-switch kind-switch', type: 'button', tabindex: -1, title: 'text or number (Alt T)',
      onclick: () => this.#toggle() });
    this.#draw();
  }

  get isChanged() {
    return this.kind !== this.#first;
  }

  take(value) {
    if (value !== null) this.kind = kindOf(value);
    this.#draw();
  }

  /** Takes Alt T. */
  key(event) {
    if (!event.altKey || event.code !== 'KeyT') return false;
    this.#toggle();
    event.preventDefault();
    event.stopPropagation();
    return true;
  }

  #toggle() {
    this.kind = this.kind === 'text' ? 'number' : 'text';
    this.#draw();
  }

  #draw() {
    this.element.textContent = this.kind;
    this.element.setAttribute('aria-label', `${this.#name} is a ${this.kind}`);
  }
}

/** What a value of a column without a type is stored as. Integers that JavaScript's numbers cannot hold come as texts. */
export const kindOf = (value, type) => (typeof value === 'string' && !(type === 'integer' && isDigits(value) && !Number.isSafeInteger(Number(value)))
  ? 'text' : 'number');

/**
 * The choices of a boolean: `[value, name]`. A stored value that is neither true nor false is a
 * choice as well, so that it can stay.
 */
export function choices(column, value) {
  const list = [[true, 'yes'], [false, 'no'], ...(column.optional ? [[null, 'NULL']] : [])];
  if (!list.some(([choice]) => choice === (value ?? null))) {
    list.push([value ?? null, value === null ? 'NULL' : show(value, 'boolean')]);
  }
  return list;
}

export function choiceField(column, value, offered) {
  return h('select', { 'aria-label': column.name }, offered.map(([choice, name], index) =>
    h('option', { value: index, selected: choice === (value ?? null) }, name)));
}
