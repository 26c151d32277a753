// A place in a predicate → what could be written there.

import { connectives, context, operators, quantifiers } from './predicate-language.js';
import { nameText, pathOf } from './predicate-text.js';

const MOST = 60;

/**
 * Completions at the caret: `{start, items: [{insert, about, isOpen}]}`; after `isOpen` ones the text is completed further.
 *
 * @param values gives texts seen at a key path, to complete a comparison with.
 */
export function complete(text, caret, { schema, entity, values }) {
  const place = context(text, caret);
  const candidates = {
    operand: () => operands(schema, entity, place.partial),
    operator: () => operatorsOf(schema, entity, place.path),
    value: () => literals(schema, entity, place.path, values),
    connective: () => connectives.map((word) => ({ insert: `${word} `, about: '' })),
    nothing: () => [],
  }[place.expects]();
  const wanted = place.partial.toLowerCase();
  const items = candidates.filter(({ insert }) => matches(insert.toLowerCase(), wanted));
  const isDone = items.length === 1 && items[0].insert.trim().toLowerCase() === wanted;
  return { start: place.start, items: isDone && !items[0].isOpen ? [] : items.slice(0, MOST) };
}

const matches = (insert, wanted) =>
  insert.startsWith(wanted) || insert.replace(/^#?["']/, '').startsWith(wanted.replace(/^["']/, ''));

/** Key paths one step further than what is written, and words that begin a comparison. */
function operands(schema, entity, partial) {
  const steps = partial.split('.').slice(0, -1);
  const home = steps.length === 0 ? entity : schema.resolve(entity, pathOf(steps.join('.')))?.entity;
  const prefix = steps.map((step) => `${step}.`).join('');
  if (!home) return [];
  const { attributes, relationships } = schema.entity(home);
  const own = attributes.map(({ name, type }) => ({ insert: `${prefix}${written(name)} `, about: type }));
  const related = relationships.map(({ name, destination, toMany }) => ({
    insert: toMany ? `${prefix}${written(name)}.@count ` : `${prefix}${written(name)}.`,
    about: toMany ? `how many ${destination}` : destination, isOpen: !toMany }));
  return steps.length > 0 ? [...own, ...related] : [...own, ...related, ...beginnings(relationships)];
}

/** A name as it may be typed: a reserved word is completed without its escape. */
const written = (name) => (/^#\w/.test(nameText(name)) ? name : nameText(name));

function beginnings(relationships) {
  const toMany = relationships.filter((relationship) => relationship.toMany);
  const some = toMany.flatMap(({ name, destination }) => quantifiers.slice(0, 1).concat('NONE').map(
    (word) => ({ insert: `${word} ${written(name)}.`, about: `of its ${destination}`, isOpen: true })));
  return [...some, { insert: 'NOT ', about: 'the opposite' }, { insert: '(', about: 'group' }];
}

function operatorsOf(schema, entity, path = '') {
  const type = typeAt(schema, entity, path);
  return operators(type).map(([symbol, about]) => ({
    insert: /[{ ]$/.test(symbol) ? symbol : `${symbol} `, about, isOpen: true }));
}

function typeAt(schema, entity, path) {
  if (path.endsWith('@count')) return 'integer';
  const found = schema.resolve(entity, pathOf(path));
  return found?.relationship ? 'relationship' : found?.attribute?.type ?? 'integer';
}

function literals(schema, entity, path = '', values) {
  const found = schema.resolve(entity, pathOf(path));
  const type = typeAt(schema, entity, path);
  const list = type === 'boolean' ? ['TRUE', 'FALSE'].map((insert) => ({ insert, about: '' })) : [];
  const seen = type === 'string'
    ? values(pathOf(path)).map((value) => ({ insert: quote(value), about: 'seen here' })) : [];
  const nil = found?.attribute?.optional === false ? [] : [{ insert: 'NULL', about: 'no value' }];
  return [...list, ...seen, ...nil].map((item) => ({ ...item, insert: `${item.insert} ` }));
}

const quote = (value) => `'${value.replace(/[\\']/g, '\\$&')}'`;
