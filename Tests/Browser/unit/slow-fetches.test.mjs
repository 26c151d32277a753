// Fetches that the server does not answer in time, or has no room for: which of them are asked for again, and when.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect } from '../../../Public/livefetch.js';
import { json, served, until } from './script.mjs';

const objects = '/v1/objects/T';
const snapshot = (token, ids) => ({ entity: 'T', token, count: ids.length,
  sections: [{ name: '', value: null, items: ids.map((id) => ({ id })) }] });
const inserted = (from, to, id) => ({ entity: 'T', from, to, count: 2, sections: { deleted: [], inserted: [] },
  items: { deleted: [], inserted: [{ to: [0, 1], item: { id } }], moved: [], updated: [] } });
const tooSlow = { code: 'query-timeout', title: 'Query timeout', status: 504, detail: 'The query ran past the limit.' };
const busy = { code: 'overloaded', title: 'Overloaded', status: 503 };

const open = (response) => response.writeHead(200, { 'Content-Type': 'text/event-stream' });
const say = (response, event, data) => response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
const names = ({ body }) => Object.keys(body.fetches);
const ids = (live) => live.sections.flatMap(({ items }) => items.map(({ id }) => id));

/** The pauses between attempts, which take no time; at random they are the longest possible. */
function pauses(context) {
  const wait = globalThis.setTimeout;
  const list = [];
  context.mock.method(Math, 'random', () => 1);
  context.mock.method(globalThis, 'setTimeout', (run, delay, ...args) => {
    const isPause = new Error().stack.includes('backoff.js');
    if (isPause) list.push(delay);
    return wait(run, isPause ? 0 : delay, ...args);
  });
  return list;
}

test('a fetch that takes longer than the server allows fails and is not asked for again; another one goes on', async (context) => {
  let stream;
  const { address, asked } = await served(context, { '/v1/live': [(response, ask) => {
    stream = response;
    const [good, slow] = names(ask);
    open(response);
    say(response, 'snapshot', { name: good, ...snapshot('a-1-x', [1]) });
    say(response, 'error', { name: slow, ...tooSlow });
  }] });
  const client = connect(address);
  context.after(() => client.close());
  const states = [];
  const good = client.live({ entity: 'T' }, { onState: (state) => states.push(state) });
  const slow = client.live({ entity: 'T', where: 'slow' }, { onError: () => {} });
  await until(() => slow.state === 'failed');
  say(stream, 'diff', { name: good.name, ...inserted('a-1-x', 'a-2-x', 2) });
  await until(() => ids(good).length === 2);
  assert.deepEqual([slow.error.code, slow.error.status, states, asked.length], ['query-timeout', 504, ['live'], 1]);
});

test('a fetch alone that takes longer than the server allows is asked for once', async (context) => {
  for (const answer of [(response) => json(response, tooSlow, 504), (response) => { open(response); say(response, 'error', tooSlow); response.end(); }]) {
    const { address, asked } = await served(context, { [objects]: [answer] });
    const client = connect(address);
    const live = client.live({ entity: 'T' }, { onError: () => {} });
    await until(() => live.state === 'failed');
    client.close();
    assert.deepEqual(asked.map(({ path }) => path).filter((path) => path === objects), [objects]);
  }
});

test('a long-poll of many fetches leaves out the one that takes longer than the server allows', async (context) => {
  const { address, asked } = await served(context, {
    '/v1/live': [
      (response, ask) => json(response, { ...tooSlow, fetch: names(ask)[1] }, 504),
      (response, ask) => json(response, { token: 'a-1-x', results: { [names(ask)[0]]: snapshot('a-1-x', [1]) } }),
      () => {}],
    [objects]: [(response) => json(response, tooSlow, 504)] });
  const client = connect(address, { stream: false });
  context.after(() => client.close());
  const good = client.live({ entity: 'T' });
  const slow = client.live({ entity: 'T', where: 'slow' }, { onError: () => {} });
  await until(() => good.state === 'live' && slow.state === 'failed' && asked.length === 4);
  assert.deepEqual(asked.filter(({ path }) => path === '/v1/live').map((ask) => names(ask).length), [2, 1, 1]);
});

test('a fetch that the server has no room for is asked for after growing pauses, while another one stays live', async (context) => {
  const list = pauses(context);
  const { address, asked } = await served(context, { '/v1/live': [(response, ask) => {
    const [good, late] = names(ask);
    open(response);
    if (!ask.body.fetches[good].since) say(response, 'snapshot', { name: good, ...snapshot('a-1-x', [1]) });
    if (late) say(response, 'error', { name: late, ...busy });
  }] });
  const client = connect(address);
  context.after(() => client.close());
  const states = [];
  client.live({ entity: 'T' }, { onState: (state) => states.push(state) });
  const late = client.live({ entity: 'T', where: 'late' });
  await until(() => asked.length === 4);
  await until(() => list.length >= 4);
  assert.deepEqual(list.slice(0, 4), [250, 500, 1000, 2000]);
  assert.deepEqual([states, late.state, late.error.code], [['live'], 'offline', 'overloaded']);
});

test('a fetch alone that the server has no room for rests as well, until it is answered', async (context) => {
  const list = pauses(context);
  const refuse = (response) => { open(response); say(response, 'error', busy); response.end(); };
  const { address, asked } = await served(context, { [objects]: [refuse, refuse,
    (response) => { open(response); say(response, 'snapshot', snapshot('a-1-x', [1])); say(response, 'error', busy); response.end(); },
    (response) => { open(response); say(response, 'diff', inserted('a-1-x', 'a-2-x', 2)); }] });
  const client = connect(address);
  context.after(() => client.close());
  const live = client.live({ entity: 'T' });
  await until(() => live.sections[0]?.items.length === 2);
  assert.deepEqual(list, [250, 500, 250]);
  assert.deepEqual(asked.filter(({ path }) => path === objects).map(({ query }) => query.since), [undefined, undefined, undefined, 'a-1-x']);
});

test('a fetch that rests is not asked for after it was closed', async (context) => {
  const { address, asked } = await served(context, { [objects]: [
    (response) => { open(response); say(response, 'error', busy); response.end(); }] });
  const live = connect(address).live({ entity: 'T' });
  await until(() => live.state === 'offline');
  live.close();
  await new Promise((resolve) => { setTimeout(resolve, 400); });
  assert.equal(asked.filter(({ path }) => path === objects).length, 1);
});

test('Retry-After is honoured, in seconds and as a date', async (context) => {
  const list = pauses(context);
  const later = (value) => (response) => {
    response.writeHead(503, { 'Content-Type': 'application/json', 'Retry-After': value });
    response.end(JSON.stringify(busy));
  };
  const { address } = await served(context, { [objects]: [later('7'),
    later(new Date(Date.now() + 3_600_000).toUTCString()), later('soon'),
    (response) => { open(response); say(response, 'snapshot', snapshot('a-1-x', [1])); }] });
  const client = connect(address);
  context.after(() => client.close());
  const live = client.live({ entity: 'T' });
  await until(() => live.state === 'live');
  assert.equal(list[0], 7000);
  assert.ok(list[1] > 3_500_000 && list[1] <= 3_600_000, String(list[1]));
  assert.equal(list[2], 1000);
});
