// Views whose rows cannot be distinguished by an id.

import assert from 'node:assert/strict';
import { connect } from '../../Public/livefetch.js';
import { eventually } from './browser.mjs';
import { exported, openPage } from './pages.mjs';
import { script } from './server.mjs';

const views = `
  CREATE TABLE part (id INTEGER PRIMARY KEY, name TEXT);
  INSERT INTO part VALUES (1, 'wheel'), (2, 'axle');
  CREATE TABLE made (part INTEGER, size INTEGER);
  INSERT INTO made VALUES (1, 10), (2, 10);
  CREATE VIEW sizes AS SELECT part.id, name, size FROM part JOIN made ON made.part = part.id;
  CREATE VIEW files AS SELECT part AS id, 'size ' || size AS name, CAST('size ' || size AS BLOB) AS data FROM made;
  CREATE VIEW equal AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 6001)
    SELECT i % 2 AS odd, 'same' AS text FROM n;`;

const shown = () => [...document.querySelectorAll('.row')].map((row) => [...row.querySelectorAll('.cell')].map(({ textContent }) => textContent).join(' ')).sort();

/** Makes the views repeat their ids, which they did not when the server looked at them. */
async function repeat(server) {
  script(server.file, 'INSERT INTO made VALUES (1, 20), (1, 30), (2, 20), (2, 30)');
  const client = connect(server.address);
  await eventually(async () => (await client.fetch({ entity: 'sizes', as: 'count' })).total, 6, 'the server sees six rows');
}

/** A join gives several rows the same `id`: each is a row of its own, with its own values in the panel. */
async function repeatedIDs({ browser, server, shoot }) {
  await repeat(server);
  const page = await openPage(browser, `${server.address}/?entity=sizes&sort=size`);
  const all = ['axle 10 2', 'axle 20 2', 'axle 30 2', 'wheel 10 1', 'wheel 20 1', 'wheel 30 1'];
  await page.until(() => document.querySelectorAll('.row').length === 6, { what: 'six rows' });
  assert.deepEqual(await page.run(shown), all);
  await page.click('.row .cell');
  await page.key(' ');
  const panelShows = (text) => [...document.querySelectorAll('.row-panel .row-text')].map(({ textContent }) => textContent).join(' ') === text;
  const seen = [];
  for (let index = 0; index < 6; index += 1) {
    await page.until((at) => document.querySelector('.row.is-current')?.getAttribute('aria-rowindex') === String(at + 2), { args: [index] });
    const [name, size, id] = await page.run(() => [...document.querySelectorAll('.row.is-current .cell')].map(({ textContent }) => textContent));
    await page.until(panelShows, { args: [`${id} ${name} ${size}`], what: `the panel shows ${name} ${size}` });
    seen.push(`${name} ${size} ${id}`);
    await page.run(() => document.querySelector('.grid').focus());
    await page.key('ArrowDown');
  }
  assert.deepEqual(seen.sort(), all);
  await page.key('a', { ctrl: true });
  assert.equal(await page.run(() => globalThis.livefetch.page.grid.selectedItems.length), 6);
  await shoot(page, 'view-repeated-ids');
  await page.run(() => globalThis.livefetch.page.change({ where: 'size == 20' }));
  await page.until(() => document.querySelectorAll('.row').length === 2, { what: 'no row of the result before is left' });
  assert.deepEqual(await page.run(shown), ['axle 20 2', 'wheel 20 1']);
  await page.close();
}

/** Each row's own bytes are downloaded, not those of the first one with its id. */
async function bytesOfRows({ browser, server }) {
  await repeat(server);
  const page = await openPage(browser, `${server.address}/?entity=files&where=id+%3D%3D+1&sort=name`);
  await page.run(() => {
    URL.createObjectURL = (blob) => { globalThis.saved = blob; return '#'; };
    HTMLAnchorElement.prototype.click = () => {};
  });
  await page.click('.row .cell');
  await page.key(' ');
  for (const name of ['size 10', 'size 20', 'size 30']) {
    await page.until((text) => document.querySelector('.row-panel-name').textContent === text && document.querySelector('.binary-line button'), { args: [name], what: `the row ${name}` });
    await page.run(() => { globalThis.saved = null; document.querySelector('.binary-line button').click(); });
    await page.until(() => globalThis.saved, { what: 'a file' });
    assert.equal(await page.run(() => globalThis.saved.text()), name);
    await page.run(() => document.querySelector('.grid').focus());
    await page.key('ArrowDown');
  }
  await page.close();
}

/** Rows that are equal in everything are shown once each, and an export has all of them. */
async function equalRows({ browser, server }) {
  const page = await openPage(browser, `${server.address}/?entity=equal`);
  const places = () => [...document.querySelectorAll('.row')].map((row) => row.getAttribute('aria-rowindex'));
  for (const top of [3000, 90_000, 0]) {
    await page.run((y) => { document.querySelector('.grid').scrollTop = y; }, top);
    await page.until((y) => Math.abs(globalThis.livefetch.page.grid.scroller.position - y) < 40 && document.querySelectorAll('.row').length > 10, { args: [top] });
    await page.until(() => !document.querySelector('.grid-loading:not([hidden])'));
    const list = await page.run(places);
    assert.equal(new Set(list).size, list.length, 'each place has one row');
  }
  await page.run(() => globalThis.livefetch.page.change({ where: 'odd > 1' }));
  await page.until(() => document.querySelectorAll('.row').length === 0, { what: 'no row is left' });
  await page.run(() => globalThis.livefetch.page.change({ where: '' }));
  await page.until(() => globalThis.livefetch.page.live.current?.total === 6001 && document.querySelectorAll('.row').length > 10);
  const lines = await exported(page);
  assert.deepEqual([lines[0], lines.length - 1, lines.filter((line) => line === 'same,1').length], ['text,odd', 6001, 3001]);
  await page.close();
}

export const viewScenarios = {
  'a file of a view is that of its row': { run: bytesOfRows, fixture: views },
  'a view that repeats its ids shows each of its rows': { run: repeatedIDs, fixture: views },
  'equal rows of a view are shown and exported, all of them': { run: equalRows, fixture: views },
};
