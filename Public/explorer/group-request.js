// Groups of a view ↔ a fetch of dictionaries. A view holds them as text: `group` (key paths, with
// `:day`, `:month` or `:year` for that part of a date), `values` (aggregates), `having`, `order`, `chart`.

import { isNumeric } from './format.js';
import { equals, pathText, quoted } from './predicate-text.js';

/** The most groups that are shown. */
export const MOST = 1000;
const parts = ['day', 'month', 'year'];

const list = (text) => text.split(',').filter(Boolean);

/** A name as an alias of the API: letters, digits and `_`. */
const plain = (path) => path.replaceAll(/[^\p{L}\p{N}_]/gu, '_');

/** The columns by which a view groups: `{text, path, alias, type, part, select}`. */
export function groupColumns(view, schema) {
  return list(view.group).map((text) => {
    const [path, part] = text.split(':');
    const type = schema.resolve(view.entity, path)?.attribute?.type;
    if (!parts.includes(part)) return { text, path, alias: path, type, select: path };
    const alias = `${plain(path)}_${part}`;
    return { text, path, alias, type: 'string', part, select: `${alias}:${path}:${part}` };
  });
}

/** A group of a link that there is no way to: dates are grouped by days, months and years. */
export const unknownGroup = (view) => list(view.group).find((text) => /:(?!(?:day|month|year)$)/.test(text));

/** True for a name that may stand in these texts. */
const isListed = (path) => !/[,:]/.test(path);

/** The aggregates of a view: `{text, alias, name, type, select}`. */
export function valueColumns(view, schema) {
  const texts = list(view.values).filter((text) => /^@\w/.test(text));
  return (texts.length > 0 ? texts : ['@count']).map((text) => {
    const [, kind, path = ''] = /^@(\w+)\.?(.*)$/.exec(text);
    const isDifferent = kind === 'distinctUnionOfObjects';
    const subject = path.replace(/\.@count$/, '');
    const word = isDifferent ? 'different' : kind;
    const alias = subject === '' ? word : `${word}_${plain(subject)}`;
    const found = schema.resolve(view.entity, subject)?.attribute?.type;
    const type = ['min', 'max', 'sum'].includes(kind) ? found : 'double';
    const written = subject === '' ? text : text.replace(subject, () => pathText(subject));
    return { text, alias, type, select: `${alias}:${written}`, name: subject === '' ? word : `${word} of ${subject}` };
  });
}

/** The columns that a view may group by: attributes, those of to-one relationships, parts of dates. */
export function groupChoices(view, schema) {
  return schema.paths(view.entity).filter(({ path, type }) => isListed(path) && schema.resolve(view.entity, path) && !['binary', 'json'].includes(type))
    .flatMap(({ path, type }) => (type === 'date' ? [path, ...parts.map((part) => `${path}:${part}`)] : [path]));
}

/** The aggregates that a view may show: `{text, name}`. */
export function valueChoices(view, schema) {
  const of = (kind, path) => ({ text: `@${kind}.${path}`, name: `${kind} of ${path}` });
  const different = (path) => ({ text: `@distinctUnionOfObjects.${path}.@count`, name: `different ${path}` });
  return [{ text: '@count', name: 'count' }, ...schema.entity(view.entity).attributes.filter(({ name }) => isListed(name)).flatMap(({ name, type }) => {
    if (isNumeric(type)) return [...['sum', 'avg', 'min', 'max'].map((kind) => of(kind, name)), different(name)];
    if (type === 'date') return [of('min', name), of('max', name)];
    return ['binary', 'json'].includes(type) ? [] : [different(name)];
  })];
}

/** The groups that a view shows at first. */
export function firstGroups(view, schema) {
  const related = schema.toOne(view.entity).map(({ name, destination }) => ({ name, label: schema.label(destination) }))
    .find(({ name, label }) => label && isListed(name) && isListed(label));
  const own = schema.entity(view.entity).attributes.find(({ name, type }) => isListed(name) && ['boolean', 'string'].includes(type));
  const [section, option] = view.section.replace(/^-/, '').split(':');
  const group = (parts.includes(option) ? `${section}:${option}` : section) || (related ? `${related.name}.${related.label}` : own?.name ?? 'id');
  return { group, values: '@count', having: '', order: '-count', chart: 'bars' };
}

/** The fetch request. @param where the predicate. */
export function groupRequest(view, schema, where) {
  const groups = groupColumns(view, schema);
  const values = valueColumns(view, schema);
  const known = [...groups, ...values].map(({ alias }) => alias);
  const order = list(view.order).filter((term) => known.includes(term.replace(/^-/, '')));
  const sort = view.chart === 'line' && groups.length > 0 ? [groups[0].alias] : order;
  return { entity: view.entity, where, as: 'dictionaries', select: [...groups, ...values].map(({ select }) => select),
    group: groups.map(({ alias }) => alias), having: view.having.trim() || undefined, sort, limit: MOST, count: 'exact' };
}

/** The condition that holds for the rows of a group. */
export function groupCondition(groups, row) {
  return groups.map(({ path, type, alias, part }) => {
    const value = row[alias];
    if (!part || value === null) return equals({ path, type }, value);
    const [, year, month = 1, day = 1] = /^(\d{4})(?:-(\d\d))?(?:-(\d\d))?$/.exec(value) ?? [];
    // What SQLite stores as no date, and a year of five digits, have no range here.
    if (year === undefined) return 'FALSEPREDICATE';
    const start = (count) => {
      const at = { year: Number(year), month: Number(month) - 1, day: Number(day) };
      at[part] += count;
      const date = new Date(0);
      date.setUTCFullYear(at.year, at.month, at.day);
      return quoted(date.toISOString().replace('.000Z', 'Z').replace(/^\+0*/, ''));
    };
    return `${pathText(path)} >= ${start(0)} AND ${pathText(path)} < ${start(1)}`;
  }).join(' AND ');
}
