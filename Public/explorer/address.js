// The request on show ↔ the page's address, so that a link leads to the same view.

const names = ['entity', 'where', 'sort', 'section', 'limit', 'offset', 'second'];

/** The request in the address; nothing where it names no entity. */
export function read() {
  const search = new URLSearchParams(location.search);
  if (!search.has('entity')) return null;
  return Object.fromEntries(names.map((name) => [name, search.get(name) ?? '']));
}

/** @param isStep whether going back leads to the request before. */
export function write(view, isStep) {
  const search = new URLSearchParams();
  for (const name of names) if (view[name]) search.set(name, view[name]);
  const target = `${location.pathname}?${search}`;
  if (target === location.pathname + location.search) return;
  history[isStep ? 'pushState' : 'replaceState'](null, '', target);
}

/** The first view of a model: the cities of the sample data, else the first entity as it is. */
export function initial(schema) {
  const city = schema.entity('City');
  if (city && schema.resolve('City', 'population') && schema.resolve('City', 'country.continent')) {
    return { entity: 'City', where: 'population >= 1000000', section: 'country.continent',
      sort: '-population', limit: '', offset: '', second: '' };
  }
  return blank(schema, schema.entities[0]?.name ?? '');
}

/** Every object of an entity, which need not exist. */
export function blank(schema, entity) {
  const isKnown = schema.entity(entity) !== undefined;
  const section = isKnown && schema.kind(entity).length > 0 ? 'entity' : '';
  const sort = isKnown ? schema.label(entity) ?? '' : '';
  return { entity, where: '', section, sort, limit: '', offset: '', second: '' };
}

/** The view as a fetch request of the API. */
export function request(view, schema) {
  const related = schema.toOne(view.entity).map(({ name }) => name);
  const number = (text) => (text === '' || text == null ? undefined : Number(text));
  return { entity: view.entity, where: view.where.trim(), section: view.section, sort: view.sort,
    limit: number(view.limit), offset: number(view.offset), expand: related };
}
