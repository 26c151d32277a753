// Numbers that a number of JavaScript cannot hold, from the server, to the server and in a storage.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { advance, connect, Decimal, digest, memoryStorage } from '../../../Public/livefetch.js';
import { fileStorage } from '../../../Public/livefetch/node.js';
import { packed, parse, stringify, unpacked } from '../../../Public/livefetch/json.js';
import { watch } from '../../../Public/livefetch/watch.js';
import { json, served, until } from './script.mjs';

const big = 9007199254740993n;
const items = (meta) => `"sections":[{"name":"","value":null,"items":[{"id":1,"meta":${meta}}]}]`;
const snapshot = (meta) => `{"entity":"T","token":"a-1-x","count":1,${items(meta)}}`;
const raw = (response, text) => {
  response.writeHead(200, { 'Content-Type': 'application/json' });
  response.end(text);
};
const stream = (response, ...list) => {
  response.writeHead(200, { 'Content-Type': 'text/event-stream' });
  for (const [event, data] of list) response.write(`event: ${event}\ndata: ${data}\n\n`);
};
const saved = '{"token":"a-2-x","ids":{},"inserted":0,"updated":1,"deleted":0}';
const offline = () => Promise.reject(new TypeError('offline'));

/** A fetch that keeps the text of every body that is sent. */
function recorded() {
  const sent = [];
  const own = (url, init) => {
    if (init.body) sent.push(init.body);
    return fetch(url, init);
  };
  return { sent, fetch: own };
}

test('an integer beyond 2^53 within a JSON value is read exactly, other numbers as they were', async (context) => {
  const meta = '{"a":9007199254740993,"b":[-9007199254740993,9007199254740991,1e300,1234567890123456.5],"s":"1234567890123456789"}';
  const { address } = await served(context, { '/v1/objects/T': [(response) => raw(response, snapshot(meta))] });
  const { sections } = await connect(address).fetch({ entity: 'T' });
  assert.deepEqual(sections[0].items[0].meta,
    { a: big, b: [-big, 9007199254740991, 1e300, 1234567890123456.5], s: '1234567890123456789' });
  const inexact = await connect(address, { int64: null }).fetch({ entity: 'T' });
  assert.equal(inexact.sections[0].items[0].meta.a, 9007199254740992);
});

test('an integer of exactly 2^53 is a number, as the server sends it', async (context) => {
  const { address } = await served(context, { '/v1/objects/T': [(response) => raw(response, snapshot('[9007199254740992,-9007199254740992]'))] });
  const { sections } = await connect(address).fetch({ entity: 'T' });
  assert.deepEqual(sections[0].items[0].meta, [9007199254740992, -9007199254740992]);
});

test('snapshots, diffs and long-polls hold integers beyond 2^53 exactly', async (context) => {
  const diff = '{"entity":"T","from":"a-1-x","to":"a-2-x","count":1,"sections":{"deleted":[],"inserted":[]},"items":{"deleted":[],'
    + '"inserted":[],"moved":[],"updated":[{"from":[0,0],"to":[0,0],"id":1,"changed":{"meta":{"a":9007199254740995}}}]}}';
  const { address } = await served(context, {
    '/v1/objects/T': [(response) => stream(response, ['snapshot', snapshot('[9007199254740993]')], ['diff', diff])],
    '/v1/live': [(response, { body }) => raw(response,
      `{"token":"a-1-x","results":{"${Object.keys(body.fetches)[0]}":${snapshot('[9007199254740993]')}}}`), () => {}] });
  const one = connect(address, { multiplex: false });
  const many = connect(address, { stream: false });
  context.after(() => Promise.all([one.close(), many.close()]));
  const seen = [];
  one.live({ entity: 'T' }, { onChange: ({ sections }) => seen.push(sections[0].items[0].meta) });
  const polled = many.live({ entity: 'T' });
  await until(() => seen.length === 2 && polled.state === 'live');
  assert.deepEqual(seen, [[big], { a: 9007199254740995n }]);
  assert.deepEqual(polled.sections[0].items[0].meta, [big]);
});

test('a request writes a BigInt as its digits, within saves and as an argument', async (context) => {
  const { address } = await served(context, { '/v1/save': [(response) => raw(response, saved)],
    '/v1/fetch': [(response) => raw(response, snapshot('1'))] });
  const { sent, fetch } = recorded();
  const client = connect(address, { fetch });
  await client.update('T', 9223372036854775807n, { n: -5n, meta: { a: [big, '9007199254740993'] } });
  await client.fetch({ entity: 'T', where: 'n == %@', arguments: [big] });
  assert.equal(sent[0],
    '{"changes":[{"update":"T","id":9223372036854775807,"values":{"n":-5,"meta":{"a":[9007199254740993,"9007199254740993"]}}}]}');
  assert.match(sent[1], /"arguments":\[9007199254740993\]/);
});

test('ids beyond 2^53 in the answer of a save are text, as in items', async (context) => {
  const { address } = await served(context, { '/v1/save': [(response, { body }) => raw(response,
    `{"token":"a-2-x","ids":{"${body.changes[0].temporaryID}":9007199254740993},"inserted":1,"updated":0,"deleted":0}`)] });
  const { id } = await connect(address).insert('T', { n: 1 });
  assert.equal(id, '9007199254740993');
});

test('a save with a BigInt that waits is shown, and sent exactly after a restart', async (context) => {
  const { address } = await served(context, { '/v1': [(response) => raw(response, '{}')],
    '/v1/save': [(response) => raw(response, saved)] });
  const directory = await mkdtemp(join(tmpdir(), 'livefetch-bigints-'));
  context.after(() => rm(directory, { recursive: true }));
  const before = connect(address, { offline: fileStorage(directory), fetch: offline });
  before.update('T', 1, { meta: { a: big, tagged: { $integer: '5' } } });
  await until(async () => (await fileStorage(directory).keys()).length === 1);
  before.close();
  const { sent, fetch } = recorded();
  const after = connect(address, { offline: fileStorage(directory), fetch });
  context.after(() => after.close());
  await until(() => sent.length === 1);
  assert.match(sent[0], /"values":\{"meta":\{"a":9007199254740993,"tagged":\{"\$integer":"5"\}\}\}/);
});

test('a stored result holds its BigInts after a restart, also in a storage of JSON alone', async (context) => {
  const { address } = await served(context, { '/v1/objects/T': [(response) =>
    stream(response, ['snapshot', snapshot('{"a":9007199254740993,"b":{"$integer":"5"}}')])] });
  const memory = memoryStorage();
  const storage = { ...memory, get: async (key) => JSON.parse((await memory.get(key)) ?? 'null') ?? undefined,
    set: (key, value) => memory.set(key, JSON.stringify(value)) };
  const before = connect(address, { offline: storage });
  const first = before.live({ entity: 'T', where: 'n == %@', arguments: [big] });
  const plain = before.live({ entity: 'T' });
  await until(() => plain.state === 'live');
  first.close();
  await before.close();
  const after = connect(address, { offline: storage, fetch: offline });
  context.after(() => after.close());
  const live = after.live({ entity: 'T' });
  await until(() => live.current);
  assert.deepEqual(live.sections[0].items[0].meta, { a: big, b: { $integer: '5' } });
});

test('local values with BigInts stand in order, and integers as the server will show them', async (context) => {
  const list = [{ id: 1, n: 5 }, { id: 2, n: 7 }];
  const { address } = await served(context, { '/v1/objects/T': [(response) => stream(response,
    ['snapshot', JSON.stringify({ entity: 'T', token: 'a-1-x', count: 2, sections: [{ name: '', value: null, items: list }] })])] });
  const client = connect(address, { offline: memoryStorage(),
    fetch: (url, init) => (init.method === 'POST' && !init.body.includes('fetches') ? offline() : fetch(url, init)) });
  context.after(() => client.close());
  const live = client.live({ entity: 'T', sort: 'n' });
  await until(() => live.state === 'live');
  client.insert('T', { id: 3, n: 6n });
  client.update('T', 2n, { n: big });
  assert.deepEqual(live.sections[0].items, [{ id: 1, n: 5 }, { id: 3, n: 6 }, { id: 2, n: '9007199254740993' }]);
});

test('the digest takes a BigInt as its digits', () => {
  const ids = (text) => parse(`[{"value":${text},"items":[${text},{"id":${text}}]}]`);
  assert.equal(digest(ids('9007199254740993')), digest([{ value: big, items: [big, { id: big }] }]));
  assert.notEqual(digest(ids('9007199254740993')), digest(ids('9007199254740992')));
});

test('a diff is applied to items whose ids and values are BigInts', () => {
  const held = { entity: 'T', token: 'a', count: 1, sections: [{ name: '', value: null, items: [{ id: big, n: 1 }] }] };
  const diff = { entity: 'T', from: 'a', to: 'b', count: 1, sections: { deleted: [], inserted: [] },
    items: { deleted: [], inserted: [], moved: [], updated: [{ from: [0, 0], to: [0, 0], id: big, changed: { n: big } }] } };
  assert.deepEqual(advance(held, diff).sections[0].items, [{ id: big, n: big }]);
});

test('requests that differ in a BigInt are different ones for frameworks', () => {
  const requests = [];
  const client = { live: ({ arguments: [n] }) => requests.push(n) && { subscribe: () => () => {}, close() {}, state: 'connecting' } };
  const request = (n) => ({ entity: 'T', where: 'n == %@', arguments: [n] });
  const [first, second, again] = [1n, 2n, 1n].map((n) => watch(client, request(n)));
  const stops = [first, second, again].map((watched) => watched.subscribe(() => {}));
  assert.deepEqual(requests, [1n, 2n]);
  stops.forEach((stop) => stop());
});

test('decimals are exact in results, in saves, in a storage and for other pages', async (context) => {
  const price = new Decimal('12345678901234567890.123456789');
  const text = snapshot('{"list":[0.12345678901234567890]}').replace('"meta"', `"price":${price},"meta"`);
  const { address } = await served(context, { '/v1': [(response) => raw(response, '{}')], '/v1/save': [(response) => raw(response, saved)],
    '/v1/objects/T': [(response) => stream(response, ['snapshot', text])] });
  const memory = memoryStorage();
  const storage = { ...memory, get: async (key) => JSON.parse((await memory.get(key)) ?? 'null') ?? undefined,
    set: (key, value) => memory.set(key, JSON.stringify(value)) };
  const before = connect(address, { offline: storage, fetch: (url, init) => (url.endsWith('/v1/save') ? offline() : fetch(url, init)) });
  const live = before.live({ entity: 'T' });
  await until(() => live.state === 'live');
  const shown = { id: 1, price, meta: { list: [new Decimal('0.12345678901234567890')] } };
  assert.deepEqual(live.sections[0].items, [shown]);
  const temporaryID = before.temporaryID();
  before.save([{ insert: 'T', temporaryID, values: { price: new Decimal('0.00000000000000000001') } },
    { update: 'T', id: 1, values: { other: { temporaryID }, meta: shown.meta }, base: { price } }]);
  assert.equal(live.sections[0].items[0].meta.list[0].digits, '0.12345678901234567890');
  await before.close();
  const { sent, fetch: recording } = recorded();
  const after = connect(address, { offline: storage, fetch: recording });
  context.after(() => after.close());
  const restored = after.live({ entity: 'T' });
  const save = () => sent.find((body) => body.includes('changes'));
  await until(() => restored.current && save());
  assert.deepEqual(restored.result.sections[0].items, [shown]);
  assert.match(save(),
    /"price":0.00000000000000000001\}.*"list":\[0.12345678901234567890\]\}\},"base":\{"price":12345678901234567890.123456789\}/);
});

test('local values that are Decimals stand in order beside numbers', async (context) => {
  const { address } = await served(context, { '/v1/objects/T': [(response) => stream(response, ['snapshot', JSON.stringify({ entity: 'T', token: 'a-1-x', count: 2,
    sections: [{ name: '', value: null, items: [{ id: 1, n: 0.1 }, { id: 2, n: 0.2 }] }] })])] });
  const client = connect(address, { offline: memoryStorage(), fetch: (url, init) => (init.method === 'POST' && !init.body.includes('fetches') ? offline() : fetch(url, init)) });
  context.after(() => client.close());
  const live = client.live({ entity: 'T', sort: 'n' });
  await until(() => live.state === 'live');
  client.insert('T', { id: 3, n: new Decimal('0.12345678901234567890') });
  assert.deepEqual(live.sections[0].items.map(({ id }) => id), [1, 3, 2]);
});

test('what is packed for JSON comes back as it was, values without BigInts are shared', () => {
  const value = { a: 5n, decimals: [new Decimal('1e400'), { $decimal: '5' }], b: [1, { $integer: '5' }], c: { $integer: { $integer: -7n } }, d: { $integer: [null] }, $integer: 1 };
  assert.deepEqual(unpacked(JSON.parse(JSON.stringify(packed(value)))), value);
  const plain = { list: [{ a: 1 }] };
  assert.equal(packed(plain), plain);
  assert.equal(stringify({ n: big, text: '"5"' }), '{"n":9007199254740993,"text":"\\"5\\""}');
});

test('the saved objects of an answer have long integers as text, as fetches have them', async (context) => {
  const { address, requests } = await served(context, { '/v1': [(response) => json(response, {})],
    '/v1/save': [(response) => json(response, { token: 'a-2-x', ids: {}, inserted: 0, updated: 1, deleted: 0 })] });
  const options = { prefer: 'return=representation' };
  for (const client of [connect(address), connect(address, { offline: memoryStorage() }), connect(address, { int64: null })]) {
    context.after(() => client.close());
    await client.update('T', 1, { n: 1 }, options);
    await client.update('T', 1, { n: 1 });
  }
  assert.deepEqual(requests.filter(({ path }) => path === '/v1/save').map(({ query }) => query.int64),
    ['string', undefined, 'string', undefined, undefined, undefined]);
});

test('a save that an earlier version of this library has sent is sent again to the same path', async (context) => {
  const { address, requests } = await served(context, { '/v1': [(response) => json(response, {})],
    '/v1/save': [(response) => json(response, { token: 'a-2-x', ids: {}, inserted: 0, updated: 1, deleted: 0 })] });
  const storage = memoryStorage();
  await storage.set('save/1', { changes: [{ update: 'T', id: 1, values: {} }], prefer: 'return=representation', idempotencyKey: 'k', page: 'p', sentAt: Date.now() });
  const client = connect(address, { offline: storage });
  context.after(() => client.close());
  await until(async () => (await storage.keys()).length === 0);
  assert.deepEqual(requests.filter(({ path }) => path === '/v1/save').map(({ query }) => query), [{}]);
});
