// The notes in the table's place when there are no rows: the reason, and the next step.

import { randomText } from '../livefetch/pages.js';
import { curlInsert } from './curl.js';
import { h, sentence } from './dom.js';
import { codeBlock } from './inspector.js';
import { rowCount } from './row-window.js';

const create = "sqlite3 FILE 'CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT)'";

function note(title, ...content) {
  return h('div', { class: 'empty' }, h('strong', {}, title), content);
}

/** True if the server has ended a query at its time limit. */
export const isTooSlow = ({ code }) => code === 'query-timeout';

export const slowAdvice = 'An index on the columns of the filter and the order helps, or BEGINSWITH in place of CONTAINS,'
  + ' or a server with a longer --query-timeout';

export const tryAgain = (run) => h('button', { class: 'text-button again', type: 'button', onclick: run }, 'Try again');

export function refusedNote(error) {
  return note(isTooSlow(error) ? 'This query takes too long' : 'The server refused this request',
    h('p', {}, error.offset === undefined ? sentence(error.message) : 'The mark in the field above shows where.'));
}

/** The table of the view does not exist: `go(name)` shows another one. */
export function missingTableNote(name, schema, go) {
  if (schema.entities.length === 0) {
    return note('This database has no tables yet',
      h('p', {}, 'A table appears here as soon as it exists. In a terminal:'), codeBlock(create));
  }
  return note(`There is no table ${name}`,
    h('p', {}, 'It was dropped or renamed, or the link is of another database. The tables are:'),
    h('p', { class: 'choices-in-note' }, schema.entities.map((entity) =>
      h('button', { class: 'button', onclick: () => go(entity.name) }, entity.name))));
}

/**
 * The note for a result without rows; null for one with rows.
 *
 * @param options `isLive`; `clear()` removes the predicate; `insert()` opens the form for a new
 * row, and is null where none can be added.
 */
export function emptyNote(result, { view, schema }, { isLive, clear, insert }) {
  if (!result?.sections || result.sections.some(({ items }) => items.length > 0)) return null;
  if (rowCount(view, result.total) > 0) return null;
  if (view.where || Number(view.offset) > 0 || view.limit === '0') {
    return note('Nothing matches',
      isLive && h('p', {}, 'A row that starts to match later appears here by itself.'),
      view.where && h('button', { class: 'button', onclick: clear }, 'Clear the filter'));
  }
  return note(`${view.entity} has no rows yet`,
    isLive && h('p', {}, 'Rows appear here as soon as they are saved, by any program.'),
    insert && [h('button', { class: 'button primary', onclick: insert }, `New ${view.entity}`),
      h('p', {}, 'Or in a terminal:'), codeBlock(curlInsert(view.entity, exampleValues(schema, view.entity)))]);
}

const examples = { string: 'text', integer: 1, double: 1.5, decimal: 1.5, boolean: true,
  date: '2030-01-31T12:00:00Z', binary: 'AAECAw==', uri: 'https://example.org/', json: {} };

/** Values that a new row may have: those that it needs, else the one it is known by. */
function exampleValues(schema, entity) {
  const { attributes, idType } = schema.entity(entity);
  const writable = attributes.filter(({ readOnly }) => !readOnly);
  const needed = writable.filter((attribute) => !attribute.optional && !attribute.default);
  const label = writable.filter(({ name }) => name === schema.label(entity));
  const shown = needed.length > 0 ? needed : label;
  const id = idType === 'string' ? { id: 'new' } : {};
  return { ...id, ...Object.fromEntries(shown.map(({ name, type }) => [name, example(type)])) };
}

/** `crypto.randomUUID` is not there on pages without HTTPS. */
function randomUUID() {
  const [one, two] = [randomText(), randomText()];
  return `${one.slice(0, 8)}-${one.slice(8, 12)}-4${one.slice(13, 16)}-a${one.slice(17, 20)}-${two.slice(0, 12)}`;
}

const example = (type) => (type === 'uuid' ? randomUUID() : examples[type] ?? null);
