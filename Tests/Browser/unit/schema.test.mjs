// The page's schema of a model: tables that are not live, properties that cannot be edited.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Schema } from '../../../Public/explorer/schema.js';

const entity = (name, more = {}) => ({ name, idType: 'integer', attributes: [], relationships: [],
  observable: true, readOnly: false, ...more });

test('a view and a table without a key are not live, each for its own reason', () => {
  const name = (readOnly) => [{ name: 'name', type: 'string', readOnly }];
  const schema = new Schema({ entities: [entity('t'),
    entity('v', { observable: false, readOnly: true, attributes: name(true) }),
    entity('k', { observable: false, readOnly: true, attributes: name(undefined) })] });
  assert.deepEqual(['t', 'v', 'k'].map((each) => schema.notLiveReason(each)),
    [null, 'v is a view', 'k has no primary key']);
});

test('a foreign key of several columns has them as attributes beside the relationship', () => {
  const related = (name) => ({ name, destination: name, inverse: null, toMany: false });
  const part = { name: 'a', type: 'string', keyPart: true };
  const schema = new Schema({ entities: [entity('pair', { attributes: [part, { ...part, name: 'b' }] }), entity('tag'),
    entity('t', { relationships: [related('pair'), related('tag')] })] });
  assert.deepEqual(schema.fields('t').slice(1).map(({ name, hasColumns }) => [name, hasColumns]), [['pair', true], ['tag', false]]);
});

test('saves change the rows of the entities that they name, of those above and below, and perhaps of views', () => {
  const schema = new Schema({ entities: [entity('city'), entity('person', { subentities: ['player'] }),
    entity('player', { parent: 'person' }), entity('crowded', { observable: false, readOnly: true })] });
  const save = (more) => ({ inserted: {}, updated: {}, deleted: {}, ...more });
  const changed = (...saves) => [...schema.changedBy(saves)].sort();
  assert.deepEqual(changed(save({ inserted: { city: [1] } })), ['city', 'crowded']);
  assert.deepEqual(changed(save({ updated: { city: [{ id: 1, properties: [] }] } }), save({ deleted: { player: [2] } })),
    ['city', 'crowded', 'person', 'player']);
  assert.deepEqual(changed(save({ deleted: { person: [2], gone: [1] } })), ['crowded', 'person', 'player']);
});

test('rows are counted by their ids where a property is called as the aggregate is', () => {
  const schema = new Schema({ entities: [entity('city'), entity('line', { attributes: [{ name: '@count', type: 'integer' }] })] });
  assert.deepEqual(['city', 'line'].map((name) => schema.countText(name)), ['@count', '@count.id']);
});

test('a row that exists keeps calculated values and parts of its key; what refers by its key is neither added nor removed', () => {
  const related = (name, destination, inverse, more) => ({ name, destination, inverse, toMany: false, ...more });
  const schema = new Schema({ entities: [
    entity('product', { relationships: [related('line', 'line', 'product', { toMany: true }), related('other', 'line', 'second', { toMany: true })] }),
    entity('line', { attributes: [{ name: 'number', type: 'integer', keyPart: true }, { name: 'amount', type: 'integer' }, { name: 'sum', type: 'integer', readOnly: true }],
      relationships: [related('product', 'product', 'line', { keyPart: true }), related('second', 'product', 'other')] })] });
  const fixed = (name) => [...schema.entity(name).attributes, ...schema.entity(name).relationships].filter(({ isFixed }) => isFixed).map((each) => each.name);
  assert.deepEqual(fixed('line'), ['number', 'sum', 'product']);
  assert.deepEqual(fixed('product'), ['line']);
  assert.deepEqual(schema.fields('line').filter(({ isFixed }) => isFixed).map(({ name }) => name), ['id', 'number', 'sum', 'product']);
});
