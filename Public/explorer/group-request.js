// Groups of a view ↔ a fetch of dictionaries. A view holds them as text: `group` (key paths, with
// `:day`, `:month` or `:year` for that part of a date), `values` (aggregates), `having`, `order`, `chart`.

import { isNumeric } from './format.js';
import { equals, filterProblem, pathText, quoted } from './predicate-text.js';

/** The most groups that are shown. */
export const MOST = 1000;
/** The parts of a date by which rows are grouped and sectioned. */
export const dateParts = ['day', 'month', 'year'];

const list = (text) => text.split(',').filter(Boolean);

/** A name as an alias of the API: letters, digits and `_`. */
const plain = (path) => path.replaceAll(/[^\p{L}\p{N}_]/gu, '_');

/** The columns by which a view groups: `{text, path, isDotted, alias, type, part, select}`. */
export function groupColumns(view, schema) {
  const values = valueColumns(view, schema).map(({ alias }) => alias);
  return list(view.group).map((text) => {
    const [path, part] = text.split(':');
    const { attribute, isDotted } = schema.resolve(view.entity, path) ?? {};
    if (dateParts.includes(part)) {
      const alias = `${plain(path)}_${part}`;
      return { text, path, isDotted, alias, type: 'string', part, select: `${alias}:${path}:${part}` };
    }
    // A column may be called as an aggregate is.
    const alias = values.includes(path) ? `${plain(path)}_` : path;
    return { text, path, isDotted, alias, type: attribute?.type, select: alias === path ? path : `${alias}:${path}` };
  });
}

/** A group of a link that there is no way to: dates are grouped by days, months and years. */
export const unknownGroup = (view) => list(view.group).find((text) => /:(?!(?:day|month|year)$)/.test(text));

/** True for a name that may stand in these texts. */
const isListed = (path) => path !== '' && !/[,:]/.test(path);

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
    const written = subject === '' ? schema.countText(view.entity) : `@${kind}.${pathText(subject)}${isDifferent ? '.@count' : ''}`;
    return { text, alias, type, select: `${alias}:${written}`, name: subject === '' ? word : `${word} of ${subject}` };
  });
}

/** The columns that a view may group by: attributes, those of to-one relationships, parts of dates. */
export function groupChoices(view, schema) {
  return schema.paths(view.entity).filter(({ path, type }) => isListed(path) && schema.resolve(view.entity, path)?.attribute?.name && !['binary', 'json'].includes(type))
    .flatMap(({ path, type }) => (type === 'date' ? [path, ...dateParts.map((part) => `${path}:${part}`)] : [path]));
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
  const group = (dateParts.includes(option) ? `${section}:${option}` : section) || (related ? `${related.name}.${related.label}` : own?.name ?? 'id');
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

/** The year, month and day with which a part of a date begins, as `[year, month, day]`; undefined if there is no such date. */
function dateOf(value) {
  const [, ...digits] = /^(\d{4})(?:-(\d\d))?(?:-(\d\d))?$/.exec(typeof value === 'string' ? value : '') ?? [];
  const [year, month = 1, day = 1] = digits.filter(Boolean).map(Number);
  if (year === undefined || month < 1 || month > 12) return undefined;
  return dateAt(year, month, day).getUTCDate() === day ? [year, month, day] : undefined;
}

function dateAt(year, month, day) {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return date;
}

/** The reason why there is no filter for the rows of a group; undefined if there is one. */
export function groupProblem(groups, row) {
  return groups.map(({ type, alias, part }) => {
    const value = row[alias];
    if (!part || value === null) return filterProblem({ type }, value);
    return dateOf(value) ? undefined : `No filter can select these rows: “${value}” is not the ${part} of any date.`;
  }).find(Boolean);
}

/** The condition that holds for the rows of a group. */
export function groupCondition(groups, row) {
  return groups.map(({ path, isDotted, type, alias, part }) => {
    const value = row[alias];
    if (!part || value === null) return equals({ path, isDotted, type }, value);
    const begin = dateOf(value);
    if (!begin) return 'FALSEPREDICATE';
    const [year, month, day] = begin;
    const end = { year: [year + 1, month, day], month: [year, month + 1, day], day: [year, month, day + 1] }[part];
    const written = (date) => quoted(date.toISOString().replace('.000Z', 'Z'));
    const name = pathText(path, { isDotted });
    // A year of five digits is no date in a predicate.
    const until = dateAt(...end).getUTCFullYear() > 9999 ? "<= '9999-12-31T23:59:59.999999Z'" : `< ${written(dateAt(...end))}`;
    return `${name} >= ${written(dateAt(...begin))} AND ${name} ${until}`;
  }).join(' AND ');
}
