// Results that are kept in a storage: shown at the next start without a network, resumed by token.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { connect, memoryStorage } from '../../../Public/livefetch.js';
import { fileStorage } from '../../../Public/livefetch/node.js';
import { StoredResults } from '../../../Public/livefetch/results.js';
import { json, served, until } from './script.mjs';

const path = '/v1/objects/T';
const snapshot = { entity: 'T', token: 'a-1-x', count: 1, sections: [{ name: '', value: null, items: [{ id: 1, n: 1 }] }] };
const diff = { entity: 'T', from: 'a-1-x', to: 'a-2-x', count: 2, sections: { deleted: [], inserted: [] },
  items: { deleted: [], inserted: [{ to: [0, 1], item: { id: 2, n: 2 } }], moved: [], updated: [] } };

const stream = (response, ...list) => {
  response.writeHead(200, { 'Content-Type': 'text/event-stream' });
  response.write('retry: 2000\n\n');
  for (const [event, data] of list) response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
};

/** A network that the test switches on, and a fetch over it. */
function network(isUp) {
  const own = { isUp, fetch: (...args) => (own.isUp ? fetch(...args) : Promise.reject(new TypeError('offline'))) };
  return own;
}

test('a start without a network shows the last result, and resumes from its token', async (context) => {
  const { address, requests } = await served(context, { [path]: [
    (response) => stream(response, ['snapshot', snapshot]), (response) => stream(response, ['diff', diff])] });
  const directory = await mkdtemp(join(tmpdir(), 'livefetch-results-'));
  const before = connect(address, { offline: fileStorage(directory) });
  const first = before.live({ entity: 'T', sort: 'n' });
  await until(() => first.state === 'live');
  await before.close();
  const net = network(false);
  const after = connect(address, { offline: fileStorage(directory), fetch: net.fetch });
  context.after(async () => {
    await after.close();
    await rm(directory, { recursive: true });
  });
  const seen = [];
  const live = after.live({ sort: ['n'], entity: 'T' }, {
    onChange: ({ sections }, { cause }) => seen.push([cause, live.state, sections[0].items.map(({ id }) => id)]),
    onState: (state) => seen.push(state) });
  await until(() => live.state === 'offline');
  assert.deepEqual(seen, [['stored', 'connecting', [1]], 'offline']);
  net.isUp = true;
  await until(() => live.sections[0].items.length === 2);
  assert.deepEqual(seen.slice(2), ['live', ['diff', 'live', [1, 2]]]);
  assert.deepEqual(requests.filter((request) => request.path === path).map(({ query }) => query.since), [undefined, 'a-1-x']);
});

test('a live fetch of another request does not get the stored result', async (context) => {
  const { address } = await served(context, { [path]: [(response) => stream(response, ['snapshot', snapshot])] });
  const storage = memoryStorage();
  const before = connect(address, { offline: storage });
  const first = before.live({ entity: 'T', limit: 1 });
  await until(() => first.state === 'live');
  await before.close();
  const after = connect(address, { offline: storage, fetch: network(false).fetch });
  context.after(() => after.close());
  const live = after.live({ entity: 'T', limit: 2 });
  await until(() => live.state === 'offline');
  assert.equal(live.current, null);
});

test('the results of the 50 requests that were used last are kept', async (context) => {
  const { address } = await served(context, { '/v1/live': [(response, { body }) => stream(response,
    ...Object.keys(body.fetches).map((name) => ['snapshot', { name, ...snapshot }]))] });
  const storage = memoryStorage();
  const client = connect(address, { offline: storage });
  const lives = Array.from({ length: 60 }, (_, limit) => client.live({ entity: 'T', limit }));
  await until(() => lives.every(({ state }) => state === 'live'));
  await client.close();
  const results = async () => (await storage.keys()).filter((key) => key.startsWith('result/')).length;
  assert.equal(await results(), 50);
  const after = connect(address, { offline: storage });
  const other = after.live({ entity: 'T', limit: 70 });
  await until(() => other.state === 'live');
  await after.close();
  assert.equal(await results(), 50);
});

test('results are written within a second after the clock was set back', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  let time = 1e12;
  context.mock.method(Date, 'now', () => time);
  const storage = memoryStorage();
  const results = new StoredResults(storage);
  const changed = (n) => results.changed({ wire: { entity: 'T' }, resumeToken: 'a-1-x', result: { token: 'a-1-x', n } });
  const written = async () => (await storage.get((await storage.keys()).find((key) => key.startsWith('result/')))).result.n;
  changed(1);
  context.mock.timers.tick(0);
  await results.flush();
  assert.equal(await written(), 1);
  time -= 3_600_000;
  changed(2);
  context.mock.timers.tick(1000);
  assert.equal(await written(), 2);
});

test('the model is the last one where the server cannot be reached, a refusal is a refusal', async (context) => {
  const { address } = await served(context, { '/v1/model': [(response) => json(response, { entities: [] }),
    (response) => json(response, { code: 'forbidden', title: 'Forbidden' }, 403)] });
  const storage = memoryStorage();
  const net = network(true);
  const client = connect(address, { offline: storage, fetch: net.fetch });
  context.after(() => client.close());
  await client.model();
  net.isUp = false;
  assert.deepEqual(await client.model(), { entities: [] });
  net.isUp = true;
  await assert.rejects(client.model(), { code: 'forbidden' });
});
