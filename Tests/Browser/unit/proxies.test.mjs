// Responses of proxies in place of the server's, and credentials that fail. Neither loses a queued save.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect, LiveFetchError, memoryStorage } from '../../../Public/livefetch.js';
import { json, served, until } from './script.mjs';

const description = [(response) => json(response, { name: 'LiveFetch' })];
const answer = { token: 'a-1-x', ids: {}, inserted: 0, updated: 1, deleted: 0 };
const saves = (requests) => requests.filter(({ path }) => path === '/v1/save');

const html = (status) => (response) => {
  response.writeHead(status, { 'Content-Type': 'text/html' });
  response.end('<h1>Sign in to the network</h1>');
};

/** Returns a client with a queue. `step` answers its first save, a server that accepts it every later one. */
async function queued(context, step, options = {}) {
  const { address, requests } = await served(context, { '/v1': description,
    '/v1/save': [step, (response) => json(response, answer)] });
  const refused = [];
  const client = connect(address, { offline: memoryStorage(), onRefused: (error) => refused.push(error), ...options });
  context.after(() => client.close());
  return { client, requests, refused };
}

for (const [what, step] of [['403 of a proxy', html(403)], ['404 of a proxy', html(404)], ['500 of a proxy', html(500)],
  ['page of a captive portal', html(200)], ['empty answer', (response) => response.end()],
  ['JSON that is not a response to a save', (response) => json(response, { login: true })],
  ['JSON refusal without a problem code', (response) => json(response, { message: 'no' }, 403)],
  ['JSON refusal with another form of detail', (response) => json(response, { detail: [{ msg: 'no' }], errors: 'one' }, 403)]]) {
  test(`a ${what} does not drop a queued save: it is sent again under its key`, async (context) => {
    const { client, requests, refused } = await queued(context, step);
    assert.equal((await client.update('T', 1, { n: 1 })).token, 'a-1-x');
    assert.equal(saves(requests).length, 2);
    assert.equal(new Set(saves(requests).map(({ headers }) => headers['idempotency-key'])).size, 1);
    assert.deepEqual(refused, []);
  });
}

test('a save whose body is too large for a proxy is refused, and the saves after it are sent', async (context) => {
  const { client, refused } = await queued(context, html(413));
  client.update('T', 1, { n: 1 });
  assert.equal((await client.update('T', 2, { n: 2 })).token, 'a-1-x');
  assert.deepEqual(refused.map(({ status }) => status), [413]);
});

test('a token function that throws does not drop a queued save', async (context) => {
  let calls = 0;
  const token = async () => {
    calls += 1;
    if (calls < 3) throw new TypeError('the identity provider is down');
    return 'secret';
  };
  const errors = [];
  const { client, requests, refused } = await queued(context, (response) => json(response, answer),
    { token, onQueue: (size, error) => error && errors.push(error) });
  assert.equal((await client.update('T', 1, { n: 1 })).token, 'a-1-x');
  assert.equal(saves(requests).length, 1);
  assert.deepEqual(refused, []);
  assert.ok(errors.length > 0 && errors.every((error) => error instanceof LiveFetchError && error.code === 'token-failed'));
});

test('a token function that throws is a LiveFetchError with its cause', async () => {
  const cause = new RangeError('no');
  const client = connect('http://127.0.0.1:1', { token: () => { throw cause; } });
  await assert.rejects(client.fetch({ entity: 'T' }), (error) => error instanceof LiveFetchError
    && error.code === 'token-failed' && error.isTransient && error.cause === cause);
});

test('an HTML page in place of a response is a transient LiveFetchError', async (context) => {
  const { address } = await served(context, { '/v1/objects/T': [html(200)] });
  await assert.rejects(connect(address).fetch({ entity: 'T' }), (error) => error instanceof LiveFetchError
    && error.status === 0 && error.code === 'not-an-answer' && error.isTransient);
});

for (const [path, options] of [['/v1/objects/T', { multiplex: false }], ['/v1/live', {}]]) {
  test(`JSON in place of the response to a long-poll of ${path} is no result, and is asked for after pauses`, async (context) => {
    const { address, requests } = await served(context, { [path]: [(response) => json(response, { login: true })] });
    const client = connect(address, { stream: false, ...options });
    context.after(() => client.close());
    const shown = [];
    const live = client.live({ entity: 'T' }, { onChange: (current) => shown.push(current) });
    await until(() => live.state === 'offline');
    await new Promise((resolve) => { setTimeout(resolve, 300); });
    assert.deepEqual([live.error.code, shown, requests.length < 5], ['not-an-answer', [], true]);
  });
}

test('a refusal whose detail is no text is a LiveFetchError as any other one', async (context) => {
  const { address } = await served(context, { '/v1/objects/T': [(response) => json(response, { detail: [{ msg: 'no' }], errors: 'one' }, 403)] });
  await assert.rejects(connect(address).fetch({ entity: 'T' }), (error) => error instanceof LiveFetchError
    && error.status === 403 && error.message === 'HTTP 403' && error.errors.length === 0);
});

test('a caller that aborts its queued save removes it from the queue', async (context) => {
  const { client, requests } = await queued(context, () => {});
  const abort = new AbortController();
  const saved = client.save([{ update: 'T', id: 1, values: { n: 1 } }], { signal: abort.signal });
  await until(() => saves(requests).length === 1);
  abort.abort();
  await assert.rejects(saved, { name: 'AbortError' });
  assert.equal((await client.update('T', 2, { n: 2 })).token, 'a-1-x');
});

/** A token function whose promise settles only when the test calls `answer`; the first `hangs` ones never do. */
function hanging(hangs = 1) {
  const own = { calls: 0, token: () => ((own.calls += 1) <= hangs ? new Promise(() => {}) : Promise.resolve('secret')) };
  return own;
}

test('a request whose signal is aborted ends, though the token function never answers', async () => {
  const own = hanging(Infinity);
  const client = connect('http://127.0.0.1:1', { token: own.token, fetch: () => assert.fail() });
  const abort = new AbortController();
  const fetched = client.fetch({ entity: 'T' }, { signal: abort.signal });
  abort.abort();
  await assert.rejects(fetched, { name: 'AbortError' });
  await assert.rejects(client.fetch({ entity: 'T' }, { signal: AbortSignal.abort() }), { name: 'AbortError' });
  assert.equal(own.calls, 1);
});

test('a queued save is sent though the token function did not answer once', async (context) => {
  context.mock.timers.enable({ apis: ['setInterval', 'Date'], now: 1e12 });
  const own = hanging();
  const { client } = await queued(context, (response) => json(response, answer), { token: own.token });
  const saved = client.update('T', 1, { n: 1 });
  await until(() => own.calls === 1);
  context.mock.timers.tick(41_000);
  assert.equal((await saved).token, 'a-1-x');
});

test('a live fetch whose token function does not answer once is offline, and continues as a stream', async (context) => {
  context.mock.timers.enable({ apis: ['setInterval', 'Date'], now: 1e12 });
  const snapshot = { entity: 'T', token: 'a-1-x', count: 1, sections: [{ name: '', value: null, items: [{ id: 1 }] }] };
  const { address, requests } = await served(context, { '/v1/live': [(response, { body }) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    response.write(`event: snapshot\ndata: ${JSON.stringify({ name: Object.keys(body.fetches)[0], ...snapshot })}\n\n`);
  }] });
  const own = hanging();
  const client = connect(address, { token: own.token });
  context.after(() => client.close());
  const states = [];
  const live = client.live({ entity: 'T' }, { onState: (state, error) => states.push([state, error?.code]) });
  await until(() => own.calls === 1);
  context.mock.timers.tick(9_000);
  context.mock.timers.tick(32_000);
  await until(() => live.state === 'live');
  assert.deepEqual(states, [['offline', 'unreachable'], ['live', undefined]]);
  assert.deepEqual(requests.map(({ isStream }) => isStream), [true]);
});

test('a fetch that is added is requested though the token function of the one before never answers', async (context) => {
  const { address, requests } = await served(context, { '/v1/live': [() => {}] });
  const own = hanging();
  const client = connect(address, { token: own.token });
  context.after(() => client.close());
  client.live({ entity: 'T' });
  await until(() => own.calls === 1);
  client.live({ entity: 'U' });
  await until(() => requests.length === 1);
  assert.deepEqual(Object.values(requests[0].body.fetches).map(({ entity }) => entity), ['T', 'U']);
});

test('a stream waits for a renewed token as long as for the first one, and then 8 s for its first bytes', async (context) => {
  context.mock.timers.enable({ apis: ['setInterval', 'Date'], now: 1e12 });
  const { address, requests } = await served(context, { '/v1/live': [
    (response) => json(response, { code: 'unauthorized' }, 401), () => {}] });
  const own = { calls: 0, renew: null };
  const token = () => {
    own.calls += 1;
    if (own.calls === 1) return 'old';
    return own.calls === 2 ? new Promise((resolve) => { own.renew = () => resolve('new'); }) : 'new';
  };
  const client = connect(address, { token });
  context.after(() => client.close());
  client.live({ entity: 'T' });
  await until(() => own.calls === 2);
  context.mock.timers.tick(35_000);
  await new Promise((resolve) => { setTimeout(resolve, 50); });
  assert.deepEqual([own.calls, requests.length], [2, 1]);
  own.renew();
  await until(() => requests.length === 2);
  assert.equal(requests[1].headers.authorization, 'Bearer new');
  context.mock.timers.tick(9_000);
  await until(() => requests.length === 3);
  context.mock.timers.tick(9_000);
  await until(() => requests.length === 4);
  assert.deepEqual(requests.map(({ isStream }) => isStream), [true, true, true, false]);
});
