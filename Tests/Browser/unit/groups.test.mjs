// Groups of a view → a fetch of dictionaries, and back to the rows of a group.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { firstGroups, groupChoices, groupColumns, groupCondition, groupProblem, groupRequest, valueColumns, unknownGroup } from '../../../Public/explorer/group-request.js';
import { Schema } from '../../../Public/explorer/schema.js';

const schema = new Schema({ entities: [
  { name: 'book', idType: 'integer', attributes: [{ name: 'title', type: 'string' }, { name: 'price', type: 'double' },
    { name: 'at', type: 'date' }, { name: 'cover', type: 'binary' }],
  relationships: [{ name: 'author', destination: 'author', toMany: false }] },
  { name: 'author', idType: 'integer', attributes: [{ name: 'name', type: 'string' }], relationships: [] }] });
const view = { entity: 'book', section: '', group: 'author.name,at:day', values: '@count,@sum.price', having: ' count > 1 ',
  order: '-sum_price', chart: 'table' };

test('a group of a link that is no part of a date is not taken for another one', () => {
  assert.deepEqual(['at:week', 'name,at:days', 'at:day', 'at:month,at:year', 'at', ''].map((group) => unknownGroup({ group })), ['at:week', 'at:days', undefined, undefined, undefined, undefined]);
});

test('groups and aggregates become columns with names', () => {
  assert.deepEqual(groupRequest(view, schema, "title != 'x'"), { entity: 'book', where: "title != 'x'", as: 'dictionaries',
    select: ['author.name', 'at_day:at:day', 'count:@count', 'sum_price:@sum.price'],
    group: ['author.name', 'at_day'], having: 'count > 1', sort: ['-sum_price'], limit: 1000, count: 'exact' });
  assert.deepEqual(groupRequest({ ...view, chart: 'line' }, schema, '').sort, ['author.name'], 'a line is in the order of its groups');
  assert.deepEqual(groupRequest({ ...view, order: '-gone' }, schema, '').sort, []);
  assert.deepEqual(valueColumns({ entity: 'book', values: '@distinctUnionOfObjects.title.@count' }, schema)
    .map(({ alias, name }) => [alias, name]), [['different_title', 'different of title']]);
});

test('a column called as the aggregate is does not hide the number of rows', () => {
  const lines = new Schema({ entities: [{ name: 'line', idType: 'integer', attributes: [{ name: '@count', type: 'integer' }], relationships: [] }] });
  const { select, group } = groupRequest({ ...view, entity: 'line', group: '@count', values: '@count' }, lines, '');
  assert.deepEqual([select, group], [['@count', 'count:@count.id'], ['@count']]);
});

test('the rows of a group are those of its values', () => {
  const columns = groupColumns(view, schema);
  assert.equal(groupCondition(columns, { 'author.name': "O'Hara", at_day: '2024-02-29' }),
    "author.name == 'O\\'Hara' AND at >= '2024-02-29T00:00:00Z' AND at < '2024-03-01T00:00:00Z'");
  assert.equal(groupCondition(columns, { 'author.name': null, at_day: null }), 'author.name == NULL AND at == NULL');
  const byPart = (part, value) => groupCondition(groupColumns({ ...view, group: `at:${part}` }, schema), { [`at_${part}`]: value });
  assert.equal(byPart('month', '2023-12'), "at >= '2023-12-01T00:00:00Z' AND at < '2024-01-01T00:00:00Z'");
  assert.equal(byPart('year', '0099'), "at >= '0099-01-01T00:00:00Z' AND at < '0100-01-01T00:00:00Z'");
  assert.deepEqual([byPart('month', 'soon'), byPart('year', '12024')], ['FALSEPREDICATE', 'FALSEPREDICATE'], 'SQLite stores other texts as well');
});

test('a column with blanks in its name is grouped and calculated with', () => {
  const odd = new Schema({ entities: [{ name: 't', idType: 'integer', relationships: [], attributes: [{ name: 'Customer Name', type: 'string' },
    { name: 'Unit "Price"', type: 'double' }, { name: 'a.b', type: 'date' }, { name: 'c,d', type: 'string' }] }] });
  const of = { entity: 't', section: '', group: 'Customer Name,a.b:year', values: '@sum.Unit "Price",@distinctUnionOfObjects.a.b.@count', having: '', order: '', chart: 'table' };
  assert.deepEqual(groupRequest(of, odd, '').select, ['Customer Name', 'a_b_year:a.b:year', 'sum_Unit__Price_:@sum.#"Unit \\"Price\\""',
    'different_a_b:@distinctUnionOfObjects.a.b.@count']);
  assert.deepEqual(groupRequest(of, odd, '').group, ['Customer Name', 'a_b_year']);
  assert.equal(groupCondition(groupColumns({ ...of, group: 'Customer Name' }, odd), { 'Customer Name': 'x' }), `#"Customer Name" == 'x'`);
  assert.deepEqual(groupChoices(of, odd), ['Customer Name', 'Unit "Price"', 'a.b', 'a.b:day', 'a.b:month', 'a.b:year'], 'commas separate groups');
});

test('the first groups are those of the section, or of a related row', () => {
  assert.equal(firstGroups(view, schema).group, 'author.name');
  assert.equal(firstGroups({ ...view, section: '-title:initial' }, schema).group, 'title');
  assert.equal(firstGroups({ ...view, section: '-at:month' }, schema).group, 'at:month');
  assert.equal(firstGroups({ entity: 'author', section: '' }, schema).group, 'name');
  assert.deepEqual(groupChoices(view, schema), ['title', 'price', 'at', 'at:day', 'at:month', 'at:year', 'author.name']);
});

test('a group whose value is not of its column has a problem and no condition of other rows', () => {
  const problems = (group, row) => groupProblem(groupColumns({ ...view, group }, schema), row);
  assert.equal(problems('price', { price: 'five' }), 'A filter compares double values, and “five” is none.');
  assert.equal(problems('at:day', { at_day: '2020-02-30' }), 'No filter can select these rows: “2020-02-30” is not the day of any date.');
  assert.equal(problems('at:year', { at_year: 1950 }), 'No filter can select these rows: “1950” is not the year of any date.');
  assert.deepEqual([problems('at:year', { at_year: '1950' }), problems('at:day', { at_day: null }), problems('title', { title: '' })], [undefined, undefined, undefined]);
  assert.equal(groupCondition(groupColumns({ ...view, group: 'at:day' }, schema), { at_day: '2020-02-30' }), 'FALSEPREDICATE');
  assert.equal(groupCondition(groupColumns({ ...view, group: 'at:year' }, schema), { at_year: '9999' }),
    "at >= '9999-01-01T00:00:00Z' AND at <= '9999-12-31T23:59:59.999999Z'");
});

test('a column may be called as an aggregate is, have a dot in its name, or none', () => {
  const odd = new Schema({ entities: [{ name: 't', idType: 'integer', relationships: [{ name: 'other', destination: 't', toMany: false }],
    attributes: [{ name: 'count', type: 'integer' }, { name: 'a.b', type: 'string' }, { name: '', type: 'string' }] }] });
  const of = { entity: 't', section: '', group: 'count,a.b,other.a.b', values: '@count', having: '', order: '-count', chart: 'bars' };
  const { select, group, sort } = groupRequest(of, odd, '');
  assert.deepEqual({ select, group, sort }, { select: ['count_:count', 'a.b', 'other.a.b', 'count:@count'], group: ['count_', 'a.b', 'other.a.b'], sort: ['-count'] });
  assert.equal(groupCondition(groupColumns(of, odd), { count_: 5, 'a.b': 'p', 'other.a.b': null }), `count == 5 AND #"a.b" == 'p' AND #"other.a.b" == NULL`);
  assert.deepEqual(groupChoices(of, odd), ['count', 'a.b', 'other.count', 'other.a.b']);
});

test('a column whose name is part of an aggregate is calculated with', () => {
  const stock = new Schema({ entities: [{ name: 'stock', idType: 'integer', relationships: [], attributes: [{ name: 'in', type: 'integer' }, { name: 'u', type: 'integer' }] }] });
  const of = { entity: 'stock', values: '@min.in,@distinctUnionOfObjects.in.@count,@sum.u' };
  assert.deepEqual(valueColumns(of, stock).map(({ select }) => select),
    ['min_in:@min.#in', 'different_in:@distinctUnionOfObjects.#in.@count', 'sum_u:@sum.u']);
});
