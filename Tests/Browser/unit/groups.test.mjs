// Groups of a view → a fetch of dictionaries, and back to the rows of a group.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { firstGroups, groupChoices, groupColumns, groupCondition, groupRequest, valueColumns, unknownGroup } from '../../../Public/explorer/group-request.js';
import { Schema } from '../../../Public/explorer/schema.js';

const schema = new Schema({ entities: [
  { name: 'book', idType: 'integer', attributes: [{ name: 'title', type: 'string' }, { name: 'price', type: 'double' },
    { name: 'at', type: 'date' }, { name: 'cover', type: 'binary' }],
  relationships: [{ name: 'author', destination: 'author', toMany: false }] },
  { name: 'author', idType: 'integer', attributes: [{ name: 'name', type: 'string' }], relationships: [] }] });
const view = { entity: 'book', section: '', group: 'author.name,at:day', values: '@count,@sum.price', having: ' count > 1 ',
  order: '-sum_price', chart: 'table' };

test('a group of a link that is no day of a date is not taken for another one', () => {
  assert.deepEqual(['at:month', 'name,at:year', 'at:day', 'at', ''].map((group) => unknownGroup({ group })), ['at:month', 'at:year', undefined, undefined, undefined]);
});

test('groups and aggregates become columns with names', () => {
  assert.deepEqual(groupRequest(view, schema, { where: "title != 'x'" }), { entity: 'book', where: "title != 'x'", as: 'dictionaries',
    select: ['author.name', 'at_day:floor(CAST(at, "NSNumber") / 86400)', 'count:@count', 'sum_price:@sum.price'],
    group: ['author.name', 'at_day'], having: 'count > 1', sort: ['-sum_price'], limit: 1000, count: 'exact' });
  assert.deepEqual(groupRequest({ ...view, chart: 'line' }, schema, { where: '' }).sort, ['author.name'], 'a line is in the order of its groups');
  assert.deepEqual(groupRequest({ ...view, order: '-gone' }, schema, { where: '' }).sort, []);
  assert.deepEqual(valueColumns({ entity: 'book', values: '@distinctUnionOfObjects.title.@count' }, schema)
    .map(({ alias, name }) => [alias, name]), [['different_title', 'different of title']]);
});

test('the rows of a group are those of its values', () => {
  const columns = groupColumns(view, schema);
  assert.equal(groupCondition(columns, { 'author.name': "O'Hara", at_day: 8459 }),
    "author.name == 'O\\'Hara' AND at >= '2024-02-29T00:00:00Z' AND at < '2024-03-01T00:00:00Z'");
  assert.equal(groupCondition(columns, { 'author.name': null, at_day: null }), 'author.name == NULL AND at == NULL');
});

test('the first groups are those of the section, or of a related row', () => {
  assert.equal(firstGroups(view, schema).group, 'author.name');
  assert.equal(firstGroups({ ...view, section: '-title:initial' }, schema).group, 'title');
  assert.equal(firstGroups({ entity: 'author', section: '' }, schema).group, 'name');
  assert.deepEqual(groupChoices(view, schema), ['title', 'price', 'at', 'at:day', 'author.name']);
});
