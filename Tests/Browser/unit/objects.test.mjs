// One object by its id, whatever the id is.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect } from '../../../Public/livefetch.js';
import { json, served } from './script.mjs';

const result = (...items) => ({ entity: 'T', token: 'a-1-x', count: items.length, sections: [{ name: '', value: null, items }] });

test('an object with integers beyond 2^53 has them as text, as fetches have, and its ETag', async (context) => {
  const path = '/v1/objects/T/9223372036854775807';
  const { address, requests } = await served(context, { [path]: [(response, { query }) => {
    // The server gives the ETag of the plain object alone.
    if (query.int64 === 'string') return json(response, { id: '9223372036854775807' });
    response.writeHead(200, { 'Content-Type': 'application/json', ETag: '"9f3c"' });
    response.end('{"id":9223372036854775807}');
  }] });
  for (const id of ['9223372036854775807', 9223372036854775807n]) {
    assert.deepEqual(await connect(address).object('T', id), { object: { id: '9223372036854775807' }, etag: '"9f3c"' });
  }
  assert.equal(requests.length, 4);
  await connect(address, { int64: null }).object('T', '9223372036854775807');
  assert.equal(requests.length, 5);
});

test('an object without integers beyond 2^53 is requested once', async (context) => {
  const { address, requests } = await served(context, { '/v1/objects/T/1': [(response) => json(response, { id: 1, n: 1.5, text: '9' })] });
  assert.deepEqual((await connect(address).object('T', 1)).object, { id: 1, n: 1.5, text: '9' });
  assert.equal(requests.length, 1);
});

test('an object whose id is a dot segment is the one of this id, with its ETag', async (context) => {
  const { address, requests } = await served(context, { '/v1/fetch': [(response, { body }) => {
    const [id] = body.arguments;
    json(response, result(body.select ? { id, '@etag': '9f3c' } : { id, name: 'dots' }));
  }] });
  for (const id of ['.', '..']) {
    assert.deepEqual(await connect(address).object('T', id), { object: { id, name: 'dots' }, etag: '"9f3c"' });
  }
  assert.deepEqual(requests[1].body, { entity: 'T', where: 'SELF == %@', arguments: ['.'], int64: 'string' });
});

test('an object whose id is a dot segment and does not exist is not found', async (context) => {
  const { address } = await served(context, { '/v1/fetch': [(response) => json(response, result())] });
  await assert.rejects(connect(address).object('T', '.'), { name: 'LiveFetchError', status: 404, code: 'unknown-id' });
});

test('an object whose id is empty is updated and deleted by this id', async (context) => {
  const { address, requests } = await served(context, { '/v1/save': [(response) =>
    json(response, { token: 'a-2-x', ids: {}, inserted: 0, updated: 1, deleted: 0 })] });
  const client = connect(address);
  await client.update('T', '', { n: 1 }, { ifMatch: null });
  await client.delete('T', '');
  assert.deepEqual(requests.map(({ body }) => body.changes[0]), [{ update: 'T', id: '', values: { n: 1 } }, { delete: 'T', id: '' }]);
});

test('an object whose id is empty is requested by a path that ends with a slash', async (context) => {
  const { address } = await served(context, { '/v1/objects/T/': [(response) => json(response, { id: '' })] });
  assert.deepEqual((await connect(address).object('T', '')).object, { id: '' });
});
