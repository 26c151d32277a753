// The page on files that nobody prepared for it: views, tables without a key, read-only stores.

import assert from 'node:assert/strict';
import { script } from './server.mjs';

const shapes = `
  CREATE TABLE Artist (ArtistId INTEGER PRIMARY KEY, Name TEXT, Year INTEGER);
  CREATE TABLE Album (AlbumId INTEGER PRIMARY KEY, Title TEXT NOT NULL, ArtistId INTEGER REFERENCES Artist);
  CREATE TABLE log (line TEXT, at INTEGER);
  CREATE TABLE "Nothing" (id INTEGER PRIMARY KEY, name TEXT NOT NULL, amount INTEGER);
  CREATE VIEW recent AS SELECT Name, Year FROM Artist WHERE Year > 1990;
  WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 60)
    INSERT INTO Artist SELECT i, 'Artist ' || i, 1950 + i FROM n;
  INSERT INTO Album SELECT ArtistId, 'Album ' || ArtistId, ArtistId FROM Artist;
  INSERT INTO log SELECT 'line ' || ArtistId, ArtistId FROM Artist;`;

const connectionText = () => document.querySelector('#connection-text').textContent;
const firstCells = () => [...document.querySelectorAll('.grid-body .row:not(.is-leaving)')]
  .map((row) => ({ y: row.livefetchRow.y, text: row.querySelector('.cell').textContent }))
  .sort((a, b) => a.y - b.y).map(({ text }) => text);
const labels = () => [...document.querySelectorAll('.summary button')].map((each) => each.ariaLabel ?? each.textContent);
const parts = () => [...document.querySelectorAll('.part:not([hidden]) h2')].map((each) => each.textContent);

async function open({ browser, server }, query, options) {
  const page = await browser.open(`${server.address}/?${query}`, options);
  await page.until(() => ['live', 'plain', 'failed'].includes(globalThis.livefetch?.page.live?.state));
  return page;
}

/** Rows are shown once and on request; nothing offers to change them. */
async function showsPlainRows(page, reason) {
  assert.equal(await page.run(connectionText), `not live: ${reason}`);
  assert.equal(await page.run(() => document.querySelector('#connection').dataset.state), 'plain');
  assert.deepEqual(await page.run(labels), ['Refresh']);
  assert.deepEqual(await page.run(() => document.querySelector('#welcome').hidden), true);
  assert.ok(!(await page.run(parts)).includes('Live'));
  assert.match(await page.run(() => document.querySelector('.code').textContent), /^curl -G \\\n/);
  await page.click('.row .cell', { count: 2 });
  assert.equal(await page.run(() => document.querySelector('.editor')), null, 'no cell is edited');
  assert.equal(await page.run(() => getComputedStyle(document.querySelector('.row-remove')).display), 'none');
}

async function notLive(scenario) {
  const { server, shoot } = scenario;
  const page = await open(scenario, 'entity=recent&sort=Year');
  assert.equal((await page.run(firstCells))[0], 'Artist 41');
  await showsPlainRows(page, 'recent is a view');
  await shoot(page, 'view');
  script(server.file, "UPDATE Artist SET Name = 'Renamed' WHERE ArtistId = 41");
  await page.until(() => {
    document.querySelector('.summary .text-button').click();
    return [...document.querySelectorAll('.row .cell')].some(({ textContent }) => textContent === 'Renamed');
  }, { what: 'Refresh shows the new name' });
  await page.close();
  const log = await open(scenario, 'entity=log&sort=at');
  assert.equal((await log.run(firstCells))[0], 'line 1');
  await showsPlainRows(log, 'log has no primary key');
  await log.run(() => globalThis.livefetch.page.go({ ...globalThis.livefetch.page.view, entity: 'Artist', sort: 'Name' }));
  await log.until(() => globalThis.livefetch.page.live.state === 'live', { what: 'a table with a key is live' });
  assert.ok((await log.run(labels)).includes('New Artist'));
  await log.run(() => globalThis.livefetch.page.change({ where: "now() > CAST(0, 'NSDate')" }));
  await log.until(() => globalThis.livefetch.page.live.state === 'plain', { what: 'now() is fetched once' });
  assert.equal(await log.run(connectionText),
    'not live: now() changes without a save, so the fetch cannot be followed');
  assert.deepEqual([...page.problems, ...log.problems], []);
  await log.close();
}

async function readOnly(scenario) {
  for (const [width, scheme] of [[1920, 'light'], [390, 'dark']]) {
    const page = await open(scenario, 'entity=Album&sort=Title', { width, scheme, height: 900 });
    await showsPlainRows(page, 'the database is served read-only');
    assert.match(await page.run(() => document.querySelector('.row').textContent), /Artist 1/);
    assert.ok(await page.run(() => document.documentElement.scrollWidth <= innerWidth), 'nothing is wider than the page');
    await scenario.shoot(page, `read-only-${width}`);
    assert.deepEqual(page.problems, []);
    await page.close();
  }
}

export const fileScenarios = {
  'views and tables without a key are shown without being live': { run: notLive, fixture: shapes },
  'a store served read-only is shown without controls that edit':
    { run: readOnly, fixture: shapes, options: ['--read-only'] },
};
