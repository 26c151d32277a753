// Lists of a request as one text → the arrays that are sent.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clean, route } from '../../../Public/livefetch/transport.js';

test('select is split at commas outside brackets and quotes, as the server does', () => {
  const cases = [
    ['name,population', ['name', 'population']],
    ['x:max({a,b}), n:@count', ['x:max({a,b})', 'n:@count']],
    [`x:TERNARY(a == ",", 'b\\',', c),d`, [`x:TERNARY(a == ",", 'b\\',', c)`, 'd']],
    ['x:f(a,b', ['x:f(a', 'b']],
    [`it's,name`, [`it's`, 'name']],
    ['a)(,b', ['a)(', 'b']],
  ];
  for (const [text, expected] of cases) assert.deepEqual(clean({ select: text }).select, expected, text);
});

test('other lists are split at every comma', () => {
  assert.deepEqual(clean({ sort: `it's, that's` }).sort, [`it's`, `that's`]);
});

test('an element with a comma is sent in a body, where it stays one', () => {
  const request = route({ entity: 'City', as: 'dictionaries', select: 'x:max({a,b}),n:@count' });
  assert.deepEqual(request.body.select, ['x:max({a,b})', 'n:@count']);
});
