// The displayed request ↔ the page's URL, so that a link leads to the same view.

import { own } from './json.js';
import { span } from './row-window.js';
import { sortTerms } from './sort-terms.js';

const names = ['entity', 'where', 'sort', 'section', 'limit', 'offset', 'second',
  'group', 'values', 'having', 'order', 'chart'];
const empty = Object.fromEntries(names.map((name) => [name, '']));

/** The longest address, in characters: servers refuse longer ones. */
const LONGEST = 6000;

/** The request in the URL; null if the URL has no `entity`. */
export function read() {
  const search = new URLSearchParams(location.search);
  if (!search.has('entity')) return null;
  return Object.fromEntries(names.map((name) => [name, search.get(name) ?? own(history.state, name) ?? '']));
}

/** A filter that is too long for the URL is kept in the browser's history. @param isStep true to add an entry to it. */
export function write(view, isStep) {
  const search = new URLSearchParams();
  for (const name of names) if (view[name]) search.set(name, view[name]);
  const isLong = `${search}`.length > LONGEST && search.has('where');
  if (isLong) search.delete('where');
  const state = isLong ? { where: view.where } : null;
  const target = `${location.pathname}?${search}`;
  if (target === location.pathname + location.search && own(state, 'where') === own(history.state, 'where')) return;
  history[isStep ? 'pushState' : 'replaceState'](state, '', target);
}

/** The first view of a model: the cities of the sample data, else the first entity as it is. */
export function initial(schema) {
  const city = schema.entity('City');
  if (city && schema.resolve('City', 'population') && schema.resolve('City', 'country.continent')) {
    return { ...empty, entity: 'City', where: 'population >= 1000000', section: 'country.continent',
      sort: '-population' };
  }
  return blank(schema, schema.entities[0]?.name ?? '');
}

/** Every object of an entity, which need not exist. */
export function blank(schema, entity) {
  const isKnown = schema.entity(entity) !== undefined;
  const section = isKnown && schema.kind(entity).length > 0 ? 'entity' : '';
  const sort = isKnown ? schema.label(entity) ?? '' : '';
  return { ...empty, entity, section, sort };
}

/**
 * A window of the view as a fetch request of the API.
 *
 * @param where the predicate.
 * @param window `{offset, size}`, counted from the view's own offset.
 */
export function request(view, where, schema, { offset, size }) {
  const { base, most } = span(view);
  // A negative limit is sent as it is: the server refuses it.
  return { entity: view.entity, where, section: view.section, sort: sortTerms(view.sort),
    limit: most < 0 ? most : Math.max(0, Math.min(size, most - offset)), offset: base + offset || undefined,
    count: 'exact', expand: schema.expanded(view.entity) };
}
