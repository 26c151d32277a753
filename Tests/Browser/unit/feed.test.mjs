// The client against a server that answers by a script: what a real one does only when something
// goes wrong. Each step of a script answers one request and checks what was requests.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect } from '../../../Public/livefetch.js';
import { json, served, until } from './script.mjs';

const snapshot = (token, ids, more = {}) => ({ entity: 'T', token, count: ids.length,
  sections: [{ name: '', value: null, items: ids.map((id) => ({ id })) }], ...more });
const diff = (from, to, items = {}, more = {}) => ({ entity: 'T', from, to, count: 0,
  sections: { deleted: [], inserted: [] },
  items: { deleted: [], inserted: [], moved: [], updated: [], ...items }, ...more });
const insert = (place, id) => ({ inserted: [{ to: [0, place], item: { id } }] });

const events = (response, ...list) => {
  response.writeHead(200, { 'Content-Type': 'text/event-stream' });
  response.write('retry: 2000\n\n');
  for (const [event, data] of list) response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
};

const objects = '/v1/objects/T';
const ids = (live) => live.sections.flatMap(({ items }) => items.map(({ id }) => id));

test('a fetch that is added does not shorten the pause that the server has requested', async (context) => {
  const busy = (response) => {
    response.writeHead(503, { 'Content-Type': 'application/json', 'Retry-After': '1' });
    response.end('{"code":"overloaded"}');
  };
  const { address, requests } = await served(context, { '/v1/live': [busy, (response, { body }) =>
    events(response, ...Object.keys(body.fetches).map((name) => ['snapshot', { name, ...snapshot('a-1-x', [1]) }]))] });
  const client = connect(address);
  context.after(() => client.close());
  const began = performance.now();
  const first = client.live({ entity: 'T' });
  await until(() => first.state === 'offline');
  const second = client.live({ entity: 'T', limit: 1 });
  await until(() => [first, second].every(({ state }) => state === 'live'));
  assert.ok(performance.now() - began > 900);
  assert.deepEqual(requests.map(({ body }) => Object.keys(body.fetches).length), [1, 2]);
});

test('the answer of a long-poll may take long as long as parts of it come', async (context) => {
  context.mock.timers.enable({ apis: ['setInterval', 'Date'] });
  let slow;
  const text = JSON.stringify(snapshot('a-1-x', [1]));
  const { address, requests } = await served(context, { [objects]: [(response) => {
    slow = response;
    response.writeHead(200, { 'Content-Type': 'application/json' });
    response.write(text.slice(0, 9));
  }, () => {}] });
  const client = connect(address, { stream: false, multiplex: false });
  context.after(() => client.close());
  const live = client.live({ entity: 'T' });
  const arrived = () => new Promise((resolve) => { setTimeout(resolve, 100); });
  await until(() => slow);
  for (let index = 9; index < text.length; index += 40) {
    await arrived();
    context.mock.timers.tick(30_000);
    slow.write(text.slice(index, index + 40));
  }
  slow.end();
  await until(() => live.state === 'live' && requests.length === 2);
  assert.deepEqual(ids(live), [1]);
  context.mock.timers.tick(41_000);
  await until(() => live.state === 'offline');
  assert.equal(live.error.message, 'The connection went silent.');
});

test('a stream that goes silent is noticed though the clock was set back', async (context) => {
  context.mock.timers.enable({ apis: ['setInterval'] });
  let time = 1e12;
  context.mock.method(Date, 'now', () => time);
  const pass = (seconds) => {
    for (let n = 0; n < seconds; n += 1) {
      time += 1000;
      context.mock.timers.tick(1000);
    }
  };
  const { address } = await served(context, { [objects]: [(response) => events(response, ['snapshot', snapshot('a-1-x', [1])]), () => {}] });
  const client = connect(address, { multiplex: false });
  context.after(() => client.close());
  const live = client.live({ entity: 'T' });
  await until(() => live.state === 'live');
  time -= 3_600_000;
  pass(39);
  assert.equal(live.state, 'live');
  pass(2);
  await until(() => live.state === 'offline');
  assert.equal(live.error.message, 'The connection went silent.');
});

test('a stream that ends is opened again from the last token, with the credential', async (context) => {
  const { address, requests } = await served(context, { [objects]: [
    (response) => { events(response, ['snapshot', snapshot('a-1-x', [1])], ['diff', diff('a-1-x', 'a-2-x', insert(1, 2))]); response.end(); },
    (response) => events(response, ['diff', diff('a-2-x', 'a-3-x', insert(0, 3))])] });
  const client = connect(address, { token: async () => 'secret' });
  context.after(() => client.close());
  const live = client.live({ entity: 'T' });
  await until(() => ids(live).length === 3);
  assert.deepEqual(ids(live), [3, 1, 2]);
  const streams = requests.filter(({ path }) => path === objects);
  assert.deepEqual(streams.map(({ query }) => query.since), [undefined, 'a-2-x']);
  assert.ok(streams.every(({ headers }) => headers.authorization === 'Bearer secret'));
});

const unauthorized = { status: 401, code: 'unauthorized', title: 'Unauthorized' };

test('a stream whose credential ends goes on from its token with the next credential', async (context) => {
  let isRefused = false;
  const { address, requests } = await served(context, { [objects]: [
    (response) => { events(response, ['snapshot', snapshot('a-1-x', [1])], ['error', unauthorized]); response.end(); },
    (response) => { isRefused = true; json(response, unauthorized, 401); },
    (response) => events(response, ['diff', diff('a-1-x', 'a-2-x', insert(1, 2))])] });
  const client = connect(address, { multiplex: false, token: async () => (isRefused ? 'second' : 'first') });
  context.after(() => client.close());
  const live = client.live({ entity: 'T' });
  await until(() => ids(live).length === 2);
  assert.equal(live.state, 'live');
  const streams = requests.filter(({ path }) => path === objects);
  assert.deepEqual(streams.map(({ query }) => query.since), [undefined, 'a-1-x', 'a-1-x']);
  assert.deepEqual(streams.map(({ headers }) => headers.authorization), ['Bearer first', 'Bearer first', 'Bearer second']);
});

test('without another credential it fails with 401 and keeps its items', async (context) => {
  for (const token of ['fixed', () => 'the same']) {
    const { address, requests } = await served(context, { [objects]: [
      (response) => { events(response, ['snapshot', snapshot('a-1-x', [1])], ['error', unauthorized]); response.end(); },
      (response) => json(response, unauthorized, 401)] });
    const client = connect(address, { token });
    context.after(() => client.close());
    const live = client.live({ entity: 'T' }, { onError: () => {} });
    await until(() => live.state === 'failed');
    assert.deepEqual([live.error.status, live.error.code], [401, 'unauthorized']);
    assert.deepEqual(ids(live), [1]);
    assert.equal(requests.filter(({ path }) => path === objects).length, 2);
  }
});

test('a save and a fetch whose credential is refused are sent once more with another one', async (context) => {
  const { address, requests } = await served(context, {
    [objects]: [(response) => json(response, unauthorized, 401), (response) => json(response, snapshot('a-1-x', [1]))],
    '/v1/save': [(response) => json(response, unauthorized, 401),
      (response) => json(response, { token: 'a-2-x', ids: {}, inserted: 0, updated: 1, deleted: 0 })] });
  let number = 0;
  const client = connect(address, { token: () => `key ${number += 1}` });
  context.after(() => client.close());
  assert.equal((await client.fetch({ entity: 'T' })).token, 'a-1-x');
  assert.equal((await client.save([{ update: 'T', id: 1, values: { n: 1 } }])).token, 'a-2-x');
  assert.deepEqual(requests.map(({ path, headers }) => [path, headers.authorization]),
    [[objects, 'Bearer key 1'], [objects, 'Bearer key 2'], ['/v1/save', 'Bearer key 3'], ['/v1/save', 'Bearer key 4']]);
});

test('where streams do not come through, long-polls do', async (context) => {
  const { address, requests } = await served(context, { [objects]: [
    (response) => json(response, snapshot('a-1-x', [1])),
    (response) => json(response, snapshot('a-1-x', [1])),
    (response) => json(response, diff('a-1-x', 'a-2-x', insert(1, 2))),
    () => {}] });
  const client = connect(address);
  context.after(() => client.close());
  const live = client.live({ entity: 'T' });
  await until(() => ids(live).length === 2);
  await until(() => requests.filter(({ path }) => path === objects).length === 4);
  const fetches = requests.filter(({ path }) => path === objects);
  assert.deepEqual(fetches.map(({ isStream }) => isStream), [true, false, false, false]);
  assert.deepEqual(fetches.map(({ query }) => [query.since, query.wait]),
    [[undefined, undefined], [undefined, undefined], ['a-1-x', '25'], ['a-2-x', '25']]);
});

test('an expired token leads to a new snapshot', async (context) => {
  const { address } = await served(context, { [objects]: [
    (response) => { events(response, ['snapshot', snapshot('a-1-x', [1])]); response.end(); },
    (response) => json(response, { code: 'token-expired', status: 410 }, 410),
    (response, { query }) => { assert.equal(query.since, undefined); events(response, ['snapshot', snapshot('b-9-x', [7])]); }] });
  const client = connect(address);
  context.after(() => client.close());
  const live = client.live({ entity: 'T' });
  await until(() => ids(live)[0] === 7);
  assert.equal(live.current.token, 'b-9-x');
});

test('a stream that ends because the schema has changed leads to a new snapshot', async (context) => {
  const problem = { code: 'schema-changed', status: 410, title: 'Gone' };
  const { address } = await served(context, { [objects]: [
    (response) => { events(response, ['snapshot', snapshot('a-1-x', [1])], ['error', problem]); response.end(); },
    (response, { query }) => { assert.equal(query.since, undefined); events(response, ['snapshot', snapshot('b-9-x', [7])]); }] });
  const client = connect(address);
  context.after(() => client.close());
  const live = client.live({ entity: 'T' });
  await until(() => ids(live)[0] === 7);
  assert.equal(live.current.token, 'b-9-x');
});

test('a digest that differs is reported and mended by a new snapshot', async (context) => {
  const wrong = diff('a-1-x', 'a-2-x', insert(1, 2), { digest: '00000000' });
  const { address } = await served(context, { [objects]: [
    (response) => events(response, ['snapshot', snapshot('a-1-x', [1])], ['diff', wrong]),
    (response) => events(response, ['snapshot', snapshot('a-2-x', [1, 9])])] });
  const client = connect(address);
  context.after(() => client.close());
  const reports = [];
  const live = client.live({ entity: 'T' }, { onReport: ({ kind }) => reports.push(kind) });
  await until(() => ids(live).includes(9));
  assert.deepEqual(reports, ['digest-mismatch', 'out-of-step']);
});

test('many fetches share one stream, and each goes on from its own token', async (context) => {
  const { address, requests } = await served(context, { '/v1/live': [
    (response, { body }) => {
      const [a, b] = Object.keys(body.fetches);
      events(response, ['snapshot', { name: a, ...snapshot('a-1-x', [1]) }], ['snapshot', { name: b, ...snapshot('a-1-x', [5]) }],
        ['diff', { name: b, ...diff('a-1-x', 'a-2-x', insert(0, 4)) }]);
      response.end();
    },
    (response, { body }) => events(response, ['diff', { name: Object.keys(body.fetches)[0], ...diff('a-1-x', 'a-3-x', insert(0, 2)) }])] });
  const client = connect(address);
  context.after(() => client.close());
  const lives = [client.live({ entity: 'T', where: 'a' }), client.live({ entity: 'T', where: 'b' })];
  await until(() => ids(lives[0]).length === 2 && ids(lives[1]).length === 2);
  assert.deepEqual(lives.map(ids), [[2, 1], [4, 5]]);
  assert.deepEqual(requests.map(({ path }) => path), ['/v1/live', '/v1/live']);
  assert.deepEqual(Object.values(requests[1].body.fetches).map(({ since }) => since), ['a-1-x', 'a-2-x']);
});

test('a fetch that ends on a shared stream ends alone', async (context) => {
  const { address, requests } = await served(context, { '/v1/live': [
    (response, { body }) => {
      const [a, b] = Object.keys(body.fetches);
      events(response, ['snapshot', { name: a, ...snapshot('a-1-x', [1]) }], ['snapshot', { name: b, ...snapshot('a-1-x', [5]) }],
        ['error', { name: b, code: 'unknown-entity', title: 'Gone', status: 400 }],
        ['diff', { name: a, ...diff('a-1-x', 'a-3-x', insert(0, 2)) }]);
    }] });
  const client = connect(address);
  context.after(() => client.close());
  const states = [];
  const lives = [client.live({ entity: 'T', where: 'a' }, { onState: (state) => states.push(state) }), client.live({ entity: 'U' })];
  await until(() => ids(lives[0]).length === 2 && lives[1].state === 'failed');
  assert.deepEqual([lives[1].error.code, states, requests.length], ['unknown-entity', ['live'], 1]);
});

test('a fetch that an answer to many lacks is requested again at once, without a token', async (context) => {
  const { address, requests } = await served(context, { '/v1/live': [
    (response, { body }) => json(response, { token: 'a-1-x', results: { [Object.keys(body.fetches)[0]]: snapshot('a-1-x', [1]) } }),
    (response, { body }) => json(response, { token: 'a-1-x', results: { [Object.keys(body.fetches)[1]]: snapshot('a-1-x', [5]) } }),
    () => {}] });
  const client = connect(address, { stream: false });
  context.after(() => client.close());
  const lives = [client.live({ entity: 'T', where: 'a' }), client.live({ entity: 'T', where: 'b' })];
  await until(() => requests.length === 3);
  assert.deepEqual(lives.map(ids), [[1], [5]]);
  assert.deepEqual(lives.map(({ state }) => state), ['live', 'live']);
  assert.deepEqual(requests.map(({ body }) => Object.values(body.fetches).map(({ since }) => since)),
    [[undefined, undefined], ['a-1-x', undefined], ['a-1-x', 'a-1-x']]);
});

test('a fetch among many whose token has expired begins anew, and the others are told', async (context) => {
  const { address, requests } = await served(context, { '/v1/live': [
    (response, { body }) => {
      const [a, b] = Object.keys(body.fetches);
      json(response, { token: 'a-1-x', results: { [a]: snapshot('a-1-x', [1]), [b]: snapshot('a-1-x', [5]) } });
    },
    (response, { body }) => {
      const [a, b] = Object.keys(body.fetches);
      json(response, { token: 'a-2-x', results: { [a]: { status: 410, code: 'token-expired', title: 'Token expired' },
        [b]: diff('a-1-x', 'a-2-x', insert(0, 4)) } });
    },
    (response, { body }) => json(response, { token: 'a-2-x', results: { [Object.keys(body.fetches)[0]]: snapshot('a-2-x', [7]) } }),
    () => {}] });
  const client = connect(address, { stream: false });
  context.after(() => client.close());
  const lives = [client.live({ entity: 'T', where: 'a' }), client.live({ entity: 'T', where: 'b' })];
  await until(() => requests.length === 4);
  assert.deepEqual(lives.map(ids), [[7], [4, 5]]);
  assert.deepEqual(requests.slice(2).map(({ body }) => Object.values(body.fetches).map(({ since }) => since)),
    [[undefined, 'a-2-x'], ['a-2-x', 'a-2-x']]);
});

test('the fetch that a refusal names is the only one to lose the shared connection', async (context) => {
  const { address, requests } = await served(context, {
    '/v1/live': [
      (response, { body }) => json(response, { fetch: Object.keys(body.fetches)[1], code: 'syntax-error', title: 'Bad predicate' }, 400),
      (response, { body }) => events(response, ['snapshot', { name: Object.keys(body.fetches)[0], ...snapshot('a-1-x', [1]) }])],
    [objects]: [(response) => json(response, { code: 'syntax-error', title: 'Bad predicate', offset: 2 }, 400)] });
  const client = connect(address);
  context.after(() => client.close());
  const good = client.live({ entity: 'T', where: 'good' });
  const bad = client.live({ entity: 'T', where: 'bad' });
  await until(() => good.state === 'live' && bad.state === 'failed');
  assert.deepEqual([...new Set(requests.map(({ path }) => path))].sort(), [objects, '/v1/live'].sort());
});

test('one bad fetch among many fails alone', async (context) => {
  const { address } = await served(context, {
    '/v1/live': [(response) => json(response, { code: 'syntax-error', title: 'Bad predicate' }, 400)],
    [objects]: [(response, { query }) => (query.where === 'bad'
      ? json(response, { code: 'syntax-error', title: 'Bad predicate', offset: 2 }, 400)
      : events(response, ['snapshot', snapshot('a-1-x', [1])]))] });
  const client = connect(address);
  context.after(() => client.close());
  const good = client.live({ entity: 'T', where: 'good' });
  const bad = client.live({ entity: 'T', where: 'bad' });
  await until(() => good.state === 'live' && bad.state === 'failed');
  assert.equal(bad.error.offset, 2);
});

test('an edit shows at once and goes back where the server refuses it', async (context) => {
  const { address } = await served(context, {
    [objects]: [(response) => events(response, ['snapshot', { ...snapshot('a-1-x', []),
      sections: [{ name: '', value: null, items: [{ id: 1, n: 1 }] }] }])],
    '/v1/save': [(response) => setTimeout(() => json(response, { code: 'conflict', title: 'Conflict',
      errors: [{ change: 0, code: 'changed' }] }, 409), 30)] });
  const client = connect(address);
  context.after(() => client.close());
  const seen = [];
  const live = client.live({ entity: 'T' }, { onChange: ({ sections }, { cause }) => seen.push([cause, sections[0].items[0].n]) });
  await until(() => live.state === 'live');
  await assert.rejects(client.update('T', 1, { n: 2 }), { status: 409, code: 'conflict' });
  assert.deepEqual(seen, [['snapshot', 1], ['edit', 2], ['rollback', 1]]);
});

test('the first of many edits is shown at once, the others together', async (context) => {
  const { address } = await served(context, { [objects]: [(response) => events(response, ['snapshot', snapshot('a-1-x', [1, 2, 3, 4])])],
    '/v1/save': [() => {}] });
  const client = connect(address);
  context.after(() => client.close());
  const seen = [];
  const live = client.live({ entity: 'T' }, { onChange: ({ sections }, { cause }) => seen.push([cause, sections[0].items.length]) });
  await until(() => live.state === 'live');
  let calls = 0;
  live.subscribe(() => { calls += 1; });
  for (const id of [1, 2, 3]) client.delete('T', id).catch(() => {});
  assert.deepEqual([seen.at(-1), ids(live), live.current.count], [['edit', 3], [4], 1]);
  await null;
  assert.deepEqual([seen, ids(live), calls], [[['snapshot', 4], ['edit', 3], ['edit', 1]], [4], 2]);
  client.delete('T', 4).catch(() => {});
  assert.deepEqual([seen.at(-1), ids(live)], [['edit', 0], []]);
});

test('values that are no object do not end the program', async (context) => {
  const { address } = await served(context, { [objects]: [(response) => events(response, ['snapshot', snapshot('a-1-x', [1])])],
    '/v1/save': [(response) => json(response, { code: 'malformed-save', title: 'Bad request' }, 400)] });
  const client = connect(address);
  context.after(() => client.close());
  const live = client.live({ entity: 'T' });
  await until(() => live.state === 'live');
  const all = await Promise.allSettled([1, 2, 3].map(() => client.update('T', 1, null)));
  assert.deepEqual(all.map(({ reason }) => reason.code), Array(3).fill('malformed-save'));
});

test('an edit settles with the diff that contains its save, not with one before', async (context) => {
  let stream;
  const item = (n) => ({ updated: [{ from: [0, 0], to: [0, 0], id: 1, changed: { n } }] });
  const { address } = await served(context, {
    [objects]: [(response) => { stream = response; events(response, ['snapshot', { ...snapshot('a-1-x', []),
      sections: [{ name: '', value: null, items: [{ id: 1, n: 1 }] }] }]); }],
    '/v1/save': [(response) => json(response, { token: 'a-3-x', ids: {}, inserted: 0, updated: 1, deleted: 0 })] });
  const client = connect(address);
  context.after(() => client.close());
  const live = client.live({ entity: 'T' });
  await until(() => live.state === 'live');
  await client.update('T', 1, { n: 5 });
  const say = (data) => stream.write(`event: diff\ndata: ${JSON.stringify(data)}\n\n`);
  say(diff('a-1-x', 'a-2-x', item(4)));
  await until(() => live.current.token === 'a-2-x');
  assert.deepEqual([live.sections[0].items[0].n, live.current.isPending], [5, true]);
  say(diff('a-2-x', 'a-3-x', item(6)));
  await until(() => live.current.token === 'a-3-x');
  assert.deepEqual([live.sections[0].items[0].n, live.current.isPending], [6, false]);
});

test('a save that no diff tells of settles when the server says that nothing came', async (context) => {
  const { address } = await served(context, {
    [objects]: [(response) => events(response, ['snapshot', snapshot('opaque', [1])]),
      (response, { query }) => { assert.deepEqual([query.since, query.wait], ['opaque', '0']); json(response, diff('opaque', 'other', {}, { count: 1 })); }],
    '/v1/save': [(response) => json(response, { token: 'other', ids: {}, inserted: 0, updated: 0, deleted: 1 })] });
  const client = connect(address);
  context.after(() => client.close());
  const live = client.live({ entity: 'T' });
  await until(() => live.state === 'live');
  await client.delete('T', 1);
  assert.deepEqual(ids(live), []);
  await until(() => !live.current.isPending);
  assert.deepEqual(ids(live), [1]);
});

test('after a fetch of a table that does not exist, others still share one connection', async (context) => {
  const { address, requests } = await served(context, {
    '/v1/live': [(response) => json(response, { code: 'unknown-entity', title: 'Not found', fetch: gone?.name }, 404), () => {}],
    '/v1/objects/Gone': [(response) => json(response, { code: 'unknown-entity', title: 'Not found' }, 404)] });
  const client = connect(address);
  context.after(() => client.close());
  const gone = client.live({ entity: 'Gone' });
  await until(() => gone.state === 'failed');
  client.live({ entity: 'City' });
  await until(() => requests.filter(({ path }) => path === '/v1/live').length === 2);
  assert.deepEqual(requests.map(({ path }) => path), ['/v1/live', '/v1/objects/Gone', '/v1/live']);
});

for (const [what, script, isStream] of [
  ['a network that is lost for a while as the stream opens does not lead to long-polls', [() => {}], [true, true]],
  ['two streams in a row whose first bytes do not come lead to long-polls', [() => {}, () => {}], [true, true, false]],
]) {
  test(what, async (context) => {
    context.mock.timers.enable({ apis: ['setInterval', 'Date'], now: 1e12 });
    const { address, requests } = await served(context, { '/v1/live': [...script, (response, { body, isStream: streams }) => {
      const [name] = Object.keys(body.fetches);
      if (streams) events(response, ['snapshot', { name, ...snapshot('a-1-x', [1]) }]);
      else if (!body.wait) json(response, { token: 'a-1-x', results: { [name]: snapshot('a-1-x', [1]) } });
    }] });
    const client = connect(address);
    context.after(() => client.close());
    const live = client.live({ entity: 'T' });
    for (const number of script.keys()) {
      await until(() => requests.length === number + 1);
      context.mock.timers.tick(9_000);
    }
    await until(() => live.state === 'live');
    assert.deepEqual(requests.slice(0, isStream.length).map((request) => request.isStream), isStream);
  });
}

test('a stream of one fetch that resumes from its token behind a proxy that buffers is replaced by long-polls', async (context) => {
  context.mock.timers.enable({ apis: ['setInterval', 'Date'], now: 1e12 });
  const silent = (response) => { response.writeHead(200, { 'Content-Type': 'text/event-stream' }); response.flushHeaders(); };
  const { address, requests } = await served(context, { [objects]: [
    (response) => { events(response, ['snapshot', snapshot('a-1-x', [1])]); response.end(); },
    silent, silent, (response) => json(response, diff('a-1-x', 'a-2-x', insert(0, 2)))] });
  const client = connect(address, { multiplex: false });
  context.after(() => client.close());
  const live = client.live({ entity: 'T' });
  for (const count of [2, 3]) {
    await until(() => requests.length === count && live.state === 'live');
    await new Promise((resolve) => { setTimeout(resolve, 50); });
    context.mock.timers.tick(9_000);
  }
  await until(() => ids(live).length === 2);
  assert.deepEqual(requests.slice(0, 4).map(({ isStream }) => isStream), [true, true, true, false]);
});
