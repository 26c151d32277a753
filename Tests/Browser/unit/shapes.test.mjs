// Live fetches of the other shapes: dictionaries come whole, counts as a number, and a wait that
// runs out says nothing.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect } from '../../../Public/livefetch.js';
import { json, served, until } from './script.mjs';

const path = '/v1/objects/T';
const dictionaries = (token, n, more = {}) => ({ entity: 'T', token, count: 1,
  sections: [{ name: '', value: null, indexTitle: '', items: [{ n }] }], ...more });

/** Follows a request against answers given one after the other; what was called, in words. */
async function follow(context, request, answers) {
  const { address, requests } = await served(context, { [path]: [
    ...answers.map((answer) => (response) => json(response, answer)), () => {}] });
  const client = connect(address, { stream: false, multiplex: false });
  context.after(() => client.close());
  const calls = [];
  const live = client.live({ entity: 'T', ...request }, {
    onSnapshot: () => calls.push('snapshot'), onDiff: () => calls.push('diff'),
    onChange: (current) => calls.push(current.sections ? current.sections[0].items : current.total) });
  await until(() => requests.length > answers.length);
  return { live, calls, requests };
}

test('dictionaries are replaced whole, and not where nothing in them differs', async (context) => {
  const quiet = { entity: 'T', from: 'a-1-x', to: 'a-2-x' };
  const { live, calls, requests } = await follow(context, { as: 'dictionaries', select: 'n:@count' }, [
    dictionaries('a-1-x', 1), quiet,
    { entity: 'T', from: 'a-2-x', to: 'a-3-x', reset: true, count: 1, sections: dictionaries('', 2).sections }]);
  assert.deepEqual(calls, ['snapshot', [{ n: 1 }], 'diff', [{ n: 2 }]]);
  assert.deepEqual(requests.map(({ query }) => query.since), [undefined, 'a-1-x', 'a-2-x', 'a-3-x']);
  assert.ok(requests.every(({ query }) => query.digest === undefined), 'they have no digest');
  assert.equal(live.current.count, 1);
  assert.equal(live.current.token, 'a-3-x');
});

test('a count is told when it is another one', async (context) => {
  const { calls } = await follow(context, { as: 'count' }, [
    { entity: 'T', token: 'a-1-x', total: 3 }, { entity: 'T', from: 'a-1-x', to: 'a-2-x', total: 3 },
    { entity: 'T', from: 'a-2-x', to: 'a-3-x', total: 4 }]);
  assert.deepEqual(calls, ['snapshot', 3, 'diff', 4]);
});

test('a total that changes beyond the window is told, an empty diff is not', async (context) => {
  const empty = { sections: { deleted: [], inserted: [] },
    items: { deleted: [], inserted: [], moved: [], updated: [] } };
  const { live, calls } = await follow(context, { limit: 1, count: 'exact' }, [
    { entity: 'T', token: 'a-1-x', count: 1, total: 5, next: 'n', sections: [{ name: '', value: null, items: [{ id: 1 }] }] },
    { entity: 'T', from: 'a-1-x', to: 'a-2-x', count: 1, total: 5, next: 'n', ...empty },
    { entity: 'T', from: 'a-2-x', to: 'a-3-x', count: 1, total: 6, next: 'n', ...empty }]);
  assert.deepEqual(calls, ['snapshot', [{ id: 1 }], 'diff', [{ id: 1 }]]);
  assert.equal(live.current.total, 6);
});

test('a related object that changed is told, though no item did', async (context) => {
  const { live, calls } = await follow(context, { expand: 'r' }, [
    { entity: 'T', token: 'a-1-x', count: 1, sections: [{ name: '', value: null, items: [{ id: 1, r: 9 }] }],
      included: { R: { 9: { id: 9, name: 'old' } } } },
    { entity: 'T', from: 'a-1-x', to: 'a-2-x', count: 1, sections: { deleted: [], inserted: [] },
      items: { deleted: [], inserted: [], moved: [], updated: [] }, included: { R: { 9: { id: 9, name: 'new' } } } }]);
  assert.equal(calls.filter((call) => call === 'diff').length, 1);
  assert.equal(live.current.included.R[9].name, 'new');
});
