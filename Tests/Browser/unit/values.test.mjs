// The values of saves: what is sent for those that JSON does not have, and which are refused.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect, memoryStorage, route } from '../../../Public/livefetch.js';
import { json, served, until } from './script.mjs';

const answer = { token: 'a-2-x', ids: {}, inserted: 0, updated: 1, deleted: 0 };
const item = { id: 1, price: 1.5 };
const snapshot = { entity: 'T', token: 'a-1-x', count: 1, sections: [{ name: '', value: null, items: [item] }] };
const stream = (response) => {
  response.writeHead(200, { 'Content-Type': 'text/event-stream' });
  response.write(`event: snapshot\ndata: ${JSON.stringify(snapshot)}\n\n`);
};
const script = { '/v1': [(response) => json(response, {})], '/v1/objects/T': [stream],
  '/v1/save': [(response) => json(response, answer)] };
const saves = (requests) => requests.filter(({ path }) => path === '/v1/save').map(({ body }) => body.changes);

const refused = [
  [{ price: NaN }, '`price` is NaN'], [{ price: () => 1 }, '`price` is a function'],
  [{ price: Symbol('x') }, '`price` is a symbol'], [{ at: new Date(NaN) }, '`at` is a Date without a time'],
  [{ meta: { list: [1, NaN] } }, '`meta.list.1` is NaN'], [{ meta: { far: Infinity } }, '`meta.far` is Infinity']];

for (const offline of [undefined, true]) {
  const name = offline ? 'nor kept for later' : 'nor shown';
  test(`a value that JSON does not have is refused by its property's name, and not sent, ${name}`, async (context) => {
    const { address, requests } = await served(context, script);
    const storage = memoryStorage();
    const client = connect(address, offline ? { offline: storage, onRefused: () => assert.fail() } : {});
    context.after(() => client.close());
    const causes = [];
    const live = client.live({ entity: 'T' }, { onChange: (_, { cause }) => causes.push(cause) });
    await until(() => live.state === 'live');
    for (const [values, detail] of refused) {
      const error = { name: 'TypeError', message: `livefetch: ${detail}, which JSON does not have.` };
      await assert.rejects(client.update('T', 1, values), error);
      await assert.rejects(client.insert('T', values), error);
      await assert.rejects(client.save([{ delete: 'T', id: 1, base: values }]), error);
    }
    await assert.rejects(client.delete('T', NaN), { message: 'livefetch: `id` is NaN, which JSON does not have.' });
    assert.deepEqual([causes, saves(requests), (await storage.keys()).filter((key) => key.startsWith('save/'))], [['snapshot'], [], []]);
  });
}

test('infinities are sent as text, dates as ISO 8601, and what is undefined is left out', async (context) => {
  const { address, requests } = await served(context, script);
  const client = connect(address);
  await client.update('T', 1, { price: Infinity, low: -Infinity, at: new Date('2026-01-02T03:04:05Z'), gone: undefined,
    meta: { a: undefined, b: null, list: [undefined], boxed: Object('x') } }, { base: { price: -Infinity } });
  assert.deepEqual(saves(requests), [[{ update: 'T', id: 1, base: { price: '-Infinity' }, values: { price: 'Infinity',
    low: '-Infinity', at: '2026-01-02T03:04:05.000Z', meta: { b: null, list: [null], boxed: 'x' } } }]]);
});

test('a date that names a new object beside it stays a date when the object has its id', async (context) => {
  const { address, requests } = await served(context, { ...script,
    '/v1/save': [(response, { body }) => json(response, { ...answer, ids: { [body.changes[0].temporaryID]: 17 } })] });
  const client = connect(address, { offline: memoryStorage() });
  context.after(() => client.close());
  const temporaryID = client.temporaryID();
  await client.save([{ insert: 'T', temporaryID, values: {} }]);
  await client.update('T', 1, { at: new Date(0), other: { temporaryID } });
  assert.deepEqual(saves(requests)[1][0].values, { at: '1970-01-01T00:00:00.000Z', other: 17 });
});

test('a local value is a copy: what the program does to it afterwards is not sent', async (context) => {
  const { address, requests } = await served(context, script);
  const client = connect(address);
  const values = { meta: [1] };
  const saved = client.update('T', 1, values);
  values.meta.push(2);
  await saved;
  assert.deepEqual(saves(requests)[0][0].values, { meta: [1] });
});

test('a precondition with a property `length` of 0 is sent', async (context) => {
  const { address, requests } = await served(context, script);
  const client = connect(address);
  await client.update('T', 1, { length: 5 }, { base: { length: 0 } });
  await client.delete('T', 2, { base: { length: 0 } });
  assert.deepEqual(saves(requests), [[{ update: 'T', id: 1, values: { length: 5 }, base: { length: 0 } }], [{ delete: 'T', id: 2, base: { length: 0 } }]]);
});

test('a variable with the name `length` and the value 0 is sent', () => {
  assert.deepEqual(route({ entity: 'T', where: 'n > $length', variables: { length: 0 }, sort: [] }).body,
    { entity: 'T', where: 'n > $length', variables: { length: 0 } });
});

test('infinities and dates among the arguments and variables of a fetch are sent as text, also within a list', () => {
  const { body } = route({ entity: 'T', where: 'price < %@', arguments: [Infinity, [1, -Infinity], new Date(0), undefined], variables: { x: -Infinity } });
  assert.deepEqual(body, { entity: 'T', where: 'price < %@', arguments: ['Infinity', [1, '-Infinity'], '1970-01-01T00:00:00.000Z', null],
    variables: { x: '-Infinity' } });
});

test('an argument or a variable that JSON does not have is a TypeError that names it, and no fetch is sent', async (context) => {
  const { address, requests } = await served(context, script);
  const client = connect(address);
  context.after(() => client.close());
  for (const [more, detail] of [[{ arguments: [1, NaN] }, '`arguments.1` is NaN'], [{ arguments: [[NaN]] }, '`arguments.0.0` is NaN'],
    [{ variables: { x: NaN } }, '`variables.x` is NaN'], [{ variables: { at: new Date(NaN) } }, '`variables.at` is a Date without a time']]) {
    const error = { name: 'TypeError', message: `livefetch: ${detail}, which JSON does not have.` };
    assert.throws(() => client.live({ entity: 'T', ...more }), error);
    await assert.rejects(client.fetch({ entity: 'T', ...more }), error);
  }
  assert.deepEqual(requests, []);
});

test('the arguments and variables of a batch in a save are sent as those of a fetch', async (context) => {
  const { address, requests } = await served(context, script);
  const client = connect(address);
  await client.save([{ update: 'T', where: 'price < %@ AND n IN $n', arguments: [Infinity, [new Date(0)]], variables: { n: [1, -Infinity] }, values: { n: 1 } }]);
  await client.save([{ delete: 'T', where: 'price < %@', arguments: [-Infinity] }]);
  assert.deepEqual(saves(requests), [[{ update: 'T', where: 'price < %@ AND n IN $n', arguments: ['Infinity', ['1970-01-01T00:00:00.000Z']],
    variables: { n: [1, '-Infinity'] }, values: { n: 1 } }], [{ delete: 'T', where: 'price < %@', arguments: ['-Infinity'] }]]);
  await assert.rejects(client.save([{ delete: 'T', where: 'price < %@', arguments: [[NaN]] }]),
    { name: 'TypeError', message: 'livefetch: `arguments.0.0` is NaN, which JSON does not have.' });
});
