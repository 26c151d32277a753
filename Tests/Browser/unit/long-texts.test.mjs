// Texts of megabytes: cells and names show their beginning.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { beginning, LONG } from '../../../Public/explorer/format.js';
import { Schema } from '../../../Public/explorer/schema.js';

test('a long text is shown by its first 1,000 characters', () => {
  assert.equal(beginning('a'.repeat(1000)), 'a'.repeat(1000));
  assert.equal(beginning('a'.repeat(1001)), `${'a'.repeat(1000)}…`);
});

test('the panel of a row shows 100,000 characters whole', () => {
  assert.equal(beginning('a'.repeat(100_000), LONG), 'a'.repeat(100_000));
  assert.equal(beginning('a'.repeat(100_001), LONG), `${'a'.repeat(1000)}…`);
});

test('no character is cut in two', () => {
  assert.equal(beginning(`${'a'.repeat(999)}😀b`), `${'a'.repeat(999)}…`);
});

test('the name of a row is the beginning of a long text', () => {
  const model = { entities: [{ name: 'T', attributes: [{ name: 'name', type: 'string' }], relationships: [] }] };
  const schema = new Schema(model, { read: () => null, write() {} });
  assert.equal(schema.title('T', { id: 1, name: 'b'.repeat(1_000_000) }), `${'b'.repeat(1000)}…`);
});
