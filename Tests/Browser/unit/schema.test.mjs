// The page's schema of a model: samples, tables that are not live, properties that cannot be edited.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Schema } from '../../../Public/explorer/schema.js';

const models = new URL('../../../Sources/LiveFetchCommand/Resources/models/', import.meta.url);
const entity = (name, more = {}) => ({ name, idType: 'integer', attributes: [], relationships: [],
  observable: true, readOnly: false, ...more });

test('the four models of `livefetch demo` are samples, others are not', () => {
  for (const name of ['world', 'heroes', 'todo', 'blog']) {
    const { entities } = JSON.parse(readFileSync(new URL(`${name}.json`, models)));
    const schema = new Schema({ entities: entities.map((each) => entity(each.name)) });
    assert.equal(schema.isSample, true, name);
  }
  assert.equal(new Schema({ entities: [entity('City'), entity('Country')] }).isSample, false);
  assert.equal(new Schema({ entities: [] }).isSample, false);
});

test('a view and a table without a key are not live, each for its own reason', () => {
  const name = (readOnly) => [{ name: 'name', type: 'string', readOnly }];
  const schema = new Schema({ entities: [entity('t'),
    entity('v', { observable: false, readOnly: true, attributes: name(true) }),
    entity('k', { observable: false, readOnly: true, attributes: name(undefined) })] });
  assert.deepEqual(['t', 'v', 'k'].map((each) => schema.notLiveReason(each)),
    [null, 'v is a view', 'k has no primary key']);
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
