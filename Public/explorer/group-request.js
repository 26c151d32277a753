// Groups of a view ↔ a fetch of dictionaries. A view holds them as text: `group` (key paths, with
// `:day` for the day of a date), `values` (aggregates), `having`, `order`, `chart`.

import { isNumeric } from './format.js';
import { equals, isName, pathText, quoted } from './predicate-text.js';

/** The most groups that are shown. */
export const MOST = 1000;
const DAY = 86_400_000;
/** The epoch of `CAST(date, "NSNumber")`. */
const EPOCH = Date.UTC(2001, 0, 1);

const list = (text) => text.split(',').filter(Boolean);

/** The columns by which a view groups: `{path, alias, type, isDay, select}`. */
export function groupColumns(view, schema) {
  return list(view.group).map((text) => {
    const [path, piece] = text.split(':');
    const type = schema.resolve(view.entity, path)?.attribute?.type;
    if (piece !== 'day') return { text, path, alias: path, type, select: pathText(path) };
    const alias = `${path.replaceAll('.', '_')}_day`;
    return { text, path, alias, type: 'date', isDay: true,
      select: `${alias}:floor(CAST(${pathText(path)}, "NSNumber") / 86400)` };
  });
}

/** A group of a link that there is no way to: dates are grouped by the day alone. */
export const unknownGroup = (view) => list(view.group).find((text) => /:(?!day$)/.test(text));

/** The aggregates of a view: `{text, alias, name, type, select}`. */
export function valueColumns(view, schema) {
  const texts = list(view.values).filter((text) => /^@\w/.test(text));
  return (texts.length > 0 ? texts : ['@count']).map((text) => {
    const [, kind, path = ''] = /^@(\w+)\.?(.*)$/.exec(text);
    const isDifferent = kind === 'distinctUnionOfObjects';
    const subject = path.replace(/\.@count$/, '');
    const word = isDifferent ? 'different' : kind;
    const alias = subject === '' ? word : `${word}_${subject.replaceAll('.', '_')}`;
    const found = schema.resolve(view.entity, subject)?.attribute?.type;
    const type = ['min', 'max', 'sum'].includes(kind) ? found : 'double';
    return { text, alias, type, select: `${alias}:${text}`, name: subject === '' ? word : `${word} of ${subject}` };
  });
}

/** The columns that a view may group by: attributes, those of to-one relationships, the days of dates. */
export function groupChoices(view, schema) {
  return schema.paths(view.entity).filter(({ path, type }) => path.split('.').every(isName) && schema.resolve(view.entity, path) && !['binary', 'json'].includes(type))
    .flatMap(({ path, type }) => (type === 'date' ? [path, `${path}:day`] : [path]));
}

/** The aggregates that a view may show: `{text, name}`. */
export function valueChoices(view, schema) {
  const of = (kind, path) => ({ text: `@${kind}.${path}`, name: `${kind} of ${path}` });
  const different = (path) => ({ text: `@distinctUnionOfObjects.${path}.@count`, name: `different ${path}` });
  return [{ text: '@count', name: 'count' }, ...schema.entity(view.entity).attributes.filter(({ name }) => isName(name)).flatMap(({ name, type }) => {
    if (isNumeric(type)) return [...['sum', 'avg', 'min', 'max'].map((kind) => of(kind, name)), different(name)];
    if (type === 'date') return [of('min', name), of('max', name)];
    return ['binary', 'json'].includes(type) ? [] : [different(name)];
  })];
}

/** The groups that a view shows at first. */
export function firstGroups(view, schema) {
  const related = schema.toOne(view.entity).map(({ name, destination }) => ({ name, label: schema.label(destination) }))
    .find(({ name, label }) => label && isName(name) && isName(label));
  const own = schema.entity(view.entity).attributes.find(({ name, type }) => isName(name) && ['boolean', 'string'].includes(type));
  const section = view.section.replace(/^-/, '').split(':')[0];
  const group = section || (related ? `${related.name}.${related.label}` : own?.name ?? 'id');
  return { group, values: '@count', having: '', order: '-count', chart: 'bars' };
}

/** The fetch request. @param filter `{where, arguments}` of the view. */
export function groupRequest(view, schema, filter) {
  const groups = groupColumns(view, schema);
  const values = valueColumns(view, schema);
  const known = [...groups, ...values].map(({ alias }) => alias);
  const order = list(view.order).filter((term) => known.includes(term.replace(/^-/, '')));
  const sort = view.chart === 'line' && groups.length > 0 ? [groups[0].alias] : order;
  return { entity: view.entity, ...filter, as: 'dictionaries', select: [...groups, ...values].map(({ select }) => select),
    group: groups.map(({ alias }) => alias), having: view.having.trim() || undefined, sort, limit: MOST, count: 'exact' };
}

/** The value of a group as it is shown and compared: a day is its date. */
export function groupValue({ alias, isDay }, row) {
  const value = row[alias];
  if (!isDay || value === null) return value;
  const date = new Date(EPOCH + value * DAY);
  return Number.isNaN(date.getTime()) ? `day ${value}` : date.toISOString().slice(0, -14);
}

/** The condition that holds for the rows of a group. */
export function groupCondition(groups, row) {
  return groups.map((column) => {
    const value = groupValue(column, row);
    if (!column.isDay || value === null) return equals({ name: column.path, type: column.type }, value);
    const after = new Date(Date.parse(value) + DAY);
    // A day outside the years of JavaScript's dates has no text.
    if (Number.isNaN(after.getTime())) return 'FALSEPREDICATE';
    const next = after.toISOString().slice(0, -14);
    const path = pathText(column.path);
    return `${path} >= ${quoted(`${value}T00:00:00Z`)} AND ${path} < ${quoted(`${next}T00:00:00Z`)}`;
  }).join(' AND ');
}
