// Columns as files have them that nobody made for this page: without a type, with blanks in their names.

import assert from 'node:assert/strict';
import { connect } from '../../Public/livefetch.js';
import { groupCells } from './group-scenarios.mjs';
import { isSaved, openCell, openPage, stagedValues } from './pages.mjs';

/** The table of a browser's settings. */
const untyped = `
  CREATE TABLE moz_meta (key TEXT PRIMARY KEY NOT NULL, value NOT NULL) WITHOUT ROWID;
  INSERT INTO moz_meta VALUES ('count', 42), ('origin', 'sync'), ('version', '7');`;

async function kinds({ browser, server, shoot }) {
  const client = connect(server.address);
  const page = await openPage(browser, `${server.address}/?entity=moz_meta&sort=id`, { width: 1440, height: 900 });
  const kind = () => document.querySelector('.editor .kind-switch').textContent;
  const saved = async (id) => (await client.object('moz_meta', id)).object.value;
  await openCell(page, 'origin', 'value');
  assert.equal(await page.run(kind), 'text');
  await page.run(() => document.activeElement.select());
  await page.type('12');
  await page.key('Enter');
  assert.deepEqual(await page.run(stagedValues), [{ value: '12' }]);
  await openCell(page, 'count', 'value');
  assert.equal(await page.run(kind), 'number');
  await shoot(page, 'untyped-cell');
  await page.run(() => document.activeElement.select());
  await page.type('many');
  await page.key('Enter');
  assert.match(await page.run(() => document.querySelector('.editor .complaint').textContent), /number is expected/);
  await page.key('t', { alt: true });
  assert.equal(await page.run(kind), 'text');
  await page.key('Enter');
  await openCell(page, 'version', 'value');
  await page.key('t', { alt: true });
  await page.key('Enter');
  await page.key('s', { ctrl: true });
  await page.until(isSaved, { what: 'the values are saved' });
  assert.deepEqual([await saved('origin'), await saved('count'), Number(await saved('version')), typeof await saved('version')], ['12', 'many', 7, 'number']);
  await openCell(page, 'version', 'value');
  assert.equal(await page.run(kind), 'number');
  await page.key('Escape');
  assert.equal(await page.run(() => globalThis.livefetch.page.editing.staged.count), 0);
  await page.run(() => globalThis.livefetch.page.rowPanel.open('moz_meta', 'version'));
  await page.until(() => document.querySelector('#row-panel .kind-switch')?.textContent === 'number');
  await page.scheme('dark');
  await page.until(() => document.getAnimations().length === 0);
  await shoot(page, 'untyped-row-dark');
  await page.size(390, 844);
  await page.until(() => document.getAnimations().length === 0);
  await shoot(page, 'untyped-row-390');
  await page.close();
}

const imported = `
  CREATE TABLE orders (id INTEGER PRIMARY KEY, "Customer Name" TEXT, "Unit Price" REAL, "Order No." INTEGER, "Order Date" DATE);
  INSERT INTO orders VALUES (1, 'Ann O''Hara', 12.5, 7, '2024-01-31'), (2, 'Bob "B" Lee', 2, 8, '2024-02-01'),
    (3, 'Ann O''Hara', 7.5, 9, '2024-02-29'), (4, NULL, NULL, NULL, NULL);`;

/** Columns of an imported CSV are filtered, counted and grouped like others. */
async function blanks({ browser, server, shoot }) {
  const page = await openPage(browser, `${server.address}/?entity=orders&sort=id`, { width: 1440, height: 900 });
  const total = (count, what) => page.until((wanted) => globalThis.livefetch.page.live.current?.total === wanted, { args: [count], what });
  await total(4);
  await page.run(() => document.querySelector('.head-cell[data-column="Unit Price"] .head-menu').click());
  await page.until(() => document.querySelectorAll('.facet').length === 4 && document.querySelector('.facet-figures'));
  assert.match(await page.run(() => document.querySelector('.facet-figures').textContent), /average7.333/);
  await shoot(page, 'blanks-facets');
  await page.run(() => [...document.querySelectorAll('.facet')].find(({ textContent }) => textContent.startsWith('12.5')).click());
  await total(1, 'one price');
  assert.equal(await page.run(() => document.querySelector('#where').value), '#"Unit Price" == 12.5');
  await page.run(() => globalThis.livefetch.page.change({ where: `#"Order No." > 7 AND #'Customer Name' != NULL` }));
  await total(2, 'a predicate that somebody typed');
  assert.equal(await page.run(() => document.querySelector('.predicate-error').hidden), true);
  await page.run(() => globalThis.livefetch.page.change({ where: '', group: 'Customer Name,Order Date:month', values: '@count,@sum.Unit Price',
    order: '-sum_Unit_Price', chart: 'table' }));
  await page.until(() => document.querySelectorAll('.group-table tbody tr').length === 4);
  assert.deepEqual(await page.run(groupCells), ["Ann O'Hara|2024-01|1|12.5", "Ann O'Hara|2024-02|1|7.5", 'Bob "B" Lee|2024-02|1|2', 'NULL|NULL|1|0']);
  await shoot(page, 'blanks-groups');
  await page.run(() => [...document.querySelectorAll('.group-table td .text-button')][1].click());
  await total(1, 'the rows of a group');
  assert.equal(await page.run(() => document.querySelector('#where').value),
    `#"Customer Name" == 'Ann O\\'Hara' AND #"Order Date" >= '2024-02-01T00:00:00Z' AND #"Order Date" < '2024-03-01T00:00:00Z'`);
  await page.close();
}

export const columnScenarios = {
  'a column without a type takes texts and numbers': { run: kinds, fixture: untyped },
  'columns with blanks in their names are filtered, counted and grouped': { run: blanks, fixture: imported },
};
