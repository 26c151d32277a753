// The adapters for Vue and Svelte against the contract of the few functions they import; React and
// the plain DOM are run in the browser.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adapter, build } from '../adapters.mjs';

/** A client whose one live fetch says what the test says. */
function source() {
  const state = { closed: 0, requests: [] };
  const client = { live(request, { onChange }) {
    state.requests.push(request);
    state.say = onChange;
    return { close: () => { state.closed += 1; } };
  } };
  return { client, state };
}

test('every adapter has at most 20 lines', () => {
  for (const name of ['React', 'Vue', 'Svelte', 'No framework']) {
    const lines = adapter(name).split('\n').length;
    assert.ok(lines <= 20, `${name} has ${lines}`);
  }
});

test('Vue: the ref holds the newest result, and another request closes the fetch before', () => {
  const { client, state } = source();
  const effects = [];
  const watchEffect = (run) => {
    const effect = () => { effect.cleanup?.(); run((cleanup) => { effect.cleanup = cleanup; }); };
    effects.push(effect);
    effect();
  };
  const vue = { shallowRef: (value) => ({ value }), watchEffect,
    toValue: (value) => (typeof value === 'function' ? value() : value) };
  let entity = 'City';
  const current = build(adapter('Vue'), vue)(client, () => ({ entity }));
  assert.equal(current.value, null);
  state.say({ count: 1 });
  assert.deepEqual(current.value, { count: 1 });
  entity = 'Country';
  effects.forEach((effect) => effect());
  assert.deepEqual(state.requests, [{ entity: 'City' }, { entity: 'Country' }]);
  assert.equal(state.closed, 1);
});

test('Svelte: the store follows while somebody is subscribed', () => {
  const { client, state } = source();
  const readable = (initial, start) => ({ subscribe(run) {
    run(initial);
    return start(run);
  } });
  const seen = [];
  const stop = build(adapter('Svelte'), { readable })(client, { entity: 'City' })
    .subscribe((value) => seen.push(value));
  state.say({ count: 2 });
  stop();
  assert.deepEqual(seen, [null, { count: 2 }]);
  assert.equal(state.closed, 1);
});
