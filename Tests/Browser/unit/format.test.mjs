// Values as cells show them, and the columns of files.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { number } from '../../../Public/explorer/format.js';
import { columnFor } from '../../../Public/explorer/import-dialog.js';

test('a small number is shown with all its digits', () => {
  assert.deepEqual([0.0000123456789012345678, -0.00012345678901234567, 0.000001, 1.5e-9, 0.001, 0.25].map(number),
    ['0.000012345678901234568', '-0.00012345678901234567', '0.000001', '1.5e-9', '0.001', '0.25']);
});

test('the heading of a file names a column with blanks around its name', () => {
  const named = (...names) => names.map((name) => ({ name, type: 'string' }));
  assert.equal(columnFor(' lead ', named('name', ' lead ', 'lead'))?.name, ' lead ');
  assert.equal(columnFor(' lead ', named('name', 'lead'))?.name, 'lead');
  assert.equal(columnFor(' Lead', named('lead'))?.name, 'lead');
  assert.equal(columnFor('lead', named(' lead ')), null);
});
