// Storages that fail for a while, lose what they have, or are slow: every save is sent once, in order.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect, indexedDBStorage, memoryStorage } from '../../../Public/livefetch.js';
import { Live } from '../../../Public/livefetch/live.js';
import { json, served, until } from './script.mjs';

const about = [(response) => json(response, { name: 'LiveFetch' })];
const answer = (number, ids = {}) => ({ token: `a-${number}-x`, ids, inserted: 0, updated: 0, deleted: 0 });
const answered = { '/v1': about, '/v1/save': [1, 2, 3].map((number) => (response) => json(response, answer(number))) };
const sent = (requests) => requests.filter(({ path }) => path === '/v1/save').map(({ body }) => body.changes[0].id);

function network(isUp) {
  const own = { isUp, fetch: (...args) => (own.isUp ? fetch(...args) : Promise.reject(new TypeError('offline'))) };
  return own;
}

/** A memory storage whose methods fail while `fails(name, key)` is true. */
function faulty(fails) {
  const storage = memoryStorage();
  const call = (name) => async (key, value) => {
    if (fails(name, key)) throw new Error('no room');
    return storage[name](key, value);
  };
  return { storage, ...Object.fromEntries(['get', 'set', 'delete', 'keys'].map((name) => [name, call(name)])) };
}

test('a result that cannot be stored leaves the queue of saves in its storage', async (context) => {
  const { address } = await served(context, answered);
  context.mock.method(console, 'warn', () => {});
  const own = faulty((name, key) => name === 'set' && !key.startsWith('save/'));
  const net = network(true);
  const client = connect(address, { offline: own, fetch: net.fetch });
  context.after(() => client.close());
  await client.about();
  net.isUp = false;
  client.update('T', 1, { n: 1 });
  client.update('T', 2, { n: 2 });
  await until(async () => (await own.storage.keys()).length === 2);
});

test('a save that cannot be read when its turn comes is sent from memory, before the later ones', async (context) => {
  const { address, requests } = await served(context, answered);
  const { mock } = context.mock.method(console, 'warn', () => {});
  const own = faulty((name, key) => name === 'get' && key.startsWith('save/'));
  const net = network(false);
  const client = connect(address, { offline: own, fetch: net.fetch });
  context.after(() => client.close());
  const answers = [1, 2, 3].map((n) => client.update('T', n, { n }));
  await until(async () => (await own.storage.keys()).length === 3);
  net.isUp = true;
  assert.deepEqual((await Promise.all(answers)).map(({ token }) => token), ['a-1-x', 'a-2-x', 'a-3-x']);
  assert.deepEqual(sent(requests), [1, 2, 3]);
  assert.equal(mock.calls.length, 1);
});

test('saves that wait are sent once each after their storage was emptied', async (context) => {
  const { address, requests } = await served(context, answered);
  const storage = memoryStorage();
  const net = network(false);
  const client = connect(address, { offline: storage, fetch: net.fetch });
  context.after(() => client.close());
  const answers = [1, 2].map((n) => client.update('T', n, { n }));
  await until(async () => (await storage.keys()).length === 2);
  for (const key of await storage.keys()) await storage.delete(key);
  net.isUp = true;
  assert.deepEqual((await Promise.all(answers)).map(({ token }) => token), ['a-1-x', 'a-2-x']);
  assert.deepEqual(sent(requests), [1, 2]);
});

test('a save that cannot be taken out of the storage is not sent again', async (context) => {
  const { address, requests } = await served(context, answered);
  context.mock.method(console, 'warn', () => {});
  const client = connect(address, { offline: faulty((name) => name === 'delete') });
  context.after(() => client.close());
  await client.update('T', 1, { n: 1 });
  await client.update('T', 2, { n: 2 });
  assert.deepEqual(sent(requests), [1, 2]);
});

test('the key of a save does not age while the server has never been reached', async (context) => {
  const storage = memoryStorage();
  const errors = [];
  const client = connect('http://127.0.0.1:1', { offline: storage, fetch: network(false).fetch,
    onQueue: (size, error) => error && errors.push(error.code) });
  context.after(() => client.close());
  client.update('T', 1, { n: 1 });
  await until(() => errors.length > 1);
  assert.equal(errors[0], 'unreachable');
  const [key] = await storage.keys();
  assert.equal((await storage.get(key)).sentAt, undefined);
});

test('the key of a save does not age while the browser has no network, also if the server was reached before', async (context) => {
  const navigator = Object.getOwnPropertyDescriptor(globalThis, 'navigator');
  context.after(() => (navigator ? Object.defineProperty(globalThis, 'navigator', navigator) : delete globalThis.navigator));
  const { address } = await served(context, answered);
  const net = network(true);
  const storage = memoryStorage();
  const errors = [];
  const client = connect(address, { offline: storage, fetch: net.fetch, onQueue: (size, error) => error && errors.push(error.code) });
  context.after(() => client.close());
  await client.update('T', 1, { n: 1 });
  net.isUp = false;
  Object.defineProperty(globalThis, 'navigator', { value: { onLine: false }, configurable: true });
  client.update('T', 2, { n: 2 });
  await until(() => errors.length > 0);
  const [key] = await storage.keys();
  assert.deepEqual([errors[0], (await storage.get(key)).sentAt], ['unreachable', undefined]);
});

test('a save that is made while the one before leaves the storage has the id of its object', async (context) => {
  const { address, requests } = await served(context, { '/v1': about, '/v1/save': [
    (response, { body }) => json(response, answer(1, { [body.changes[0].temporaryID]: 17 })), (response) => json(response, answer(2))] });
  const storage = memoryStorage();
  let added = null;
  const slow = { ...storage, delete: async (key) => {
    added ??= client.update('T', temporaryID, { n: 2 });
    await storage.delete(key);
  } };
  const client = connect(address, { offline: slow });
  context.after(() => client.close());
  const temporaryID = client.temporaryID();
  await client.save([{ insert: 'T', temporaryID, values: { n: 1 } }]);
  await added;
  assert.deepEqual(sent(requests), [undefined, 17]);
});

/** As much of IndexedDB as the storage uses; `closeAll()` is what the browser does for other pages. */
function fakeIndexedDB() {
  const values = new Map();
  const connections = [];
  const request = (result, after = () => {}) => {
    const own = { result };
    setTimeout(() => { own.onsuccess?.(); after(); });
    return own;
  };
  const store = { get: (key) => ({ result: values.get(key) }), put: (value, key) => { values.set(key, value); return {}; },
    delete: (key) => { values.delete(key); return {}; }, getAllKeys: () => ({ result: [...values.keys()] }) };
  const open = () => {
    const database = { isClosed: false, close() { database.isClosed = true; }, transaction() {
      if (database.isClosed) throw new DOMException('The database connection is closing.', 'InvalidStateError');
      const transaction = { objectStore: () => store, commit() {} };
      setTimeout(() => transaction.oncomplete());
      return transaction;
    } };
    connections.push(database);
    return request(database);
  };
  return { open, connections };
}

for (const event of ['onclose', 'onversionchange']) {
  test(`a database is opened again after ${event}`, async (context) => {
    const fake = fakeIndexedDB();
    globalThis.indexedDB = fake;
    context.after(() => { delete globalThis.indexedDB; });
    const storage = indexedDBStorage('test');
    await storage.set('key', 1);
    if (event === 'onclose') fake.connections[0].isClosed = true;
    fake.connections[0][event]();
    assert.ok(fake.connections[0].isClosed);
    assert.equal(await storage.get('key'), 1);
    assert.equal(fake.connections.length, 2);
  });
}

test('a database that is closing is opened again', async (context) => {
  const fake = fakeIndexedDB();
  globalThis.indexedDB = fake;
  context.after(() => { delete globalThis.indexedDB; });
  const storage = indexedDBStorage('test');
  await storage.set('key', 1);
  fake.connections[0].isClosed = true;
  assert.equal(await storage.get('key'), 1);
});

test('a stored save that is damaged is handed to the application and removed, and the others are sent', async (context) => {
  const { mock } = context.mock.method(console, 'warn', () => {});
  for (const isHandled of [true, false]) {
    const { address, requests } = await served(context, answered);
    const storage = memoryStorage();
    await storage.set('save/000000000000001-p', { changes: null, idempotencyKey: 'k', page: 'p' });
    await storage.set('save/000000000000002-p', { changes: [null], idempotencyKey: 'k', page: 'p' });
    await storage.set('save/000000000000003-p', { changes: [{ update: 'T', id: 1, values: {} }], idempotencyKey: 'k', page: 'p' });
    const refused = [];
    const onRefused = isHandled ? ({ code }, { changes }) => refused.push([code, changes]) : undefined;
    const client = connect(address, { offline: storage, onRefused });
    context.after(() => client.close());
    await client.update('T', 2, { n: 2 });
    assert.deepEqual([sent(requests), await storage.keys()], [[1, 2], []]);
    assert.deepEqual(refused, isHandled ? [['storage-damaged', []], ['storage-damaged', []]] : []);
  }
  assert.deepEqual(mock.calls.map(({ arguments: [text] }) => text.slice(0, 62)),
    Array(2).fill('livefetch: A save of an earlier page was refused: storage-dama'));
});

test('a stored result that is damaged is not shown, and its fetch begins with a snapshot', async (context) => {
  const snapshot = { entity: 'T', token: 'a-1-x', count: 1, sections: [{ name: '', value: null, items: [{ id: 1 }] }] };
  const stream = (response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    response.write(`event: snapshot\ndata: ${JSON.stringify(snapshot)}\n\n`);
  };
  const { address, requests } = await served(context, { '/v1/objects/T': [stream], '/v1': about, '/v1/save': [() => {}] });
  const storage = memoryStorage();
  const before = connect(address, { offline: storage });
  const first = before.live({ entity: 'T' });
  await until(() => first.state === 'live');
  await before.close();
  const key = (await storage.keys()).find((name) => name.startsWith('result/'));
  const good = await storage.get(key);
  for (const result of [null, 5, { token: 'a-1-x', sections: 5 }, { token: 'a-1-x', sections: [null] }, { token: 'a-1-x', sections: [{ items: null }] }, { sections: [] }]) {
    await storage.set(key, { ...good, result });
    const client = connect(address, { offline: storage });
    context.after(() => client.close());
    client.update('T', 1, { n: 1 }).catch(() => {});
    const causes = [];
    const live = client.live({ entity: 'T' }, { onChange: (_, { cause }) => causes.push(cause) });
    await until(() => live.state === 'live');
    assert.deepEqual(causes[0], 'snapshot');
    await client.close();
  }
  assert.deepEqual(requests.filter(({ isStream, path }) => isStream && path === '/v1/objects/T').map(({ query }) => query.since), Array(7).fill(undefined));
});

test('a live fetch whose stored result cannot be shown with the saves that wait begins with a snapshot', () => {
  const damaged = { concerns: () => true, changes: [null] };
  const live = new Live({ entity: 'T' }, {}, { pending: [damaged] }, {});
  const result = { entity: 'T', token: 'a-1-x', count: 1, sections: [{ name: '', value: null, items: [{ id: 1 }] }] };
  assert.throws(() => live.restore(result), TypeError);
  assert.deepEqual([live.resumeToken, live.current], [undefined, null]);
});
