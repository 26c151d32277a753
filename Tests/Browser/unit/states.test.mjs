// The states of a live fetch, the error that belongs to each, and refusals that nobody handles.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect, isPending } from '../../../Public/livefetch.js';
import { json, served, until } from './script.mjs';

const path = '/v1/objects/T';
const snapshot = { entity: 'T', token: 'a-1-x', count: 1, sections: [{ name: '', value: null, items: [{ id: 1 }] }] };

const open = (response, ...list) => {
  response.writeHead(200, { 'Content-Type': 'text/event-stream' });
  response.write('retry: 2000\n\n');
  for (const [event, data] of list) response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
};

const refusal = { code: 'unknown-key-path', title: 'Unknown key path', detail: 'City has no size.',
  hint: 'Did you mean name?' };

test('the state live carries no error of the connection before, though no event came yet', async (context) => {
  const { address } = await served(context, { [path]: [
    (response) => { open(response, ['snapshot', snapshot]); response.end(); },
    (response) => json(response, { code: 'overloaded', title: 'Overloaded' }, 503),
    (response) => open(response)] });
  const client = connect(address);
  context.after(() => client.close());
  const states = [];
  const live = client.live({ entity: 'T' }, { onState: (state, error) => states.push([state, error?.code ?? null]) });
  await until(() => states.filter(([state]) => state === 'live').length === 2);
  assert.deepEqual(states, [['live', null], ['offline', null], ['live', null]]);
  assert.equal(live.error, null);
});

test('the error of a lost connection is there while it is lost, and gone when the fetch is closed', async (context) => {
  const { address } = await served(context, { [path]: [
    (response) => json(response, { code: 'overloaded', title: 'Overloaded' }, 503)] });
  const states = [];
  const live = connect(address).live({ entity: 'T' },
    { onState: (state, error) => states.push([state, error?.code ?? null]) });
  await until(() => live.state === 'offline');
  assert.equal(live.error.code, 'overloaded');
  live.close();
  assert.deepEqual(states, [['offline', 'overloaded'], ['closed', null]]);
});

/** The lines that a refused fetch with these handlers writes to the console. */
async function warnings(context, handlers) {
  const { address } = await served(context, { [path]: [(response) => json(response, refusal, 400)] });
  const { mock } = context.mock.method(console, 'warn', () => {});
  const live = connect(address).live({ entity: 'T', where: 'size > 1' }, handlers);
  await until(() => live.state === 'failed');
  return mock.calls.map(({ arguments: [text] }) => text);
}

test('a refusal that nobody handles is a warning with its code and hint', async (context) => {
  assert.deepEqual(await warnings(context, { onChange: () => {} }),
    ['livefetch: The fetch of T was refused: unknown-key-path: City has no size. Hint: Did you mean name?']);
});

test('a refusal that a handler gets is no warning', async (context) => {
  assert.deepEqual(await warnings(context, { onError: () => {} }), []);
  assert.deepEqual(await warnings(context, { onState: () => {} }), []);
});

test('a token that no header can carry ends in failed, like one that the server refuses', async (context) => {
  const { address, requests } = await served(context, { [path]: [(response) => open(response, ['snapshot', snapshot])] });
  for (const token of ['key\u0000', 'two\nlines']) {
    const client = connect(address, { token });
    context.after(() => client.close());
    const live = client.live({ entity: 'T' }, { onError: () => {} });
    await until(() => live.state === 'failed');
    assert.deepEqual([live.error.code, live.error.status], ['unauthorized', 401]);
    assert.equal(live.error.message, 'The token or another header contains a character that a header cannot carry.');
    await assert.rejects(client.fetch({ entity: 'T' }), { code: 'unauthorized' });
  }
  assert.deepEqual(requests, []);
});

test('a token with other than ASCII characters is sent in UTF-8, as curl sends it', async () => {
  const sent = [];
  const answer = async (_, { headers }) => { sent.push(new Headers(headers).get('Authorization')); return new Response('{}'); };
  const client = connect('http://127.0.0.1:1', { token: 'sécret', fetch: answer });
  await client.about();
  assert.deepEqual(sent.map((text) => Buffer.from(text, 'latin1').toString('utf8')), ['Bearer sécret']);
});

test('sections by JSON are not checked against a digest, which is no warning', async (context) => {
  const { mock } = context.mock.method(console, 'warn', () => {});
  const live = [];
  for (const value of [{ a: 1 }, 'text']) {
    const { address } = await served(context, { [path]: [(response) => open(response, ['snapshot', { ...snapshot, digest: '00000001', sections: [{ ...snapshot.sections[0], value }] }])] });
    const client = connect(address);
    context.after(() => client.close());
    live.push(client.live({ entity: 'T' }, { onChange: () => {} }));
    await until(() => live.at(-1).state === 'live');
  }
  assert.deepEqual(mock.calls.map(({ arguments: [, kind] }) => kind), ['digest-unusable'], 'that of the text alone');
});

test('a save is let go of after its answer, though a fetch of its entity has failed', async (context) => {
  const { address } = await served(context, { [path]: [(response) => json(response, refusal, 400)],
    '/v1/save': [(response) => json(response, { token: 'a-2-x', ids: {}, inserted: 0, updated: 1, deleted: 0 })] });
  const client = connect(address);
  context.after(() => client.close());
  const live = client.live({ entity: 'T', where: 'size > 1' }, { onError: () => {} });
  await until(() => live.state === 'failed');
  await client.update('T', 1, { n: 1 });
  assert.deepEqual(client.pending, []);
});

for (const by of ['onSnapshot', 'onDiff', 'onChange']) {
  test(`no handler is called after ${by} has closed the fetch`, async (context) => {
    const diff = { entity: 'T', from: 'a-1-x', to: 'a-2-x', count: 0, sections: { deleted: [], inserted: [] },
      items: { deleted: [{ from: [0, 0], id: 1 }], inserted: [], moved: [], updated: [] } };
    const { address } = await served(context, { [path]: [(response) => open(response, ['snapshot', snapshot], ['diff', diff])] });
    const client = connect(address);
    context.after(() => client.close());
    const calls = [];
    const handler = (name) => () => {
      calls.push(name);
      if (name === by) live.close();
    };
    const live = client.live({ entity: 'T' }, Object.fromEntries(['onSnapshot', 'onDiff', 'onChange'].map((name) => [name, handler(name)])));
    live.subscribe(() => { if (live.state !== 'closed') calls.push('listener'); else calls.push('closed'); });
    await until(() => live.state === 'closed');
    await new Promise((resolve) => { setImmediate(resolve); });
    const expected = { onSnapshot: ['onSnapshot', 'closed'], onChange: ['onSnapshot', 'onChange', 'closed'],
      onDiff: ['onSnapshot', 'onChange', 'listener', 'listener', 'onDiff', 'closed'] };
    assert.deepEqual(calls, expected[by]);
  });
}

test('an answered save stays in the result of a fetch that has failed, and is pending no more', async (context) => {
  const item = { id: 1, n: 1 };
  const sections = [{ ...snapshot.sections[0], items: [item] }];
  const { address } = await served(context, {
    [path]: [(response) => { open(response, ['snapshot', { ...snapshot, sections }]); response.end(); }, (response) => json(response, refusal, 400)],
    '/v1/save': [(response) => json(response, { token: 'a-2-x', ids: {}, inserted: 0, updated: 1, deleted: 0 }),
      (response, { body }) => json(response, { token: 'a-3-x', ids: { [body.changes[0].temporaryID]: 7 }, inserted: 1, updated: 0, deleted: 0 }),
      (response) => json(response, refusal, 400)] });
  const client = connect(address, { multiplex: false });
  context.after(() => client.close());
  const shown = [];
  const live = client.live({ entity: 'T' }, { onError: () => {}, onChange: ({ sections: [{ items }] }, { cause }) => shown.push([cause, items.map(({ n }) => n)]) });
  await until(() => live.state === 'failed');
  await client.update('T', 1, { n: 2 });
  await client.insert('T', { n: 5 });
  await assert.rejects(client.update('T', 1, { n: 9 }));
  assert.deepEqual(shown, [['snapshot', [1]], ['edit', [2]], ['settled', [2]], ['edit', [2, 5]], ['settled', [2, 5]], ['edit', [9, 5]], ['rollback', [2, 5]]]);
  const { items } = live.sections[0];
  assert.deepEqual([items, live.current.count, live.current.isPending, items.some(isPending)], [[{ id: 1, n: 2 }, { id: 7, n: 5 }], 2, false, false]);
  assert.deepEqual([client.pending, live.result.sections[0].items], [[], [item]], 'the stored result is the one at its token');
});
