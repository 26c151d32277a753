// The numbers of rows in the list of tables.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RowCounts } from '../../../Public/explorer/row-counts.js';

test('after a save only the tables that it changed are counted again', async () => {
  const asked = [];
  const totals = { a: 1, b: 2, c: 3 };
  const client = { fetch: async ({ entity }) => { asked.push(entity); return { total: totals[entity] }; } };
  let changes = 0;
  const counts = new RowCounts(client, () => { changes += 1; });
  const entities = ['a', 'b', 'c'].map((name) => ({ name }));
  await counts.load(entities);
  assert.deepEqual([asked.splice(0), changes], [['a', 'b', 'c'], 3]);
  totals.b = 5;
  counts.refresh(['b', 'gone']);
  await new Promise(setImmediate);
  assert.deepEqual([asked.splice(0), counts.get('b'), changes], [['b'], 5, 4]);
  await counts.load(entities);
  assert.deepEqual(asked, [], 'counted tables are not counted again');
});

test('saves that follow each other are counted together, after a pause', async (context) => {
  const asked = [];
  const counts = new RowCounts({ fetch: async ({ entity }) => { asked.push(entity); return { total: 0 }; } }, () => {});
  await counts.load(['a', 'b', 'c'].map((name) => ({ name })));
  asked.length = 0;
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const settled = () => new Promise(setImmediate);
  counts.refresh(['a']);
  await settled();
  counts.refresh(['c']);
  counts.refresh(['a']);
  await settled();
  assert.deepEqual(asked, ['a']);
  context.mock.timers.tick(10_000);
  await settled();
  assert.deepEqual(asked, ['a', 'a', 'c']);
});
