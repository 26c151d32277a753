// Dialogs: a new object, a conflict side by side, a question, the shortcuts.

import { h } from './dom.js';
import { parse } from './format.js';
import { own } from './json.js';
import { searchButton } from './related-editor.js';
import { choices, ValueField } from './value-field.js';
import { datePicker } from './date-picker.js';

export function openDialog(className, title, ...content) {
  const dialog = h('dialog', { class: `dialog ${className}`, 'aria-label': title },
    h('h2', {}, title), content);
  dialog.addEventListener('close', () => dialog.remove());
  // A press in its padding and a selection that ends outside have the dialog as target as well.
  let isOutside = false;
  dialog.addEventListener('pointerdown', (event) => { isOutside = event.target === dialog && !contains(dialog, event); });
  dialog.addEventListener('click', (event) => {
    const isCancelled = isOutside && event.target === dialog && !contains(dialog, event)
      && dialog.dispatchEvent(new Event('cancel', { cancelable: true }));
    if (isCancelled) dialog.close();
  });
  document.getElementById('dialogs').append(dialog);
  dialog.showModal();
  return dialog;
}

function contains(element, { clientX: x, clientY: y }) {
  const { left, right, top, bottom } = element.getBoundingClientRect();
  return x >= left && x <= right && y >= top && y <= bottom;
}

const button = (text, onclick, kind = '') =>
  h('button', { class: `button ${kind}`, onclick, type: 'button' }, text);

/** Asks; resolves to whether the answer is yes. */
export function ask(title, text, yes) {
  return new Promise((resolve) => {
    const answer = (value) => { resolve(value); dialog.close(); };
    const dialog = openDialog('question', title, h('p', {}, text), h('div', { class: 'dialog-actions' },
      button('Cancel', () => answer(false)), button(yes, () => answer(true), 'primary')));
    dialog.addEventListener('close', () => resolve(false));
  });
}

/**
 * The fields of a new object; `add(values)` stages it. A key that is left empty is the database's to make.
 *
 * @param options `given`: the values of one that is staged, which the fields begin with.
 */
export function insertDialog(entity, columns, { add, search, nameOf, given = {} }) {
  const hasParts = columns.some(({ keyPart }) => keyPart);
  const key = columns.filter(({ isID }) => isID).map((column) => ({ ...column, hasParts, optional: hasParts || !column.isNeeded }));
  const others = columns.filter((column) => !column.readOnly && !column.isID);
  const writable = key.some(({ type, isNeeded }) => isNeeded || type !== 'integer') ? [...key, ...others] : [...others, ...key];
  const fields = writable.map((column) => (column.type === 'relationship'
    ? relatedField(column, own(given, column.name), { search, nameOf })
    : column.type === 'boolean' ? booleanField(column, own(given, column.name)) : valueField(column, own(given, column.name))));
  const complaint = h('p', { class: 'complaint', role: 'alert', hidden: true });
  const submit = (event) => {
    event.preventDefault();
    const values = Object.assign(Object.create(null), given);
    const wrong = fields.map((field) => [field, refusal(field, values)]).filter(([, sentence]) => sentence);
    complaint.textContent = wrong.map(([, sentence]) => sentence).join('\n');
    complaint.hidden = wrong.length === 0;
    if (wrong.length > 0) return wrong[0][0].focus();
    add(values);
    return dialog.close();
  };
  const form = h('form', { onsubmit: submit }, fields.map(({ element }) => element), complaint,
    h('div', { class: 'dialog-actions' }, button('Cancel', () => dialog.close()),
      h('button', { class: 'button primary', type: 'submit' }, 'Add to the save')));
  const dialog = openDialog('insert', `New ${entity}`, form);
  fields.forEach((field) => field.grow?.());
  fields[0]?.focus();
  dialog.addEventListener('cancel', async (event) => {
    if (!fields.some(({ isFilled }) => isFilled())) return;
    event.preventDefault();
    if (event.isTrusted && await ask('Discard the new row?', 'What you have typed is lost.', 'Discard')) dialog.close();
  });
}

/** Reads a field into `values`; the sentence that refuses it, if there is one. */
function refusal(field, values) {
  try {
    field.read(values);
    return null;
  } catch (error) {
    return `${field.name}: ${error.message}`;
  }
}

function labelled(column, control) {
  const type = column.untyped ? 'without a type' : column.type;
  const note = column.optional || column.default ? type : `${type}, required`;
  return h('div', { class: 'dialog-field' }, h('span', {}, column.label ?? column.name, h('small', {}, note)), control);
}

/** A field is left out of the values while it is untouched; that of a required column is read in any case. */
function valueField(column, given) {
  const ownDefault = column.hasParts ? 'from its parts' : column.isID ? (column.isNeeded ? undefined : 'assigned') : column.keyPart ? 'from the key' : column.default ? 'default' : undefined;
  const field = new ValueField(column, column.optional ? null : '', ownDefault);
  field.input.name = column.name;
  if (given !== undefined) field.put(given);
  const { state } = field;
  const read = (values) => {
    delete values[column.name];
    const changed = field.read();
    if (changed) values[column.name] = changed.value;
    else if (column.isNeeded && !column.hasParts) throw new Error('A key is required: the database makes none.');
    else if (!column.optional && !column.default) values[column.name] = parse('', column);
  };
  field.element.addEventListener('keydown', (event) => {
    if (field.key(event) || event.isComposing || event.key !== 'Enter' || event.shiftKey || event.target !== field.input) return;
    event.preventDefault();
    field.input.form.requestSubmit();
  });
  const picker = column.type === 'date' && datePicker(column, field.input, () => {});
  return { name: column.label ?? column.name, element: labelled(column, h('div', { class: 'row-control batch-value' }, field.element, picker)), read,
    isFilled: () => field.state !== state, focus: () => field.focus(), grow: () => field.grow() };
}

/** A choice; without one the database decides, where it can. */
function booleanField(column, given) {
  const unset = column.default ? 'default' : column.optional ? null : 'choose …';
  const offered = [...(unset === null ? [] : [[undefined, unset]]), ...choices(column, given === undefined ? true : given)];
  const first = given === undefined && unset === null ? null : given;
  const select = h('select', { name: column.name, 'aria-label': column.name },
    offered.map(([choice, name], index) => h('option', { value: index, selected: choice === first }, name)));
  const start = select.value;
  return { name: column.name, element: labelled(column, h('div', { class: 'row-control' }, select)),
    isFilled: () => select.value !== start, focus: () => select.focus(),
    read: (values) => {
      delete values[column.name];
      const [chosen] = offered[Number(select.value)];
      if (chosen === undefined && !column.optional && !column.default) throw new Error('Choose yes or no.');
      if (chosen !== undefined && (chosen !== null || first !== null)) values[column.name] = chosen;
    } };
}

function relatedField(column, given, options) {
  let chosen = given;
  const text = h('button', { class: 'field related-value', type: 'button' });
  const show = () => {
    const name = chosen === undefined ? 'choose …' : options.nameOf(column.destination, chosen) ?? String(chosen ?? 'NULL');
    text.textContent = name;
    text.setAttribute('aria-label', chosen === undefined ? column.name : `${column.name}: ${name}`);
  };
  const holder = searchButton(text, column, () => chosen, { ...options, done: (id) => { chosen = id; show(); } });
  show();
  return { name: column.name, element: labelled(column, holder), isFilled: () => chosen !== given, focus: () => text.focus(),
    read: (values) => {
      if (chosen !== undefined) values[column.name] = chosen;
      else if (column.optional === false && !column.keyPart) throw new Error('Choose a row.');
    } };
}

/**
 * Somebody else saved in between: what was seen, what is stored, what is wanted, side by side.
 *
 * @param conflicts `{title, property, seen, stored, given}`; `given` of a deletion is its name.
 * @param options `resolve(conflicts)` gets them with `keepsMine`; `show(conflict, value)` gives the text of a value.
 */
export function conflictDialog(conflicts, { resolve, discard, show }) {
  const rows = conflicts.map((conflict, index) => conflictRow(conflict, index, show));
  const dialog = openDialog('conflict', 'Somebody else changed this',
    h('p', {}, 'Nothing was saved. Choose for each value which one is to stay.'),
    h('div', { class: 'conflict-table' },
      h('span', {}, ''), h('span', {}, 'you saw'), h('span', {}, 'stored now'), h('span', {}, 'yours'),
      rows),
    h('div', { class: 'dialog-actions' },
      button('Later', () => dialog.close()),
      button('Discard mine', () => { dialog.close(); discard(); }, 'danger'),
      h('button', { class: 'button primary', type: 'button', autofocus: true,
        onclick: () => { dialog.close(); resolve(conflicts); } }, 'Save')));
}

function conflictRow(conflict, index, show) {
  const { title, property, seen, stored, given, change } = conflict;
  const text = (value) => (value === null || value === undefined ? 'NULL' : value === '' ? 'empty text' : show(conflict, value));
  const choice = (value, isMine) => h('label', { class: 'conflict-choice' },
    h('input', { type: 'radio', name: `conflict-${index}`, checked: isMine === conflict.keepsMine,
      onchange: () => { conflict.keepsMine = isMine; } }), value);
  conflict.keepsMine ??= true;
  return [h('span', { class: 'conflict-name' }, h('b', {}, title), property),
    h('span', { class: 'conflict-seen' }, text(seen)), choice(text(stored), false), choice(change.kind === 'delete' ? given : text(given), true)];
}

const shortcuts = [
  ['/', 'search and filter'], ['Ctrl Space', 'complete'], ['↑ ↓ ← →', 'move between the cells'],
  ['Enter', 'edit the cell'], ['Tab', 'next cell'], ['Shift Enter', 'a line break'], ['Alt N', 'NULL'], ['Alt T', 'text or number, where a column has no type'],
  ['Esc', 'leave the cell as it was'], ['Alt Click', 'filter by a value'], ['Shift F10', 'the menu of the cell'],
  ['Space', 'the row in full'], ['Del', 'delete or restore the row'], ['N', 'new row'], ['Ctrl S', 'save the staged changes'],
  ['[ ]', 'previous, next section'], ['?', 'this list']];

export function helpDialog() {
  const dialog = openDialog('help', 'Keyboard',
    h('dl', {}, shortcuts.map(([keys, text]) => [
      h('dt', {}, keys.split(' ').map((key) => h('kbd', {}, key))), h('dd', {}, text)])),
    h('div', { class: 'dialog-actions' }, button('Close', () => dialog.close())));
}
