// A storage that is full: the application is told which saves end with the page.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect, memoryStorage } from '../../../Public/livefetch.js';
import { json, served, until } from './script.mjs';

const answer = (response) => json(response, { token: 'a-1-x', ids: {}, inserted: 0, updated: 1, deleted: 0 });

test('onQueue has the number of saves that the storage did not take', async (context) => {
  const { address } = await served(context, { '/v1': [(response) => json(response, { name: 'LiveFetch' })], '/v1/save': [answer] });
  const { mock } = context.mock.method(console, 'warn', () => {});
  const own = { isUp: false, isFull: false };
  const storage = memoryStorage();
  const client = connect(address, {
    offline: { ...storage, set: (...args) => (own.isFull ? Promise.reject(new Error('no room')) : storage.set(...args)) },
    fetch: (...args) => (own.isUp ? fetch(...args) : Promise.reject(new TypeError('offline'))),
    onQueue: (size, _, unstored) => { own.last = [size, unstored]; } });
  context.after(() => client.close());
  const answers = [client.update('T', 1, { n: 1 })];
  await until(async () => (await storage.keys()).length === 1);
  assert.deepEqual(own.last, [1, 0]);
  own.isFull = true;
  answers.push(client.update('T', 2, { n: 2 }), client.update('T', 3, { n: 3 }));
  await until(() => own.last[1] === 2);
  assert.deepEqual([own.last, (await storage.keys()).length, mock.calls.length], [[3, 2], 1, 1]);
  own.isUp = true;
  await Promise.all(answers);
  assert.deepEqual(own.last, [0, 0]);
});

test('a save that a full storage takes later is no longer among those that end with the page', async (context) => {
  const { address } = await served(context, { '/v1': [(response) => json(response, { name: 'LiveFetch' })], '/v1/save': [() => {}] });
  context.mock.method(console, 'warn', () => {});
  const own = { isUp: false, isFull: true };
  const storage = memoryStorage();
  const client = connect(address, {
    offline: { ...storage, set: (...args) => (own.isFull ? Promise.reject(new Error('no room')) : storage.set(...args)) },
    fetch: (...args) => (own.isUp ? fetch(...args) : Promise.reject(new TypeError('offline'))),
    onQueue: (size, _, unstored) => { own.last = [size, unstored]; } });
  client.update('T', 1, { n: 1 }).catch(() => {});
  await until(() => own.last[1] === 1);
  Object.assign(own, { isUp: true, isFull: false });
  await until(() => own.last[1] === 0);
  assert.deepEqual([own.last, (await storage.keys()).length], [[1, 0], 1]);
  await client.close();
});
