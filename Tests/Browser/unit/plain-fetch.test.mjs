// Fetches that are not live: one request at a time.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PlainFetch } from '../../../Public/explorer/plain-fetch.js';

const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Returns a plain fetch, its `requests` `{signal, resolve, reject}`, and the tokens of the snapshots that it has `shown`. */
function started() {
  const requests = [];
  const json = ({ signal }) => new Promise((resolve, reject) => requests.push({ signal, resolve, reject }));
  const shown = [];
  const fetch = new PlainFetch({ transport: { json } }, { entity: 'Item' }, { onChange: ({ token }) => shown.push(token) });
  return { fetch, requests, shown };
}

const snapshot = (token) => ({ data: { token, sections: [] }, bytes: 1 });

test('a refresh ends the request before it, whose response is not shown', async () => {
  const { fetch, requests, shown } = started();
  fetch.refresh();
  assert.deepEqual(requests.map(({ signal }) => signal.aborted), [true, false]);
  requests[1].resolve(snapshot('new'));
  await settled();
  requests[0].resolve(snapshot('old'));
  await settled();
  assert.deepEqual([shown, fetch.state], [['new'], 'plain']);
});

test('while the server cannot be reached there is one next attempt, however often it is refreshed', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const { fetch, requests } = started();
  for (let click = 0; click < 4; click += 1) fetch.refresh();
  for (const { reject } of requests) reject(new TypeError('fetch failed'));
  await settled();
  assert.deepEqual([fetch.state, requests.length], ['offline', 5]);
  context.mock.timers.tick(20_000);
  await settled();
  assert.equal(requests.length, 6);
  requests[5].reject(new TypeError('fetch failed'));
  await settled();
  fetch.refresh();
  context.mock.timers.tick(20_000);
  await settled();
  assert.equal(requests.length, 7, 'the refresh takes the place of the wait');
  fetch.close();
});

test('a fetch that is closed is not fetched again', async () => {
  const { fetch, requests, shown } = started();
  fetch.close();
  fetch.refresh();
  requests[0].resolve(snapshot('late'));
  await settled();
  assert.deepEqual([requests.length, requests[0].signal.aborted, shown, fetch.state], [1, true, [], 'closed']);
});
