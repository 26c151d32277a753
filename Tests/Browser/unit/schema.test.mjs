// What the page concludes from a model.

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
