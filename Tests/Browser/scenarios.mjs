// The scenarios that are checked in the browser. Each has a server of its own.

import assert from 'node:assert/strict';
import { connect } from '../../Public/livefetch.js';
import { accessScenarios } from './access-scenarios.mjs';
import { accessibilityScenarios } from './accessibility-scenarios.mjs';
import { apiScenarios } from './api-scenarios.mjs';
import { blobScenarios } from './blob-scenarios.mjs';
import { eventually, pause } from './browser.mjs';
import { chinookScenarios } from './chinook-scenarios.mjs';
import { clientScenarios } from './client-scenarios.mjs';
import { columnScenarios } from './column-scenarios.mjs';
import { controlScenarios } from './control-scenarios.mjs';
import { cursorScenarios } from './cursor-scenarios.mjs';
import { detailScenarios } from './detail-scenarios.mjs';
import { editingScenarios } from './editing-scenarios.mjs';
import { saves } from './edits.mjs';
import { fileScenarios } from './file-scenarios.mjs';
import { findingScenarios } from './finding-scenarios.mjs';
import { frameworksScenarios } from './frameworks-scenarios.mjs';
import { groupScenarios } from './group-scenarios.mjs';
import { hostileScenarios } from './hostile-scenarios.mjs';
import { manualScenarios } from './manual-scenarios.mjs';
import { newRowScenarios } from './new-row-scenarios.mjs';
import { openScenarios } from './open-scenarios.mjs';
import { packageScenarios } from './package-scenarios.mjs';
import { explorer, isLive, still, typeCell } from './pages.mjs';
import { withPolicy } from './policy.mjs';
import { postgresScenarios } from './postgres-scenarios.mjs';
import { rowScenarios } from './row-scenarios.mjs';
import { script } from './server.mjs';
import { sessionScenarios } from './session-scenarios.mjs';
import { storeScenarios } from './store-scenarios.mjs';
import { tableScenarios } from './table-scenarios.mjs';
import { todoScenarios } from './todo-scenarios.mjs';
import { todoTypingScenarios } from './todo-typing-scenarios.mjs';
import { viewScenarios } from './view-scenarios.mjs';

const sections = () => globalThis.livefetch.page.live.sections;
const token = () => globalThis.livefetch.page.live.current.token;

/** The rows in the order seen: where each stands, and its text. */
const seenRows = () => [...document.querySelectorAll('.grid-body .row:not(.is-leaving)')]
  .map((row) => ({ y: row.livefetchRow.y, id: row.livefetchRow.item.id,
    text: [...row.querySelectorAll('.cell')].map((cell) => cell.textContent).join('|') }))
  .sort((a, b) => a.y - b.y);

/** The items of the result that should be visible at the scroll position. */
const expectedIDs = () => globalThis.livefetch.page.grid.visible.map(({ id }) => id);

async function fresh(server, page) {
  const request = await page.run(() => globalThis.livefetch.page.request);
  return (await connect(server.address).fetch(request)).sections;
}

// MARK: Two pages

async function converge({ browser, server, seed, shoot }) {
  const pages = [await explorer(browser, server.address), await explorer(browser, server.address)];
  const cities = (await pages[0].run(sections)).flatMap(({ items }) => items.map(({ id }) => id));
  const countries = (await connect(server.address).fetch({ entity: 'Country', as: 'ids', sort: 'id', limit: 30 }))
    .sections[0].items;
  const list = saves(seed, 1_000, cities, countries);
  const work = [0, 1].map((own) => pages[own].run(async (changes) => {
    const refused = [];
    globalThis.answered = 0;
    for (const change of changes) {
      const idempotencyKey = crypto.randomUUID();
      // A save whose answer is lost is sent again under its key.
      for (let code = 'unreachable'; code === 'unreachable';) {
        code = await globalThis.livefetch.client.save(change, { idempotencyKey })
          .then(() => undefined, (error) => error.code);
        if (code === 'unreachable') await new Promise((done) => { setTimeout(done, 250); });
        else if (code) refused.push(code);
      }
      globalThis.answered += 1;
    }
    return refused;
  }, list.filter((_, index) => index % 2 === own)));
  await pages[1].until(() => globalThis.answered >= 100, { timeout: 120_000 });
  await shoot(pages[1], 'during-edits');
  await server.kill();
  await pages[0].until(() => globalThis.livefetch.page.live.state === 'offline');
  await pause(30_000);
  await server.begin();
  const refused = (await Promise.all(work)).flat();
  // Both pages may edit what the other has deleted; nothing else is refused.
  assert.ok(refused.every((code) => code === 'conflict' || code === 'unknown-id'), refused.join());
  assert.ok(refused.length < 100, `${refused.length} of 1,000 saves are refused`);
  const wanted = await fresh(server, pages[0]);
  for (const page of pages) {
    await page.until(isLive);
    await eventually(() => page.run(sections), wanted, 'the page holds what the server holds');
    await eventually(() => page.run(() => globalThis.livefetch.client.pending.length), 0, 'every edit settled');
    await still(page);
    const rows = await page.run(seenRows);
    const ids = await page.run(expectedIDs);
    assert.deepEqual(rows.filter(({ id }) => ids.includes(id)).map(({ id }) => id), ids);
  }
  const [left, right] = [await pages[0].run(seenRows), await pages[1].run(seenRows)];
  assert.deepEqual(left, right);
  await Promise.all(pages.map((page) => page.close()));
  return `${1_000 - refused.length} saves, ${refused.length} refused as conflicts`;
}

// MARK: Reconnecting

async function reconnect({ browser, server, shoot }) {
  const page = await explorer(browser, server.address);
  const before = await page.run(token);
  await server.kill();
  await page.until(() => globalThis.livefetch.page.live.state === 'offline');
  await shoot(page, 'offline');
  script(server.file, "UPDATE City SET population = 12345678 WHERE name = 'Kabul'");
  await server.begin();
  await page.until(isLive);
  await page.until(() => globalThis.livefetch.page.live.sections.some(({ items }) =>
    items.some(({ population }) => population === 12345678)));
  const diffs = await page.run(() => globalThis.livefetch.page.traffic.diffs.map(({ diff }) => diff));
  assert.equal(diffs.length, 1, 'the change made meanwhile came as one diff, not as a snapshot');
  assert.equal(diffs[0].from, before);
  await page.run(() => globalThis.livefetch.client.update('City', 1850147, { population: 9_999_999 }));
  await eventually(() => page.run(sections), await fresh(server, page), 'it goes on after the restart');
  await page.close();
}

// MARK: Many rows

async function manyRows({ browser, server, rows, shoot }) {
  const client = connect(server.address);
  const there = (await client.fetch({ entity: 'City', as: 'count' })).total;
  for (let first = there; first < rows; first += 1000) {
    const count = Math.min(1000, rows - first);
    await client.save(Array.from({ length: count }, (_, index) => ({ insert: 'City',
      values: { name: `Row ${String(first + index).padStart(6, '0')}`, population: first + index } })));
  }
  const page = await explorer(browser, `${server.address}/?entity=City&sort=name`);
  assert.equal(await page.run(() => globalThis.livefetch.page.live.current.total), rows);
  for (const share of [0, 0.25, 0.5, 0.9, 1]) {
    await page.run((part) => { const { element } = globalThis.livefetch.page.grid;
      element.scrollTop = (element.scrollHeight - element.clientHeight) * part; }, share);
    await page.until(() => globalThis.livefetch.page.grid.visible.length > 10, { what: 'rows are there' });
    await still(page);
    const [seen, ids] = [await page.run(seenRows), await page.run(expectedIDs)];
    assert.ok(ids.length > 10 && seen.length < 80, `${seen.length} rows are in the document`);
    assert.deepEqual(seen.filter(({ id }) => ids.includes(id)).map(({ id }) => id), ids);
  }
  await shoot(page, 'many-rows');
  const frames = await page.run(scrollFrames);
  const kept = await staysInPlace(page);
  await page.close();
  return `${rows} rows, ${frames.count} frames, median ${frames.median} ms, worst ${frames.worst} ms; ${kept}`;
}

/** Scrolls for a while and gives how long the frames took. */
const scrollFrames = () => new Promise((resolve) => {
  const { element } = globalThis.livefetch.page.grid;
  element.scrollTop = 0;
  const times = [];
  let last = performance.now();
  const step = (now) => {
    times.push(now - last);
    last = now;
    element.scrollTop += 900;
    if (times.length < 120) requestAnimationFrame(step);
    else {
      const sorted = times.slice(2).sort((a, b) => a - b);
      resolve({ count: times.length, median: Math.round(sorted[sorted.length >> 1]),
        worst: Math.round(sorted.at(-1)) });
    }
  };
  requestAnimationFrame(step);
});

/** Rows that come above what is read do not push it away. */
async function staysInPlace(page) {
  const place = () => page.run(() => { const { grid } = globalThis.livefetch.page;
    return { id: grid.visible[3].id, at: grid.row(grid.visible[3].id).y - grid.element.scrollTop }; });
  await page.run(() => { globalThis.livefetch.page.grid.element.scrollTop = 320_000; });
  await page.until(() => globalThis.livefetch.page.grid.visible.length > 10
    && globalThis.livefetch.page.live.state === 'live', { what: 'rows are there' });
  await still(page);
  const before = await place();
  await page.run(() => globalThis.livefetch.client.insert('City', { name: 'AAA' }, { optimistic: false }));
  await page.until(() => globalThis.livefetch.page.traffic.count > 0);
  await still(page);
  assert.deepEqual(await place(), before);
  return 'what is read stays in its place';
}

// MARK: Editing by hand

async function editing({ browser, server, shoot }) {
  const mine = await explorer(browser, server.address);
  const other = await explorer(browser, server.address);
  await editPopulation(mine, '5000000');
  await mine.until(() => document.querySelector('.tray-line')?.textContent.includes('1 edited'));
  await shoot(mine, 'staged');
  await mine.key('s', { ctrl: true });
  await other.until(() => [...document.querySelectorAll('.cell')].some(
    (cell) => cell.textContent.replace(/\D/g, '') === '5000000'), { what: 'the other page sees it' });
  await conflict(mine, other, shoot);
  await predicate(mine, shoot);
  await Promise.all([mine.close(), other.close()]);
}

const kabul = 1138958;

/** Edits the population of Kabul as a user does: by a double click and the keys. */
async function editPopulation(page, text) {
  await typeCell(page, kabul, 'population', text);
  await page.key('Enter');
}

async function conflict(mine, other, shoot) {
  await editPopulation(mine, '6000000');
  await other.run((id) => globalThis.livefetch.client.update('City', id, { population: 7_000_000 }), kabul);
  await mine.until(() => globalThis.livefetch.page.live.sections[0].items[0].population === 7_000_000);
  await mine.key('s', { ctrl: true });
  const sides = await mine.until(() => {
    const texts = [...document.querySelectorAll('.conflict-table > *')].slice(4);
    return texts.length > 0 && texts.map((element) => element.textContent.replace(/[,. ]/g, ''));
  }, { what: 'the conflict is shown' });
  await shoot(mine, 'conflict');
  assert.deepEqual(sides, ['Kabulpopulation', '5000000', '7000000', '6000000']);
  await mine.click('.conflict .button.primary');
  await other.until(() => globalThis.livefetch.page.live.sections[0].items[0].population === 6_000_000,
    { what: 'the value chosen is saved' });
  await namedConflict(mine, other);
}

/** Related rows are named in a conflict, as in the table. */
async function namedConflict(mine, other) {
  const [afghanistan, china, japan] = [1149361, 1814991, 1861060];
  await mine.run((country) => {
    const { page } = globalThis.livefetch;
    page.editing.staged.set('City', page.live.sections[0].items[0], 'country', country);
  }, china);
  await other.run((city, country) => globalThis.livefetch.client.update('City', city, { country }), kabul, japan);
  await mine.key('s', { ctrl: true });
  const sides = await mine.until(() => [...document.querySelectorAll('.conflict-table > *')].slice(4).map(({ textContent }) => textContent).join('|'));
  assert.equal(sides, 'Kabulcountry|Afghanistan|Japan|China');
  await mine.run(() => [...document.querySelectorAll('.conflict button')].find(({ textContent }) => textContent === 'Discard mine').click());
  await other.run((city, country) => globalThis.livefetch.client.update('City', city, { country }), kabul, afghanistan);
  await mine.until(() => globalThis.livefetch.page.live.sections[0].items[0].name === 'Kabul');
}

/** A misspelt name is marked where it stands, and mended by a click. */
async function predicate(page, shoot) {
  await page.click('#where');
  await page.run(() => document.querySelector('#where').select());
  await page.type("name == 'Ürümqi' OR populaton > 20000000");
  await page.key('Enter');
  const wrong = await page.until(() => document.querySelector('.t-wrong')?.textContent);
  assert.equal(wrong, 'populaton');
  await shoot(page, 'error');
  await page.click('.predicate-error .hint');
  await page.until(() => document.querySelector('#where').value.includes('population >'));
  await page.until(() => globalThis.livefetch.page.live.current?.count === 2);
  assert.match(await page.run(() => decodeURIComponent(location.search)), /population\+>\+20000000/);
}

// MARK: Appearance

async function appearance({ browser, server, shoot }) {
  const proxy = await withPolicy(server.address);
  try {
    for (const scheme of ['light', 'dark']) {
      const page = await explorer(browser, proxy.address, { scheme });
      assert.equal(await page.run(() => document.documentElement.dataset.theme), scheme);
      await page.run(() => globalThis.livefetch.client.update('City', 2158177, { population: 9e6 + Math.round(performance.now()) }));
      await page.until(() => globalThis.livefetch.page.traffic.count > 0);
      await shoot(page, `diff-${scheme}`);
      await still(page);
      await shoot(page, scheme);
      await page.close();
    }
    const narrow = await explorer(browser, proxy.address, { width: 390, height: 844, isTouch: true });
    assert.equal(await narrow.run(() => document.documentElement.scrollWidth), 390);
    await shoot(narrow, 'narrow');
    await narrow.close();
  } finally {
    proxy.end();
  }
}

// MARK: The first minute

/** A first visitor presses the first button, and two clients show the change. */
async function firstMinute({ browser, server, shoot }) {
  const page = await browser.open(server.address);
  await page.until(isLive);
  await page.until(() => !document.querySelector('#welcome').hidden, { what: 'the page welcomes' });
  assert.match(await page.run(() => document.querySelector('.code-block + .quiet, .quiet + .code-block').textContent),
    /^curl -X PATCH .*--json '\{"population":\d+\}'/s);
  await shoot(page, 'first');
  await page.run(() => document.querySelectorAll('#welcome .action')[1].click());
  await page.until(() => document.querySelectorAll('.second .row').length > 10, { what: 'a second client shows rows' });
  await page.click('#welcome .action');
  await page.until(() => document.querySelector('.dialog .primary'));
  await page.click('.dialog .primary');
  await page.until(() => globalThis.livefetch.page.traffic.count >= 3, { what: 'diffs come' });
  await page.until(() => /by long-poll: \d+ B, .* later/.test(document.querySelector('.second-status').textContent),
    { what: 'the second client tells how much later it heard' });
  await shoot(page, 'two-clients');
  await page.run(() => document.querySelector('.action[aria-pressed="true"]').click());
  await page.until(() => globalThis.livefetch.client.pending.length === 0, { what: 'the last edit is answered' });
  const { sections } = await connect(server.address).fetch({ entity: 'City', sort: '-population', limit: 500 });
  const ranked = () => page.run(() => globalThis.livefetch.page.second.grid.visible.map(({ id }) => id));
  const { length } = await ranked();
  await eventually(ranked, sections[0].items.slice(0, length).map(({ id }) => id), 'the second client has the order of the server');
  assert.ok(await page.run(() => document.querySelectorAll('.cell.has-bar').length > 20), 'numbers have bars');
  const link = await page.run(() => location.href);
  assert.match(link, /second=1/);
  await page.go(link);
  await page.until(() => document.querySelectorAll('.second .row').length > 10, { what: 'the link opens it again' });
  assert.equal(await page.run(() => document.querySelector('#welcome').hidden), true, 'it welcomes once');
  await page.close();
}

export const scenarios = {
  'two pages converge under 1,000 random edits, a kill and 30 s without a server': { run: converge },
  'a page goes on where it was after the server was killed': { run: reconnect },
  'who comes for the first time sees two clients move': { run: firstMinute },
  'cells are edited, conflicts shown, mistakes marked': { run: editing },
  ...controlScenarios,
  'it holds under a strict policy, light, dark and narrow': { run: appearance },
  ...todoScenarios, ...todoTypingScenarios,
  ...clientScenarios, ...packageScenarios,
  ...frameworksScenarios, ...manualScenarios,
  ...editingScenarios, ...cursorScenarios, ...newRowScenarios, ...detailScenarios,
  ...fileScenarios, ...rowScenarios, ...findingScenarios, ...tableScenarios, ...columnScenarios, ...groupScenarios, ...apiScenarios, ...accessibilityScenarios, ...hostileScenarios, ...blobScenarios,
  ...openScenarios, ...storeScenarios, ...sessionScenarios, ...chinookScenarios, ...postgresScenarios, ...accessScenarios, ...viewScenarios,
  'a table of many rows scrolls': { run: manyRows, options: ['--max-items', '200000', '--durability', 'normal'] },
};
