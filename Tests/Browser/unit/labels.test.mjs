// The labels of rows.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { labelsOf } from '../../../Public/explorer/labels.js';
import { Names } from '../../../Public/explorer/names.js';
import { Schema } from '../../../Public/explorer/schema.js';

const texts = (...names) => names.map((name) => ({ name, type: 'string' }));
const labels = (entity, ...names) => labelsOf({ name: entity, attributes: [{ name: 'year', type: 'integer' }, ...texts(...names)] });

test('a row is called by its name or title, by first and last name, else by its first short text', () => {
  assert.deepEqual(labels('City', 'code', 'Name', 'timezone'), ['Name']);
  assert.deepEqual(labels('Customer', 'FirstName', 'LastName', 'Company', 'Email'), ['FirstName', 'LastName']);
  assert.deepEqual(labels('author', 'email', 'given_name', 'family_name'), ['given_name', 'family_name']);
  assert.deepEqual(labels('Employee', 'last_name', 'title', 'first_name'), ['first_name', 'last_name']);
  assert.deepEqual(labels('post', 'slug', 'title'), ['title']);
  assert.deepEqual(labels('artist', 'genre', 'country_name', 'artist_name'), ['artist_name']);
  assert.deepEqual(labels('post', 'description', 'headline'), ['headline']);
  assert.deepEqual(labels('post', 'body'), ['body']);
  assert.deepEqual(labels('count'), []);
});

test('a unique text comes before another one', () => {
  assert.deepEqual(labelsOf({ name: 'tag', attributes: [{ name: 'colour', type: 'string' },
    { name: 'code', type: 'string', unique: true }] }), ['code']);
});

test('a related row whose name may be that of many rows has its key beside it', () => {
  const entities = [['origin', 'prefix', 'host'], ['tag', 'name']].map(([name, ...columns]) =>
    ({ name, idType: 'integer', relationships: [], attributes: texts(...columns) }));
  const schema = new Schema({ entities });
  const names = new Names({}, schema);
  names.take({ origin: { 7: { prefix: 'https://', host: 'h' } }, tag: { 7: { name: 'red' } } });
  assert.deepEqual([names.nameOf('origin', 7), names.nameOf('tag', 7)], ['https:// (7)', 'red']);
  assert.equal(schema.title('origin', { prefix: 'https://' }), 'https://');
});

test('the column that names rows can be chosen, and is remembered', () => {
  const kept = new Map();
  const storage = { read: (name) => kept.get(name) ?? null,
    write: (name, text) => (text === null ? kept.delete(name) : kept.set(name, text)) };
  const model = { entities: [{ name: 'person', idType: 'integer', relationships: [],
    attributes: texts('first_name', 'last_name', 'email') }] };
  const schema = new Schema(model, storage);
  const ann = { first_name: 'Ann', last_name: 'Lee', email: 'ann@example.org' };
  assert.equal(schema.title('person', ann), 'Ann Lee');
  assert.equal(schema.title('person', { first_name: null, last_name: 'Lee' }), 'Lee');
  schema.chooseLabel('person', 'email');
  assert.equal(new Schema(model, storage).title('person', ann), 'ann@example.org');
  schema.chooseLabel('person', null);
  assert.deepEqual(schema.labels('person'), ['first_name', 'last_name']);
});

test('the key has the name of its column', () => {
  const entity = { idType: 'integer', attributes: texts('Name'), relationships: [] };
  const schema = new Schema({ entities: [{ ...entity, name: 'Artist', key: 'ArtistId' }, { ...entity, name: 'tag' }] });
  assert.deepEqual(schema.fields('Artist')[0], { name: 'id', label: 'ArtistId', type: 'integer', readOnly: true, isFixed: true, isID: true, isNeeded: false });
  assert.equal(schema.columns('Artist').at(-1).label, 'ArtistId');
  assert.equal(schema.columns('tag').at(-1).label, undefined);
});

test('related rows are called as in the newest result, and as in the one before while its rows are still seen', () => {
  const names = new Names({}, new Schema({ entities: [{ name: 'album', attributes: texts('title'), relationships: [] }] }));
  names.take({ album: { 1: { title: 'Old' }, 2: { title: 'Gone' } } });
  names.take({ album: { 1: { title: 'New' } } });
  assert.deepEqual([1, 2].map((id) => names.nameOf('album', id)), ['New', 'Gone']);
  names.take({});
  assert.deepEqual([1, 2].map((id) => names.nameOf('album', id)), ['New', undefined]);
});

test('a column whose name has a comma is asked for its texts', async () => {
  const requests = [];
  const client = { fetch: async (request) => { requests.push(request); return { sections: [{ items: [{ id: 1, 'a,b': 'x' }] }] }; } };
  const names = new Names(client, new Schema({ entities: [{ name: 'odd', idType: 'integer', relationships: [], attributes: texts('a,b') }] }));
  const arrived = new Promise((resolve) => { names.onTexts = resolve; });
  assert.deepEqual(names.textsAt('odd', null, 'a,b'), []);
  await arrived;
  assert.deepEqual(requests, [{ entity: 'odd', select: ['a,b'], sort: ['a,b'], limit: 2000 }]);
  assert.deepEqual(names.textsAt('odd', null, 'a,b'), ['x']);
});
