// The common part of the adapters for frameworks, and the adapters that run without a framework. Those for
// React, Vue and Svelte are tested in the browser.

import assert from 'node:assert/strict';
import { register } from 'node:module';
import { test } from 'node:test';
import { LiveTarget } from '../../../Public/livefetch/event-target.js';
import { liveStore } from '../../../Public/livefetch/svelte.js';
import { Follower, watch } from '../../../Public/livefetch/watch.js';

/** A client whose live fetches say what the test says. */
function fake() {
  const client = { lives: [], live(request) {
    const listeners = new Set();
    const live = { request, current: null, state: 'connecting', error: null,
      subscribe: (listener) => { listeners.add(listener); return () => listeners.delete(listener); },
      close: () => { live.say({ state: 'closed' }); },
      say: (values) => { Object.assign(live, values); listeners.forEach((listener) => listener()); } };
    client.lives.push(live);
    return live;
  } };
  return client;
}

const cities = { entity: 'City', sort: 'name' };
const byPopulation = { entity: 'City', sort: '-population' };
const result = (...items) => ({ sections: [{ items }] });
const answered = (live, ...items) => live.say({ current: result(...items), state: 'live' });

test('equal requests of a client share one live fetch, which ends a second after the last subscriber', (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const client = fake();
  const [one, other] = [watch(client, cities), watch(client, { ...cities })];
  const stops = [one.subscribe(() => {}), other.subscribe(() => {})];
  assert.equal(client.lives.length, 1);
  answered(client.lives[0], 1);
  assert.equal(one.read(), other.read());
  stops.forEach((stop) => stop());
  context.mock.timers.tick(900);
  one.subscribe(() => {})();
  context.mock.timers.tick(900);
  assert.equal(client.lives[0].state, 'live');
  context.mock.timers.tick(200);
  assert.equal(client.lives[0].state, 'closed');
  assert.deepEqual(one.read(), { data: null, state: 'connecting', error: null });
  one.subscribe(() => {});
  assert.equal(client.lives.length, 2);
});

test('a subscriber that throws keeps the result from no other one', (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const { mock } = context.mock.method(console, 'error', () => {});
  const client = fake();
  const seen = [];
  const fails = () => { throw new Error('the first one fails'); };
  watch(client, cities).subscribe(fails);
  const store = liveStore(client, cities);
  store.subscribe(({ data }) => data && fails());
  store.subscribe(({ data }) => data && seen.push(data.sections[0].items));
  answered(client.lives[0], 'Aachen');
  assert.deepEqual([seen, client.lives.length, mock.calls.length], [[['Aachen']], 1, 2]);
});

test('another client has live fetches of its own', () => {
  const [one, other] = [fake(), fake()];
  watch(one, cities).subscribe(() => {});
  watch(other, cities).subscribe(() => {});
  assert.deepEqual([one.lives.length, other.lives.length], [1, 1]);
});

test('it is ready when there is data, or when the request is refused', async () => {
  const client = fake();
  const { ready } = watch(client, cities);
  client.lives[0].say({ state: 'offline', error: new Error('unreachable') });
  assert.equal(await Promise.race([ready, Promise.resolve('waits')]), 'waits');
  answered(client.lives[0], 1);
  await ready;
  const refused = watch(client, byPopulation).ready;
  client.lives[1].say({ state: 'failed', error: new Error('no such key path') });
  await refused;
  await watch(client, byPopulation).ready;
});

test('the data stays while another request of the same form connects, and goes when it is refused', () => {
  const client = fake();
  const seen = [];
  const follower = new Follower(client, ({ data, state }) => seen.push([data?.sections[0].items, state]));
  follower.follow(cities);
  answered(client.lives[0], 'Aachen');
  follower.follow(byPopulation);
  answered(client.lives[1], 'Tokyo');
  follower.follow({ entity: 'City', sort: 'size' });
  client.lives[2].say({ state: 'failed', error: new Error('no such key path') });
  assert.deepEqual(seen, [[undefined, 'connecting'], [['Aachen'], 'live'], [['Aachen'], 'connecting'],
    [['Tokyo'], 'live'], [['Tokyo'], 'connecting'], [undefined, 'failed']]);
  follower.close();
});

test('the data does not stay where the items have another form', () => {
  const client = fake();
  const seen = [];
  const follower = new Follower(client, ({ data }) => seen.push(data?.sections[0].items));
  for (const request of [cities, { entity: 'Country' }, { entity: 'Country', as: 'ids' }]) {
    follower.follow(request);
    answered(client.lives.at(-1), seen.length);
  }
  follower.follow(null);
  assert.deepEqual(seen, [undefined, [1], undefined, [3], undefined, [5], undefined]);
  follower.close();
});

test('EventTarget: each change is an event, and another request closes the one before', (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const client = fake();
  const target = new LiveTarget(client, cities);
  const seen = [];
  target.addEventListener('change', () => seen.push([target.data.sections[0].items, target.state]));
  answered(client.lives[0], 'Aachen');
  target.request = byPopulation;
  answered(client.lives[1], 'Tokyo');
  assert.deepEqual(seen, [[['Aachen'], 'live'], [['Aachen'], 'connecting'], [['Tokyo'], 'live']]);
  context.mock.timers.tick(1000);
  assert.deepEqual(client.lives.map(({ state }) => state), ['closed', 'live']);
  target.close();
  context.mock.timers.tick(1000);
  assert.equal(client.lives[1].state, 'closed');
});

test('EventTarget: without a request nothing is followed', () => {
  const client = fake();
  const target = new LiveTarget(client);
  assert.deepEqual([target.data, target.state, target.error, client.lives.length], [null, 'idle', null, 0]);
});

test('Svelte: the store follows while it has subscribers, also a request that is a store', (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const client = fake();
  let change;
  const request = { subscribe(run) {
    change = run;
    run(cities);
    return () => { change = null; };
  } };
  const store = liveStore(client, request);
  assert.equal(client.lives.length, 0);
  const seen = [];
  const stops = [store.subscribe(({ data }) => seen.push(data?.sections[0].items)), store.subscribe(() => {})];
  answered(client.lives[0], 'Aachen');
  change(byPopulation);
  answered(client.lives[1], 'Tokyo');
  assert.deepEqual(seen, [undefined, ['Aachen'], ['Aachen'], ['Tokyo']]);
  stops.forEach((stop) => stop());
  context.mock.timers.tick(1000);
  assert.deepEqual([change, ...client.lives.map(({ state }) => state)], [null, 'closed', 'closed']);
});

/** The four functions of Solid that the adapter uses, of one effect that runs when the test says so. */
const solid = `
  export const createSignal = (value) => [() => value, (next) => { value = next(value); }];
  export const untrack = (read) => read();
  export const createEffect = (run) => { globalThis.solid = { run }; };
  export const onCleanup = (end) => { globalThis.end = end; };`;

test('Solid: the properties follow the request, and the owner ends it', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const hooks = `export const resolve = (name, context, next) => name === 'solid-js'
    ? { url: ${JSON.stringify(`data:text/javascript,${encodeURIComponent(solid)}`)}, shortCircuit: true } : next(name, context);`;
  register(`data:text/javascript,${encodeURIComponent(hooks)}`);
  const { createLive } = await import('../../../Public/livefetch/solid.js');
  const client = fake();
  let request = cities;
  const shown = createLive(client, () => request);
  assert.deepEqual([shown.data, shown.state, client.lives.length], [null, 'connecting', 0]);
  globalThis.solid.run();
  answered(client.lives[0], 'Aachen');
  request = byPopulation;
  globalThis.solid.run();
  assert.deepEqual([shown.data.sections[0].items, shown.state], [['Aachen'], 'connecting']);
  answered(client.lives[1], 'Tokyo');
  assert.deepEqual([shown.data.sections[0].items, shown.state, shown.error], [['Tokyo'], 'live', null]);
  globalThis.end();
  context.mock.timers.tick(1000);
  assert.deepEqual(client.lives.map(({ state }) => state), ['closed', 'closed']);
});
