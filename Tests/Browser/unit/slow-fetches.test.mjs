// Fetches that exceed the server's time limit, or that an overloaded server refuses: which of them the client requests
// again, and when.

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

const openStream = (response) => response.writeHead(200, { 'Content-Type': 'text/event-stream' });
const send = (response, event, data) => response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
const names = ({ body }) => Object.keys(body.fetches);
const ids = (live) => live.sections.flatMap(({ items }) => items.map(({ id }) => id));

/** Records the pauses between attempts in milliseconds, and skips them. The random part of each is the largest. */
function recordPauses(context) {
  const wait = globalThis.setTimeout;
  const pauses = [];
  context.mock.method(Math, 'random', () => 1);
  context.mock.method(globalThis, 'setTimeout', (run, delay, ...args) => {
    const isPause = new Error().stack.includes('backoff.js');
    if (isPause) pauses.push(delay);
    return wait(run, isPause ? 0 : delay, ...args);
  });
  return pauses;
}

test('a fetch that exceeds the time limit fails and is not requested again; another one stays live', async (context) => {
  let stream;
  const { address, requests } = await served(context, { '/v1/live': [(response, request) => {
    stream = response;
    const [good, slow] = names(request);
    openStream(response);
    send(response, 'snapshot', { name: good, ...snapshot('a-1-x', [1]) });
    send(response, 'error', { name: slow, ...tooSlow });
  }] });
  const client = connect(address);
  context.after(() => client.close());
  const states = [];
  const good = client.live({ entity: 'T' }, { onState: (state) => states.push(state) });
  const slow = client.live({ entity: 'T', where: 'slow' }, { onError: () => {} });
  await until(() => slow.state === 'failed');
  send(stream, 'diff', { name: good.name, ...inserted('a-1-x', 'a-2-x', 2) });
  await until(() => ids(good).length === 2);
  assert.deepEqual([slow.error.code, slow.error.status, states, requests.length], ['query-timeout', 504, ['live'], 1]);
});

test('a single fetch that exceeds the time limit is requested once', async (context) => {
  for (const answer of [(response) => json(response, tooSlow, 504), (response) => { openStream(response); send(response, 'error', tooSlow); response.end(); }]) {
    const { address, requests } = await served(context, { [objects]: [answer] });
    const client = connect(address);
    const live = client.live({ entity: 'T' }, { onError: () => {} });
    await until(() => live.state === 'failed');
    client.close();
    assert.deepEqual(requests.map(({ path }) => path).filter((path) => path === objects), [objects]);
  }
});

test('a long-poll of many fetches leaves out the one that exceeds the time limit', async (context) => {
  const { address, requests } = await served(context, {
    '/v1/live': [
      (response, request) => json(response, { ...tooSlow, fetch: names(request)[1] }, 504),
      (response, request) => json(response, { token: 'a-1-x', results: { [names(request)[0]]: snapshot('a-1-x', [1]) } }),
      () => {}],
    [objects]: [(response) => json(response, tooSlow, 504)] });
  const client = connect(address, { stream: false });
  context.after(() => client.close());
  const good = client.live({ entity: 'T' });
  const slow = client.live({ entity: 'T', where: 'slow' }, { onError: () => {} });
  await until(() => good.state === 'live' && slow.state === 'failed' && requests.length === 4);
  assert.deepEqual(requests.filter(({ path }) => path === '/v1/live').map((request) => names(request).length), [2, 1, 1]);
});

test('a fetch that an overloaded server refuses is requested again after growing pauses, while another one stays live', async (context) => {
  const pauses = recordPauses(context);
  const { address, requests } = await served(context, { '/v1/live': [(response, request) => {
    const [good, late] = names(request);
    openStream(response);
    if (!request.body.fetches[good].since) send(response, 'snapshot', { name: good, ...snapshot('a-1-x', [1]) });
    if (late) send(response, 'error', { name: late, ...busy });
  }] });
  const client = connect(address);
  context.after(() => client.close());
  const states = [];
  client.live({ entity: 'T' }, { onState: (state) => states.push(state) });
  const late = client.live({ entity: 'T', where: 'late' });
  await until(() => requests.length === 4);
  await until(() => pauses.length >= 4);
  assert.deepEqual(pauses.slice(0, 4), [250, 500, 1000, 2000]);
  assert.deepEqual([states, late.state, late.error.code], [['live'], 'offline', 'overloaded']);
});

test('a single fetch that an overloaded server refuses is requested again after pauses, until it is answered', async (context) => {
  const pauses = recordPauses(context);
  const refuse = (response) => { openStream(response); send(response, 'error', busy); response.end(); };
  const { address, requests } = await served(context, { [objects]: [refuse, refuse,
    (response) => { openStream(response); send(response, 'snapshot', snapshot('a-1-x', [1])); send(response, 'error', busy); response.end(); },
    (response) => { openStream(response); send(response, 'diff', inserted('a-1-x', 'a-2-x', 2)); }] });
  const client = connect(address);
  context.after(() => client.close());
  const live = client.live({ entity: 'T' });
  await until(() => live.sections[0]?.items.length === 2);
  assert.deepEqual(pauses, [250, 500, 250]);
  assert.deepEqual(requests.filter(({ path }) => path === objects).map(({ query }) => query.since), [undefined, undefined, undefined, 'a-1-x']);
});

test('a fetch that pauses is not requested after it was closed', async (context) => {
  const { address, requests } = await served(context, { [objects]: [
    (response) => { openStream(response); send(response, 'error', busy); response.end(); }] });
  const live = connect(address).live({ entity: 'T' });
  await until(() => live.state === 'offline');
  live.close();
  await new Promise((resolve) => { setTimeout(resolve, 400); });
  assert.equal(requests.filter(({ path }) => path === objects).length, 1);
});

test('the pause is that of Retry-After, in seconds or as a date', async (context) => {
  const pauses = recordPauses(context);
  const later = (value) => (response) => {
    response.writeHead(503, { 'Content-Type': 'application/json', 'Retry-After': value });
    response.end(JSON.stringify(busy));
  };
  const { address } = await served(context, { [objects]: [later('7'),
    later(new Date(Date.now() + 3_600_000).toUTCString()), later('soon'),
    (response) => { openStream(response); send(response, 'snapshot', snapshot('a-1-x', [1])); }] });
  const client = connect(address);
  context.after(() => client.close());
  const live = client.live({ entity: 'T' });
  await until(() => live.state === 'live');
  assert.equal(pauses[0], 7000);
  assert.ok(pauses[1] > 3_500_000 && pauses[1] <= 3_600_000, String(pauses[1]));
  assert.equal(pauses[2], 1000);
});
