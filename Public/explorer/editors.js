// The editors of a cell: a field, a choice, or a search among the objects of a relationship.
//
// Promise: an editor that is opened and left as it was stages nothing, whatever the value is.

import { h } from './dom.js';
import { RelatedEditor } from './related-editor.js';
import { choiceField, choices, ValueField } from './value-field.js';

/**
 * An editor for a column: `{element, focus(), finish()}`. `done(value, step)` ends it with another value,
 * `cancel(step)` without one; `finish()` ends it with what was typed, by `lost(text)` if that is no value; `step` is 1 for the next cell, -1 for the one before.
 */
export function editor(column, value, options) {
  if (column.type === 'relationship') return new RelatedEditor(column, value, options);
  if (column.type === 'boolean') return choiceEditor(column, value, options);
  return fieldEditor(column, value, options);
}

function fieldEditor(column, value, { done, cancel, lost }) {
  const field = new ValueField(column, value);
  const { element } = field;
  const commit = (step, refused = () => {}) => {
    try {
      const changed = field.read();
      if (changed) done(changed.value, step);
      else cancel(step);
    } catch (error) {
      field.refuse(error.message);
      refused(field.input.value);
    }
  };
  element.addEventListener('keydown', (event) => field.key(event) || onKey(event, commit, cancel));
  element.addEventListener('focusout', ({ relatedTarget }) => {
    if (element.isConnected && !element.contains(relatedTarget)) commit(0);
  });
  return { element, focus: () => field.focus(), finish: () => commit(0, lost) };
}

function choiceEditor(column, value, { done, cancel }) {
  const offered = choices(column, value);
  const select = choiceField(column, value, offered);
  const commit = (step) => {
    const chosen = offered[Number(select.value)][0];
    if (chosen === (value ?? null)) cancel(step);
    else done(chosen, step);
  };
  select.addEventListener('keydown', (event) => onKey(event, commit, cancel));
  select.addEventListener('blur', () => select.isConnected && commit(0));
  return { element: h('div', {}, select), focus: () => select.focus(), finish: () => commit(0) };
}

/** Enter and Tab end an editor with its value, Escape without. Shift Enter is a line break. */
export function onKey(event, commit, cancel) {
  const { key } = event;
  if (event.isComposing) return;
  if (key === 'Enter' && !event.shiftKey) commit(0);
  else if (key === 'Tab') commit(event.shiftKey ? -1 : 1);
  else if (key === 'Escape') cancel(0);
  else return;
  event.preventDefault();
  event.stopPropagation();
}
