// The control for a value: a text area for texts and JSON, a line for other types, a choice for a
// boolean; and a button for NULL, which is never an empty text.

import { h } from './dom.js';
import { editable, isNumeric, parse, show } from './format.js';

const MOST_HEIGHT = 220;

export class ValueField {
  /** The input or text area. */
  input;
  #column;
  #isText;
  #wasNull;
  /** The text that the control showed at first: a text area changes carriage returns. */
  #shown;
  #hasCRLF;
  #nullSwitch;
  #complaint = h('p', { class: 'complaint', role: 'alert', hidden: true });

  /** @param untouched what stands for a NULL that nobody has chosen: `NULL`, or what the database makes of it. */
  constructor(column, value, untouched) {
    this.#column = column;
    this.#isText = ['string', 'json'].includes(column.type);
    this.input = this.#isText ? h('textarea', { rows: 1, spellcheck: 'false' })
      : h('input', { inputmode: isNumeric(column.type) ? 'decimal' : null });
    this.input.setAttribute('aria-label', column.name);
    this.input.value = editable(value, column.type);
    this.#shown = this.input.value;
    this.#hasCRLF = typeof value === 'string' && value.includes('\r\n') && !/(^|[^\r])\n/.test(value);
    this.#wasNull = value === null || value === undefined;
    this.#nullSwitch = new NullSwitch(column, this.#wasNull, this.input, untouched);
    this.element = h('div', { class: 'field-editor' }, this.input, this.#nullSwitch.element, this.#complaint);
    if (this.#isText) this.input.addEventListener('input', () => this.grow());
  }

  get isChanged() {
    return this.#nullSwitch.isNull ? !this.#wasNull : this.#wasNull || this.input.value !== this.#shown;
  }

  /** The new value as `{value}`; nothing where it is unchanged. Throws a sentence. */
  read() {
    if (!this.isChanged) return undefined;
    return { value: this.#nullSwitch.isNull ? null : parse(this.#lineEnds(this.input.value), this.#column) };
  }

  /** A text area has LF only; a text whose lines all ended in CR LF keeps them. */
  #lineEnds(text) {
    return this.#hasCRLF ? text.replaceAll('\n', '\r\n') : text;
  }

  /** Shows why the text is not a value. */
  refuse(sentence) {
    this.input.classList.add('is-wrong');
    this.#complaint.textContent = sentence;
    this.#complaint.hidden = false;
  }

  /** Takes Alt N; whether it did. */
  key(event) {
    return this.#nullSwitch.key(event);
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

/** The button that makes a value NULL; typing makes it a value again. */
class NullSwitch {
  isNull;
  element;
  #field;
  #isOptional;
  /** What stands in the field while nobody has chosen NULL. */
  #untouched;

  constructor(column, isNull, field, untouched = 'NULL') {
    this.isNull = isNull;
    this.#untouched = untouched;
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
    this.#untouched = 'NULL';
    if (isNull) this.#field.value = '';
    this.#draw();
  }

  #draw() {
    this.element.setAttribute('aria-pressed', String(this.isNull));
    this.#field.placeholder = this.isNull ? this.#untouched : '';
  }
}

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
