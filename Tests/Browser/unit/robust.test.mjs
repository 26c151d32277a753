// Values, names and answers that are not what one expects.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { complete } from '../../../Public/explorer/completion.js';
import { conditionsOf } from '../../../Public/explorer/conditions.js';
import { csvText, parseCSV } from '../../../Public/explorer/csv.js';
import { curl } from '../../../Public/explorer/curl.js';
import { parse, show } from '../../../Public/explorer/format.js';
import { groupRequest } from '../../../Public/explorer/group-request.js';
import { Schema } from '../../../Public/explorer/schema.js';
import { narrowed } from '../../../Public/explorer/view-changes.js';
import { connect, LiveFetchError } from '../../../Public/livefetch.js';
import { Backoff } from '../../../Public/livefetch/backoff.js';
import { EventParser } from '../../../Public/livefetch/events.js';
import { Visibility } from '../../../Public/livefetch/visibility.js';
import { liveStore } from '../../../Public/livefetch/svelte.js';
import { json, served, until } from './script.mjs';

const attribute = (name, type = 'integer') => ({ name, type, optional: true });
const schema = new Schema({ entities: [{ name: 'T', idType: 'integer', relationships: [],
  attributes: [attribute('n'), attribute('unit price'), attribute('day', 'date')] }] });
const view = { entity: 'T', where: '', section: '', group: '', values: '', having: '', order: '', chart: 'bars' };

test('a column of numbers and NULL is the same after an export and an import', () => {
  const text = csvText([['n'], ['1'], [null], ['3'], [null]]);
  const { rows, problems } = parseCSV(text);
  assert.deepEqual([rows.map(({ fields: [{ text: field }] }) => field), problems], [['n', '1', '', '3', ''], []]);
});

test('a text in a date column keeps its letters', () => {
  assert.equal(show('Tuesday', 'date'), 'Tuesday');
  assert.equal(show('not Today', 'date'), 'not Today');
  assert.equal(show('2024-01-31T10:05:00Z', 'date'), '2024-01-31 10:05');
  assert.deepEqual(['2024-01-31T10:05:00.123Z', '2024-01-31T00:00:00.5Z'].map((text) => show(text, 'date')), ['2024-01-31 10:05:00.123', '2024-01-31 00:00:00.5'], 'fractions of a second are values');
});

test('a large integer with a plus is saved without it', () => {
  assert.equal(parse('+9223372036854775807', { type: 'integer' }), '9223372036854775807');
});

test('curl lines quote an address that has characters of the shell', () => {
  assert.match(curl({ entity: "Bob's (old)" }, 'once', null, 'http://h'), /^curl -G \\\n {2}'http:\/\/h\/v1\/objects\/Bob'\\''s%20\(old\)'/);
  assert.match(curl({ entity: 'City' }, 'once', null, 'http://h'), /\n {2}http:\/\/h\/v1\/objects\/City$/);
});

test('a filter with a negative number is opened by the builder again', () => {
  assert.deepEqual(conditionsOf('n > -5 AND n BETWEEN {-3, 4}', () => 'integer').conditions.map(({ values }) => values), [['-5'], ['-3', '4']]);
});

test('a range replaces the one before only where that is a condition of its own', () => {
  assert.equal(narrowed('n BETWEEN {1, 2} AND a == 1', 'n', 3, 4), 'a == 1 AND n BETWEEN {3, 4}');
  assert.equal(narrowed('n BETWEEN {1, 2} OR a == 1', 'n', 3, 4), '(n BETWEEN {1, 2} OR a == 1) AND n BETWEEN {3, 4}');
});

test('names that are no words are offered in quotes', () => {
  const { items } = complete('', 0, { schema, entity: 'T', values: () => [] });
  assert.ok(items.some(({ insert }) => insert === 'n '));
  assert.deepEqual(items.filter(({ insert }) => insert.includes('unit')).map(({ insert }) => insert), ['#"unit price" ']);
});

test('a link with unknown aggregates shows counts', () => {
  assert.deepEqual(groupRequest({ ...view, values: 'count' }, schema, '').select, ['count:@count']);
});

test('a wait whose signal is aborted already ends at once', async () => {
  await new Backoff().wait(AbortSignal.abort(), 3600);
});

test('a wait of more milliseconds than a timer takes is the longest one that it takes', async (context) => {
  const delays = [];
  context.mock.method(globalThis, 'setTimeout', (run, delay) => { delays.push(delay); queueMicrotask(run); });
  await new Backoff().wait(undefined, 30 * 86_400);
  const page = Object.assign(new EventTarget(), { visibilityState: 'hidden' });
  globalThis.document = page;
  context.after(() => { delete globalThis.document; });
  await new Promise((resolve) => new Visibility(30 * 86_400, resolve));
  assert.deepEqual(delays, [2147483647, 2147483647]);
});

test('a line that comes in many pieces is one event, and CR LF may be cut', () => {
  const parser = new EventParser();
  const pieces = ['data: ', ...Array.from({ length: 1000 }, () => 'x'), '\r', '\nid: 7', '\r\n', '\r', '\n'];
  assert.deepEqual(pieces.flatMap((piece) => parser.push(piece)), [{ event: 'message', id: '7', data: 'x'.repeat(1000) }]);
});

test('a request store that gives a subscription object is left by its unsubscribe', () => {
  let isLeft = false;
  const request = { subscribe: (next) => { next(null); return { unsubscribe: () => { isLeft = true; } }; } };
  liveStore(connect('http://127.0.0.1:1'), request).subscribe(() => {})();
  assert.equal(isLeft, true);
});

const snapshot = { entity: 'T', token: 'opaque', count: 1, sections: [{ name: '', value: null, items: [{ id: 1, n: 1 }] }] };
const stream = (response) => {
  response.writeHead(200, { 'Content-Type': 'text/event-stream' });
  response.write(`event: snapshot\ndata: ${JSON.stringify(snapshot)}\n\n`);
};

test('a handler that throws is the application\'s own mistake: its fetch and the others go on', async (context) => {
  const { address } = await served(context, { '/v1/objects/T': [stream] });
  const { mock } = context.mock.method(console, 'error', () => {});
  const client = connect(address);
  context.after(() => client.close());
  const live = client.live({ entity: 'T' }, { onChange: () => { throw new RangeError('mine'); } });
  await until(() => live.state === 'live');
  assert.equal(live.sections[0].items.length, 1);
  assert.equal(mock.calls.length, 1);
});

test('an unknown failure of the network is a LiveFetchError in onState', async (context) => {
  const errors = [];
  context.mock.method(console, 'error', () => {});
  const client = connect('http://127.0.0.1:1', { headers: { get bad() { throw new RangeError('no header'); } } });
  context.after(() => client.close());
  client.live({ entity: 'T' }, { onState: (state, error) => error && errors.push(error) });
  await until(() => errors.length > 0);
  assert.ok(errors[0] instanceof LiveFetchError);
});

test('while the connection is lost nobody asks whether a save is contained', async (context) => {
  let end;
  const { address, requests } = await served(context, {
    '/v1/objects/T': [(response) => { stream(response); end = () => response.destroy(); }, (response, { isStream }) => (isStream ? response.destroy() : json(response, {}, 503))],
    '/v1/save': [(response) => json(response, { token: 'other', ids: {}, inserted: 0, updated: 1, deleted: 0 })] });
  const client = connect(address);
  context.after(() => client.close());
  const live = client.live({ entity: 'T' });
  await until(() => live.state === 'live');
  end();
  await until(() => live.state === 'offline');
  await client.update('T', 1, { n: 2 });
  await new Promise((resolve) => { setTimeout(resolve, 1500); });
  assert.deepEqual(requests.filter(({ query }) => query.wait === '0'), []);
});

test('a save that is repeated under its key is the same save', async () => {
  const sent = [];
  const fetch = async (_, { body }) => {
    const { changes } = JSON.parse(body);
    sent.push(changes.map(({ temporaryID }) => temporaryID));
    if (sent.length % 2 === 1) throw new TypeError('the answer is lost');
    return new Response(JSON.stringify({ token: 'a-1-x', ids: Object.fromEntries(changes.map((change, index) => [change.temporaryID, index + 7])) }));
  };
  const client = connect('http://127.0.0.1:1', { fetch });
  const changes = [{ insert: 'T', values: { a: 1 } }, { insert: 'T', values: { a: 2 } }];
  const twice = async (save) => { await assert.rejects(save(), { code: 'unreachable' }); return save(); };
  await twice(() => client.save(changes, { idempotencyKey: 'one' }));
  assert.equal((await twice(() => client.insert('T', { a: 3 }, { idempotencyKey: 'two' }))).id, 7);
  await twice(() => client.save(changes));
  const [first, second, third, fourth, fifth, sixth] = sent;
  assert.deepEqual([second, fourth], [first, third]);
  assert.notDeepEqual(fifth, sixth);
  const all = [...first, ...third, ...fifth, ...sixth];
  assert.equal(new Set(all).size, all.length);
  assert.ok(all.every((id) => /^new-[0-9a-f]{24}-\d{6}$/.test(id)), all.join());
});
