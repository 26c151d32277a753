// The token of many fetches: one that does not change continues from it as well.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect, memoryStorage } from '../../../Public/livefetch.js';
import { EventParser } from '../../../Public/livefetch/events.js';
import { json, served, until } from './script.mjs';

const snapshot = (token, ids) => ({ entity: 'T', token, count: ids.length,
  sections: [{ name: '', value: null, items: ids.map((id) => ({ id })) }] });
const diff = (from, to, id) => ({ entity: 'T', from, to, count: 2, sections: { deleted: [], inserted: [] },
  items: { deleted: [], inserted: [{ to: [0, 0], item: { id } }], moved: [], updated: [] } });
const ids = (live) => live.sections.flatMap(({ items }) => items.map(({ id }) => id));
const since = ({ body }) => Object.values(body.fetches).map((fetch) => fetch.since);

/** Writes events `[kind, data, id]`; without a kind only the id. */
function stream(response, ...list) {
  response.writeHead(200, { 'Content-Type': 'text/event-stream' });
  for (const [kind, data, id] of list) {
    if (kind) response.write(`event: ${kind}\ndata: ${JSON.stringify(data)}\n`);
    if (id) response.write(`id: ${id}\n`);
    response.write('\n');
  }
}

async function follow(context, script, options) {
  const { address, requests } = await served(context, { '/v1/live': script });
  const client = connect(address, options);
  context.after(() => client.close());
  const lives = ['a', 'b'].map((where) => client.live({ entity: 'T', where }));
  return { client, lives, requests };
}

test('a fetch that does not change resumes from the token of the whole stream', async (context) => {
  const { lives, requests } = await follow(context, [
    (response, { body }) => {
      const [a, b] = Object.keys(body.fetches);
      stream(response, ['snapshot', { name: a, ...snapshot('a-1-x', [1]) }], ['snapshot', { name: b, ...snapshot('a-2-x', [5]) }],
        ['diff', { name: b, ...diff('a-2-x', 'a-7-x', 4) }, 'a-7-x']);
      response.end();
    },
    (response, { body }) => stream(response, ['diff', { name: Object.keys(body.fetches)[0], ...diff('a-7-x', 'a-9-x', 2) }])]);
  await until(() => ids(lives[0]).length === 2);
  assert.deepEqual(lives.map(ids), [[2, 1], [4, 5]]);
  assert.deepEqual(since(requests[1]), ['a-7-x', 'a-7-x']);
});

test('an id without an event is a token of the whole stream', async (context) => {
  assert.deepEqual(new EventParser().push('id: a-7-x\n\n'), [{ event: 'message', id: 'a-7-x', data: '' }]);
  const { lives, requests } = await follow(context, [
    (response, { body }) => {
      const [a, b] = Object.keys(body.fetches);
      stream(response, ['snapshot', { name: a, ...snapshot('a-1-x', [1]) }], ['snapshot', { name: b, ...snapshot('a-1-x', [5]) }],
        [null, null, 'a-7-x']);
      response.end();
    }, () => {}]);
  await until(() => requests.length === 2);
  assert.deepEqual(lives.map(ids), [[1], [5]]);
  assert.deepEqual(since(requests[1]), ['a-7-x', 'a-7-x']);
});

test('a diff of a stream may begin at the token of its fetch or at that of the stream', async (context) => {
  for (const from of ['a-1-x', 'a-7-x']) {
    const { lives, requests } = await follow(context, [(response, { body }) => {
      const [a, b] = Object.keys(body.fetches);
      stream(response, ['snapshot', { name: a, ...snapshot('a-1-x', [1]) }],
        ['snapshot', { name: b, ...snapshot('a-7-x', [5]) }, 'a-7-x'], ['diff', { name: a, ...diff(from, 'a-9-x', 2) }]);
    }]);
    await until(() => ids(lives[0]).length === 2);
    assert.deepEqual([ids(lives[0]), lives[0].current.token, requests.length], [[2, 1], 'a-9-x', 1]);
  }
});

test('a diff may begin at the token from which its connection continued, also after newer tokens', async (context) => {
  const { lives, requests } = await follow(context, [
    (response, { body }) => {
      const [a, b] = Object.keys(body.fetches);
      stream(response, ['snapshot', { name: a, ...snapshot('a-1-x', [1]) }], ['snapshot', { name: b, ...snapshot('a-5-x', [5]) }, 'a-5-x']);
      response.end();
    },
    (response, { body }) => {
      const [a, b] = Object.keys(body.fetches);
      stream(response, ['diff', { name: b, ...diff('a-5-x', 'a-7-x', 4) }, 'a-7-x'], ['diff', { name: a, ...diff('a-5-x', 'a-9-x', 2) }]);
    }]);
  await until(() => ids(lives[0]).length === 2);
  assert.deepEqual([lives.map(ids), lives[0].current.token], [[[2, 1], [4, 5]], 'a-9-x']);
  assert.deepEqual([since(requests[1]), requests.length], [['a-5-x', 'a-5-x'], 2]);
});

test('a fetch that does not change continues from the token of an answer to many', async (context) => {
  const { lives, requests } = await follow(context, [
    (response, { body }) => json(response, { token: 'a-7-x',
      results: Object.fromEntries(Object.keys(body.fetches).map((name) => [name, snapshot('a-1-x', [1])])) }),
    () => {}], { stream: false });
  await until(() => requests.length === 2);
  assert.deepEqual([lives.map(ids), since(requests[1])], [[[1], [1]], ['a-7-x', 'a-7-x']]);
});

test('a result that does not change is stored with the token of the stream', async (context) => {
  const storage = memoryStorage();
  const { client, lives } = await follow(context, [(response, { body }) => stream(response,
    ...Object.keys(body.fetches).map((name) => ['snapshot', { name, ...snapshot('a-1-x', [1]) }]), [null, null, 'a-7-x'])], { offline: storage });
  await until(() => lives.every(({ resumeToken }) => resumeToken === 'a-7-x'));
  await client.close();
  const keys = (await storage.keys()).filter((key) => key.startsWith('result/'));
  assert.deepEqual(await Promise.all(keys.map(async (key) => (await storage.get(key)).result.token)), ['a-7-x', 'a-7-x']);
});

test('the token of a stream settles a save that does not change the result', async (context) => {
  let write;
  const { address } = await served(context, {
    '/v1/live': [(response, { body }) => {
      const [name] = Object.keys(body.fetches);
      stream(response, ['snapshot', { name, ...snapshot('a-1-x', [1]) }]);
      write = () => response.write('id: a-2-x\n\n');
    }],
    '/v1/save': [(response) => json(response, { token: 'a-2-x', ids: {}, inserted: 0, updated: 1, deleted: 0 })],
  });
  const client = connect(address);
  context.after(() => client.close());
  const live = client.live({ entity: 'T' });
  await until(() => live.state === 'live');
  await client.update('T', 1, { n: 1 });
  assert.equal(live.current.isPending, true);
  write();
  await until(() => !live.current.isPending);
});

test('a fetch that rests after an error keeps its token', async (context) => {
  const { lives, requests } = await follow(context, [
    (response, { body }) => {
      const [a, b] = Object.keys(body.fetches);
      stream(response, ['snapshot', { name: a, ...snapshot('a-1-x', [1]) }], ['snapshot', { name: b, ...snapshot('a-1-x', [5]) }],
        ['error', { name: a, code: 'overloaded', title: 'Busy', status: 503 }], ['diff', { name: b, ...diff('a-1-x', 'a-7-x', 4) }, 'a-7-x']);
    }, () => {}]);
  await until(() => requests.length === 2);
  assert.deepEqual([lives.map(ids), since(requests[1])], [[[1], [4, 5]], ['a-1-x', 'a-7-x']]);
});

test('a fetch that continues is live when it is up to date, not when its stream opens', async (context) => {
  const ends = [];
  let write;
  const { lives } = await follow(context, [
    (response, { body }) => {
      stream(response, ...Object.keys(body.fetches).map((name) => ['snapshot', { name, ...snapshot('a-1-x', [1]) }]));
      ends.push(() => response.end());
    },
    (response, { body }) => {
      stream(response);
      response.write(': open\n\n');
      const [a] = Object.keys(body.fetches);
      write = [() => event(response, ['diff', { name: a, ...diff('a-1-x', 'a-2-x', 2) }]), () => response.write('id: a-1-x\n\n')];
    }]);
  const event = (response, [kind, data]) => response.write(`event: ${kind}\ndata: ${JSON.stringify(data)}\n\n`);
  await until(() => lives.every(({ state }) => state === 'live'));
  const opened = [];
  for (const live of lives) {
    const connected = live.connected.bind(live);
    live.connected = () => { connected(); opened.push(live.state); };
  }
  ends[0]();
  await until(() => opened.length === 2);
  assert.deepEqual(opened, ['offline', 'offline']);
  write[0]();
  await until(() => ids(lives[0]).length === 2);
  assert.deepEqual(lives.map(({ state }) => state), ['live', 'offline']);
  write[1]();
  await until(() => lives[1].state === 'live');
});
