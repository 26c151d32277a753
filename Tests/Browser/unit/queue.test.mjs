// Saves that wait for the server: what is sent, in which order, how often, and who gets a refusal.

import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { connect, isPending, memoryStorage } from '../../../Public/livefetch.js';
import { fileStorage } from '../../../Public/livefetch/node.js';
import { overlay } from '../../../Public/livefetch/overlay.js';
import { Pending } from '../../../Public/livefetch/pending.js';
import { SaveQueue } from '../../../Public/livefetch/queue.js';
import { json, served, until } from './script.mjs';

const answer = (number, ids = {}) => ({ token: `a-${number}-x`, ids, inserted: 0, updated: 0, deleted: 0 });
const about = [(response) => json(response, { name: 'LiveFetch' })];

/** A network that the test switches on and off. */
function network(isUp) {
  const own = { isUp, fetch: (...args) => (own.isUp ? fetch(...args) : Promise.reject(new TypeError('offline'))) };
  return own;
}

const saves = (requests) => requests.filter(({ path }) => path === '/v1/save');

test('saves made offline survive a restart and are sent once each, in order', async (context) => {
  const { address, requests } = await served(context, { '/v1': about,
    '/v1/save': [(response) => json(response, answer(1)), (response) => json(response, answer(2)), (response) => json(response, answer(3))] });
  const directory = await mkdtemp(join(tmpdir(), 'livefetch-queue-'));
  await writeFile(join(directory, '100%.json'), 'a file of another program');
  const before = connect(address, { offline: fileStorage(directory), fetch: network(false).fetch });
  for (const n of [1, 2, 3]) before.update('T', n, { n });
  await until(async () => (await fileStorage(directory).keys()).length === 3);
  before.close();
  const sizes = [];
  const after = connect(address, { offline: fileStorage(directory), onQueue: (size) => sizes.push(size) });
  context.after(async () => {
    await after.close();
    await rm(directory, { recursive: true });
  });
  await until(() => sizes.at(-1) === 0);
  assert.deepEqual(saves(requests).map(({ body }) => body.changes[0].id), [1, 2, 3]);
  assert.equal(new Set(saves(requests).map(({ headers }) => headers['idempotency-key'])).size, 3);
  assert.deepEqual(await fileStorage(directory).keys(), []);
});

test('a save is read from the storage when it is sent, and when it names an object that was inserted, and not else', async (context) => {
  const { address, requests } = await served(context, { '/v1': about, '/v1/save': [(response, { body }) =>
    json(response, answer(requests.length, Object.fromEntries(body.changes.map(({ temporaryID }) => [temporaryID, requests.length]))))] });
  const net = network(false);
  const storage = memoryStorage();
  const read = [];
  const client = connect(address, { fetch: net.fetch, offline: { ...storage, get: (key) => { read.push(key); return storage.get(key); } } });
  context.after(() => client.close());
  const parent = client.temporaryID();
  const all = Array.from({ length: 50 }, (_, n) => client.save([{ insert: 'T', ...(n === 0 ? { temporaryID: parent } : {}), values: { n } }]));
  all.push(client.update('T', parent, { n: 99 }));
  await until(async () => (await storage.keys()).length === 51);
  read.length = 0;
  net.isUp = true;
  await Promise.all(all);
  assert.equal(typeof saves(requests).at(-1).body.changes[0].id, 'number');
  assert.ok(read.length <= 54, `${read.length} reads of 51 saves`);
});

test('a save without changes is sent as it is', async (context) => {
  const { address, requests } = await served(context, { '/v1/save': [(response) => json(response, answer(1))] });
  assert.equal((await connect(address).save([])).token, 'a-1-x');
  assert.deepEqual(saves(requests)[0].body, { changes: [] });
});

test('a save whose answer was lost is sent again with the same key, and its caller gets the answer', async (context) => {
  const { address, requests } = await served(context, { '/v1': about,
    '/v1/save': [(response) => response.destroy(), (response) => json(response, answer(1))] });
  const client = connect(address, { offline: memoryStorage() });
  context.after(() => client.close());
  assert.equal((await client.update('T', 1, { n: 1 })).token, 'a-1-x');
  const [first, second] = saves(requests);
  assert.equal(first.headers['idempotency-key'], second.headers['idempotency-key']);
  assert.deepEqual(first.body, second.body);
});

test('a save that is aborted while it waits for the network is neither kept nor sent', async (context) => {
  const { address, requests } = await served(context, { '/v1': about, '/v1/save': [(response) => json(response, answer(1))] });
  const net = network(false);
  const storage = memoryStorage();
  const [sizes, refused] = [[], []];
  const client = connect(address, { offline: storage, fetch: net.fetch, onQueue: (size) => sizes.push(size),
    onRefused: (error) => refused.push(error) });
  context.after(() => client.close());
  const abort = new AbortController();
  const update = (id, signal) => client.update('T', id, { n: 1 }, { signal });
  const [first, second, third] = [update(1, abort.signal), update(2), update(3, AbortSignal.abort())];
  await assert.rejects(third, { name: 'AbortError' });
  abort.abort();
  await assert.rejects(first, { name: 'AbortError' });
  assert.deepEqual([sizes.at(-1), (await storage.keys()).length, client.pending.length], [1, 1, 1]);
  net.isUp = true;
  client.reached();
  await second;
  assert.deepEqual(saves(requests).map(({ body }) => body.changes[0].id), [2]);
  assert.deepEqual(refused, []);
});

test('further saves do not shorten the pause that the server has requested', async (context) => {
  const busy = (response) => {
    response.writeHead(503, { 'Content-Type': 'application/json', 'Retry-After': '1' });
    response.end('{"code":"overloaded"}');
  };
  const { address, requests } = await served(context, { '/v1': about, '/v1/save': [busy, (response) => json(response, answer(1))] });
  const client = connect(address, { offline: memoryStorage() });
  context.after(() => client.close());
  const began = performance.now();
  const all = [client.update('T', 1, { n: 1 })];
  await until(() => saves(requests).length === 1);
  for (let n = 2; n < 6; n += 1) {
    all.push(client.update('T', n, { n }));
    client.reached();
    await new Promise((resolve) => { setTimeout(resolve, 50); });
  }
  assert.equal(saves(requests).length, 1);
  await Promise.all(all);
  assert.ok(performance.now() - began > 900);
  assert.equal(saves(requests).length, 6);
});

test('a pause becomes longer only through failures without a success between them', async (context) => {
  const busy = (response) => {
    response.writeHead(503, { 'Content-Type': 'application/json' });
    response.end('{"code":"overloaded"}');
  };
  const done = (response) => json(response, answer(1));
  const numbers = [1, 2, 3, 4, 5, 6, 7, 8];
  const { address, requests } = await served(context, { '/v1': about, '/v1/save': numbers.flatMap(() => [busy, done]) });
  const client = connect(address, { offline: memoryStorage() });
  context.after(() => client.close());
  const began = performance.now();
  await Promise.all(numbers.map((n) => client.update('T', n, { n })));
  // Eight pauses of at most 0.25 s; eight that double are 26 s at least.
  assert.ok(performance.now() - began < 20_000);
  assert.equal(saves(requests).length, 16);
});

test('a client that is closed has stored every save', async (context) => {
  const directory = await mkdtemp(join(tmpdir(), 'livefetch-queue-'));
  context.after(() => rm(directory, { recursive: true }));
  const client = connect('http://127.0.0.1:1', { offline: fileStorage(directory), fetch: network(false).fetch });
  for (let n = 0; n < 20; n += 1) client.update('T', n, { n });
  await client.close();
  assert.equal((await readdir(directory)).filter((name) => name.endsWith('.json')).length, 20);
});

test('a save after the client was closed is refused and not kept', async (context) => {
  const { address, requests } = await served(context, { '/v1': about });
  const storage = memoryStorage();
  const refused = [];
  const client = connect(address, { offline: storage, onRefused: (error, { changes }) => refused.push([error.code, changes]) });
  await client.close();
  await assert.rejects(client.insert('T', { n: 1 }), { code: 'client-closed', status: 0 });
  await assert.rejects(client.delete('T', 7), { code: 'client-closed' });
  assert.deepEqual(refused.map(([code, [change]]) => [code, change.insert ?? change.delete]), [['client-closed', 'T'], ['client-closed', 'T']]);
  assert.deepEqual([await storage.keys(), client.pending, saves(requests)], [[], [], []]);
});

test('an abort after the answer changes nothing', async (context) => {
  const { address } = await served(context, { '/v1': about, '/v1/save': [(response) => json(response, answer(1))] });
  const storage = memoryStorage();
  const abort = new AbortController();
  // The caller aborts while the answered save is removed from the storage.
  const removing = { ...storage, delete: async (key) => { abort.abort(); await storage.delete(key); } };
  const client = connect(address, { offline: removing });
  context.after(() => client.close());
  assert.equal((await client.update('T', 1, { n: 1 }, { signal: abort.signal })).token, 'a-1-x');
  assert.deepEqual(await storage.keys(), []);
});

test('a refusal goes to the caller and to the application, and the queue goes on', async (context) => {
  const conflict = { code: 'conflict', title: 'Conflict', errors: [{ change: 0, code: 'changed' }] };
  const { address, requests } = await served(context, { '/v1': about,
    '/v1/save': [(response) => json(response, conflict, 409), (response) => json(response, answer(2))] });
  const net = network(false);
  const refused = [];
  const client = connect(address, { offline: memoryStorage(), fetch: net.fetch,
    onRefused: ({ code, errors }, { changes }) => refused.push([code, errors[0].code, changes[0].id]) });
  context.after(() => client.close());
  const [first, second] = [client.update('T', 1, { n: 1 }), client.update('T', 2, { n: 2 })];
  net.isUp = true;
  await assert.rejects(first, { code: 'conflict' });
  assert.equal((await second).token, 'a-2-x');
  assert.deepEqual(refused, [['conflict', 'changed', 1]]);
  assert.equal(saves(requests).length, 2);
});

test('a refused save of an earlier page goes to the application, or is a warning', async (context) => {
  const { address } = await served(context, { '/v1': about,
    '/v1/save': [(response) => json(response, { code: 'forbidden', title: 'Forbidden', hint: 'Ask.' }, 403)] });
  const { mock } = context.mock.method(console, 'warn', () => {});
  for (const isHandled of [true, false]) {
    const storage = memoryStorage();
    const before = connect(address, { offline: storage, fetch: network(false).fetch });
    before.delete('T', 7);
    await until(async () => (await storage.keys()).length === 1);
    before.close();
    const refused = [];
    const onRefused = isHandled ? (error, { changes }) => refused.push([error.code, changes]) : undefined;
    const after = connect(address, { offline: storage, onRefused });
    await until(async () => (await storage.keys()).length === 0);
    await until(() => (isHandled ? refused.length : mock.calls.length) === 1);
    if (isHandled) assert.deepEqual(refused, [['forbidden', [{ delete: 'T', id: 7 }]]]);
    after.close();
  }
  assert.match(mock.calls[0].arguments[0], /A save of an earlier page was refused: forbidden: Forbidden Hint: Ask\./);
});

test('a save that names an object which another one inserts is sent with its id', async (context) => {
  const { address, requests } = await served(context, { '/v1': about,
    '/v1/save': [(response, { body }) => json(response, answer(1, { [body.changes[0].temporaryID]: 17 })), (response) => json(response, answer(2))] });
  const net = network(false);
  const client = connect(address, { offline: memoryStorage(), fetch: net.fetch });
  context.after(() => client.close());
  const temporaryID = client.temporaryID();
  client.save([{ insert: 'T', temporaryID, values: { n: 1 } }]);
  const last = client.save([{ update: 'T', id: temporaryID, values: { n: 2, other: { temporaryID }, list: { add: [temporaryID] } } }]);
  net.isUp = true;
  await last;
  assert.deepEqual(saves(requests)[1].body.changes, [{ update: 'T', id: 17, values: { n: 2, other: 17, list: { add: [17] } } }]);
  await client.delete('T', temporaryID);
  assert.deepEqual(saves(requests)[2].body.changes, [{ delete: 'T', id: 17 }]);
});

test('an update of an inserted object is shown while the insert is answered', () => {
  const empty = [{ name: '', value: null, items: [] }];
  const shown = (...changes) => overlay(empty, { entity: 'T' }, changes)[0].items;
  const inserted = { insert: 'T', temporaryID: 't1', values: { n: 1 } };
  const updated = { update: 'T', id: { temporaryID: 't1' }, values: { n: 2 } };
  assert.deepEqual(shown(inserted, updated), [{ id: 't1', n: 2 }]);
  assert.deepEqual(shown({ ...inserted, id: 17 }, updated), [{ id: 17, n: 2 }]);
  assert.deepEqual(shown({ ...inserted, id: 17 }, { ...updated, id: 17 }), [{ id: 17, n: 2 }]);
  assert.deepEqual(shown({ ...inserted, id: 17 }, { delete: 'T', id: 17 }), []);
});

test('saves that wait are shown as pending, also by the page that comes after a reload', async (context) => {
  const item = (id, n) => ({ id, n });
  const stream = (response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    const data = { entity: 'T', token: 'a-1-x', count: 1, sections: [{ name: '', value: null, items: [item(1, 1)] }] };
    response.write(`event: snapshot\ndata: ${JSON.stringify(data)}\n\n`);
  };
  const { address } = await served(context, { '/v1/objects/T': [stream],
    '/v1/save': [(response) => json(response, { code: 'overloaded', title: 'Overloaded' }, 503)] });
  const storage = memoryStorage();
  const before = connect(address, { offline: storage });
  before.save([{ insert: 'T', values: { n: 9 } }, { update: 'T', id: 1, values: { n: 2 } }]);
  await until(async () => (await storage.keys()).length === 1);
  before.close();
  const after = connect(address, { offline: storage });
  context.after(() => after.close());
  const live = after.live({ entity: 'T' });
  await until(() => live.sections[0]?.items.length === 2);
  assert.deepEqual(live.sections[0].items.map(({ n }) => n), [2, 9]);
  assert.ok(live.sections[0].items.every(isPending));
  assert.equal(live.current.count, 2);
});

test('a save waits while the file is damaged, another internal error refuses it', async (context) => {
  const { address, requests } = await served(context, { '/v1': about, '/v1/save': [
    (response) => json(response, { code: 'file-damaged', title: 'Internal server error' }, 500),
    (response) => json(response, answer(1)),
    (response) => json(response, { code: 'internal-error', title: 'Internal server error' }, 500)] });
  const client = connect(address, { offline: memoryStorage() });
  context.after(() => client.close());
  assert.equal((await client.update('T', 1, { n: 1 })).token, 'a-1-x');
  await assert.rejects(client.update('T', 2, { n: 1 }), { code: 'internal-error' });
  assert.deepEqual(saves(requests).map(({ body }) => body.changes[0].id), [1, 1, 2]);
});

test('a save waits while the credential is refused', async (context) => {
  const { address } = await served(context, { '/v1': about,
    '/v1/save': [(response) => json(response, { code: 'unauthorized', title: 'Unauthorized' }, 401), (response) => json(response, answer(1))] });
  const errors = [];
  const client = connect(address, { offline: memoryStorage(), onQueue: (size, error) => errors.push(error?.code) });
  context.after(() => client.close());
  await client.update('T', 1, { n: 1 });
  assert.deepEqual(errors, [undefined, 'unauthorized', undefined]);
});

test('after the clock was set back saves are sent in the order in which they were made', async (context) => {
  const { address, requests } = await served(context, { '/v1': about, '/v1/save': [(response) => json(response, answer(1))] });
  const storage = memoryStorage();
  const key = `save/${String(Date.now() + 3_600_000).padStart(15, '0')}-p`;
  await storage.set(key, { changes: [{ update: 'T', id: 1, values: {} }], idempotencyKey: 'k', page: 'p' });
  const net = network(false);
  const sizes = [];
  const client = connect(address, { offline: storage, fetch: net.fetch, onQueue: (size) => sizes.push(size) });
  context.after(() => client.close());
  await until(() => sizes.at(-1) === 1);
  const last = client.update('T', 2, { n: 1 });
  net.isUp = true;
  await last;
  assert.deepEqual(saves(requests).map(({ body }) => body.changes[0].id), [1, 2]);
});

test('a save that was sent a day ago without an answer is not sent again', async (context) => {
  const { address, requests } = await served(context, { '/v1': about });
  const storage = memoryStorage();
  await storage.set('save/1', { changes: [{ insert: 'T', values: {} }], idempotencyKey: 'k', page: 'p', sentAt: Date.now() - 86_400_000 });
  const refused = [];
  const client = connect(address, { offline: storage, onRefused: ({ code }) => refused.push(code) });
  context.after(() => client.close());
  await until(() => refused.length === 1);
  assert.deepEqual(refused, ['outcome-unknown']);
  assert.deepEqual(saves(requests), []);
});

/** A server whose clock the test sets, and that answers a save only after the first attempt. */
const clocked = (context) => {
  const clock = { time: Date.parse('2030-01-01T00:00:00Z') };
  const dated = (answers) => (response) => {
    response.setHeader('Date', new Date(clock.time).toUTCString());
    answers(response);
  };
  return served(context, { '/v1': [dated(about[0])], '/v1/save': [(response) => response.destroy(), dated((response) => json(response, answer(1)))] })
    .then((server) => ({ ...server, clock }));
};

test('a save is sent again after the clock was set by days, and not if the server says that days have passed', async (context) => {
  const day = 86_400_000;
  const { now } = Date;
  for (const passed of [0, 2 * day]) {
    const { address, requests, clock } = await clocked(context);
    const net = network(true);
    const errors = [];
    const client = connect(address, { offline: memoryStorage(), fetch: net.fetch, onRefused: () => {},
      onQueue: (size, error) => { if (error) net.isUp = false; errors.push(error); } });
    context.after(() => client.close());
    const saved = client.update('T', 1, { n: 1 }).then(({ token }) => token, ({ code }) => code);
    await until(() => errors.some(Boolean));
    context.mock.method(Date, 'now', () => now() + 2 * day);
    clock.time += passed;
    net.isUp = true;
    assert.equal(await saved, passed === 0 ? 'a-1-x' : 'outcome-unknown');
    assert.equal(saves(requests).length, passed === 0 ? 2 : 1);
    context.mock.restoreAll();
  }
});

test('what was not sent for days as there was no network is sent', async (context) => {
  const { address, requests } = await served(context, { '/v1': about, '/v1/save': [(response) => json(response, answer(1))] });
  const storage = memoryStorage();
  await storage.set('save/1', { changes: [{ insert: 'T', values: {} }], idempotencyKey: 'k', page: 'p' });
  const client = connect(address, { offline: storage });
  context.after(() => client.close());
  await until(async () => (await storage.keys()).length === 0);
  assert.equal(saves(requests)[0].headers['idempotency-key'], 'k');
});

test('a storage that fails is a warning, and the save is sent', async (context) => {
  const { address } = await served(context, { '/v1': about, '/v1/save': [(response) => json(response, answer(1))] });
  const { mock } = context.mock.method(console, 'warn', () => {});
  const fails = async () => { throw new Error('no room'); };
  const client = connect(address, { offline: { get: fails, set: fails, delete: fails, keys: fails } });
  context.after(() => client.close());
  assert.equal((await client.update('T', 1, { n: 1 })).token, 'a-1-x');
  assert.equal(mock.calls.length, 1);
});

test('a connection that goes silent does not hold the saves up: the request is sent again', async (context) => {
  context.mock.timers.enable({ apis: ['setInterval', 'Date'], now: 1e12 });
  const { address, requests } = await served(context, { '/v1': [() => {}, ...about],
    '/v1/save': [() => {}, (response) => json(response, answer(1))] });
  const client = connect(address, { offline: memoryStorage() });
  context.after(() => client.close());
  const saved = client.update('T', 1, { n: 1 });
  await until(() => requests.length === 1);
  context.mock.timers.tick(41_000);
  await until(() => saves(requests).length === 1);
  context.mock.timers.tick(41_000);
  assert.equal((await saved).token, 'a-1-x');
  const [first, second] = saves(requests);
  assert.equal(first.headers['idempotency-key'], second.headers['idempotency-key']);
});

test('a save has more time the longer it is, as sending it gives no sign of life', async (context) => {
  context.mock.timers.enable({ apis: ['setInterval', 'Date'], now: 1e12 });
  let finish;
  const { address, requests } = await served(context, { '/v1': about,
    '/v1/save': [(response) => { finish = () => json(response, answer(1)); }] });
  const client = connect(address, { offline: memoryStorage() });
  context.after(() => client.close());
  const saved = client.update('T', 1, { text: 'x'.repeat(500_000) });
  await until(() => finish);
  context.mock.timers.tick(80_000);
  finish();
  assert.equal((await saved).token, 'a-1-x');
  assert.equal(saves(requests).length, 1);
});

test('a page with a long queue lets go of the lock after 20 s, and takes it again', async (context) => {
  const granted = [];
  const locks = { request: async (name, ...rest) => { granted.push(name.split(' ').at(-1)); return rest.at(-1)(); }, query: async () => ({ held: [] }) };
  const navigator = Object.getOwnPropertyDescriptor(globalThis, 'navigator');
  Object.defineProperty(globalThis, 'navigator', { value: { locks }, configurable: true });
  globalThis.document = Object.assign(new EventTarget(), { visibilityState: 'visible' });
  let time = 0;
  context.mock.method(performance, 'now', () => time);
  const { address, requests } = await served(context, { '/v1': about,
    '/v1/save': [(response) => { time += 15_000; json(response, answer(1)); }] });
  const net = network(false);
  const errors = [];
  const client = connect(address, { offline: memoryStorage(), fetch: net.fetch, share: false, onQueue: (size, error) => error && errors.push(error) });
  context.after(async () => {
    await client.close();
    delete globalThis.document;
    if (navigator) Object.defineProperty(globalThis, 'navigator', navigator);
    else delete globalThis.navigator;
  });
  const all = [1, 2, 3, 4].map((n) => client.update('T', n, { n }));
  await until(() => errors.length > 0);
  granted.length = 0;
  net.isUp = true;
  await Promise.all(all);
  assert.deepEqual(granted.filter((name) => name === 'work'), ['work', 'work']);
  assert.deepEqual(saves(requests).map(({ body }) => body.changes[0].id), [1, 2, 3, 4]);
});

test('after the clock was set back a save that is made before the stored ones are read is sent after them', async (context) => {
  const { address, requests } = await served(context, { '/v1': about, '/v1/save': [(response) => json(response, answer(1))] });
  const storage = memoryStorage();
  const later = (number) => `save/${String(Date.now() + 3_600_000 + number).padStart(15, '0')}-p`;
  for (const n of [1, 2]) await storage.set(later(n), { changes: [{ update: 'T', id: n, values: {} }], idempotencyKey: `k${n}`, page: 'p' });
  const net = network(false);
  const errors = [];
  const client = connect(address, { offline: storage, fetch: net.fetch, onQueue: (size, error) => error && errors.push(error) });
  context.after(() => client.close());
  const all = [3, 4].map((n) => client.update('T', n, { n }));
  await until(() => errors.length > 0);
  const stored = await Promise.all((await storage.keys()).sort().map((key) => storage.get(key)));
  assert.deepEqual(stored.map(({ changes: [{ id }] }) => id), [1, 2, 3, 4]);
  net.isUp = true;
  await Promise.all(all);
  assert.deepEqual(saves(requests).map(({ body }) => body.changes[0].id), [1, 2, 3, 4]);
  assert.deepEqual(await storage.keys(), []);
});

/** Changes that count how often their values are read. */
function counted(change) {
  const own = { reads: 0, changes: [{ ...change, values: { get n() { own.reads += 1; return 1; } } }] };
  return own;
}

test('the saves that wait are not searched for temporary ids at each answer', async (context) => {
  const data = { token: 'a-1-x', ids: { 'new-0123456789abcdef01234567-000001': 17 } };
  const transport = { base: 'test', json: async () => ({ data: {} }), save: async () => ({ data }) };
  const queue = new SaveQueue(memoryStorage(), transport, { onItem() {}, onSending() {} });
  context.after(() => queue.close());
  await queue.loaded;
  const all = Array.from({ length: 100 }, (_, id) => counted({ update: 'T', id }));
  await Promise.all(all.map(({ changes }) => queue.add(changes, {}).answer));
  const reads = all.reduce((sum, own) => sum + own.reads, 0);
  assert.ok(reads <= 1000, `${reads} reads of 100 saves`);
});

test('a shown save is not searched for the ids of objects that it does not name', () => {
  const own = counted({ update: 'T', id: { temporaryID: 'new-0123456789abcdef01234567-000001' } });
  const pending = new Pending(own.changes);
  const before = own.reads;
  for (let n = 2; n < 100; n += 1) pending.replaceIDs({ [`new-0123456789abcdef01234567-${n}`]: n });
  assert.deepEqual([own.reads - before, pending.changes], [0, own.changes]);
  pending.replaceIDs({ 'new-0123456789abcdef01234567-000001': 17 });
  assert.equal(pending.changes[0].id, 17);
});
