// Groups and charts, live.

import assert from 'node:assert/strict';
import { connect } from '../../Public/livefetch.js';
import { pause } from './browser.mjs';
import { openPage, pressAction } from './pages.mjs';
import { library } from './row-scenarios.mjs';
import { script } from './server.mjs';

const bars = () => [...document.querySelectorAll('.group-bars li')].map((line) =>
  `${line.querySelector('.group-label').textContent} ${line.querySelector('.group-number').textContent}`);
export const groupCells = () => [...document.querySelectorAll('.group-table tbody tr')].map((line) =>
  [...line.children].map(({ textContent }) => textContent).join('|'));
const chooseChart = (name) => [...document.querySelectorAll('.groups [role=radio]')].find(({ textContent }) => textContent === name).click();

const add = (label, name) => {
  const select = document.querySelector(`.groups [aria-label="${label}"]`);
  select.value = [...select.options].find(({ textContent }) => textContent === name).value;
  select.dispatchEvent(new Event('change'));
};

async function groups({ browser, server, shoot }) {
  const page = await openPage(browser, `${server.address}/?entity=book&sort=id`, { width: 1920, height: 1080 });
  await page.run(pressAction, 'Groups');
  await page.until(() => document.querySelectorAll('.group-bars li').length === 3);
  assert.deepEqual(await page.run(bars), ['Italo 2', 'Clarice 1', 'Ursula 1']);
  await page.run(add, 'Add a value', 'sum of price');
  await page.run(chooseChart, 'Table');
  await page.until(() => document.querySelectorAll('.group-table th').length === 3);
  assert.deepEqual(await page.run(groupCells), ['Italo|2|17.49', 'Clarice|1|0', 'Ursula|1|12.5']);
  await shoot(page, 'groups-table');
  await page.run(() => globalThis.livefetch.client.update('book', 3, { price: 100 }));
  await page.until(() => document.querySelector('.group-table').textContent.includes('100'), { what: 'the groups are live' });
  await page.run(() => [...document.querySelectorAll('.group-table th button')].at(-1).click());
  await page.until(() => document.querySelector('.group-table td').textContent === 'Clarice', { what: 'sorted by the sum' });
  await page.click('.having');
  await page.type('sum_price < 50');
  await page.until(() => document.querySelectorAll('.group-table tbody tr').length === 2);
  await page.run(() => { document.querySelector('.having').value = 'nonsense >'; document.querySelector('.having').dispatchEvent(new Event('input')); });
  await page.until(() => /having/.test(document.querySelector('.group-body .complaint')?.textContent));
  await page.run(() => history.back());
  await page.until(() => document.querySelectorAll('.group-table tbody tr').length === 2);
  assert.match(await page.run(() => document.querySelector('.inspector .code').textContent), /as=dictionaries/);
  await page.run(() => document.querySelector('.group-table td .text-button').click());
  await page.until(() => document.querySelectorAll('.row').length === 2 && document.querySelector('.groups').hidden);
  assert.equal(await page.run(() => document.querySelector('#where').value), "author.first_name == 'Italo'");
  await page.close();
}

async function charts({ browser, server, shoot }) {
  for (const [width, scheme] of [[1920, 'dark'], [390, 'light']]) {
    const page = await openPage(browser, `${server.address}/?entity=City&where=population+%3E+1000000&group=country.continent`
      + '&values=@count,@sum.population&order=-count&chart=bars', { width, height: 900, scheme });
    await page.until(() => document.querySelectorAll('.group-bars li').length > 3);
    const wanted = await connect(server.address).fetch({ entity: 'City', as: 'dictionaries', where: 'population > 1000000',
      select: ['country.continent', 'n:@count'], group: ['country.continent'], sort: ['-n'] });
    assert.ok((await page.run(bars))[0].startsWith(`${wanted.sections[0].items[0]['country.continent']} ${wanted.sections[0].items[0].n}`));
    await shoot(page, `groups-bars-${scheme}`);
    await page.run(chooseChart, 'Line');
    await page.until(() => document.querySelectorAll('.group-dot').length === 6);
    await shoot(page, `groups-line-${scheme}`);
    assert.ok(await page.run(() => document.documentElement.scrollWidth <= innerWidth));
    await page.close();
  }
}

async function days({ browser, server, shoot }) {
  const page = await openPage(browser, `${server.address}/?entity=book&group=published:day&values=@count&chart=table`);
  await page.until(() => document.querySelectorAll('.group-table tbody tr').length === 4);
  assert.deepEqual((await page.run(groupCells)).sort(), ['1965-01-01|1', '1972-11-01|1', '1974-05-01|1', 'NULL|1']);
  await page.run(() => [...document.querySelectorAll('.group-table td .text-button')].find(({ textContent }) => textContent === '1972-11-01').click());
  await page.until(() => document.querySelectorAll('.row').length === 1 && document.querySelector('.row').textContent.includes('Invisible'));
  await page.run(() => globalThis.livefetch.page.change({ where: '', group: 'published:year', values: '@count', chart: 'table' }));
  await page.until(() => [...document.querySelectorAll('.group-table td')].some(({ textContent }) => textContent === '1965'), { what: 'groups by year' });
  assert.deepEqual((await page.run(groupCells)).sort(), ['1965|1', '1972|1', '1974|1', 'NULL|1']);
  await page.run(add, 'Group by', 'published:month');
  await page.until(() => document.querySelectorAll('.group-table th').length === 3);
  assert.deepEqual((await page.run(groupCells)).sort(), ['1965|1965-01|1', '1972|1972-11|1', '1974|1974-05|1', 'NULL|NULL|1']);
  await shoot(page, 'groups-by-month');
  await page.run(() => [...document.querySelectorAll('.group-table td .text-button')].find(({ textContent }) => textContent === '1974').click());
  await page.until(() => document.querySelectorAll('.row').length === 1 && document.querySelector('.row').textContent.includes('Dispossessed'));
  await page.close();
}

const odd = `
  CREATE TABLE odd (id INTEGER PRIMARY KEY, "a.b" TEXT, "count" INTEGER, n REAL, d DATE);
  INSERT INTO odd VALUES (1, 'p', 5, 1.5, '2024-01-02'), (2, 'q', 5, 'five', '2020-02-30'), (3, 'q', 6, 2.5, 1950);`;

/** A group leads to its rows, or says why it cannot; columns with odd names are grouped as well. */
async function oddGroups({ browser, server, shoot }) {
  const page = await openPage(browser, `${server.address}/?entity=odd`);
  const pick = async (group, name) => {
    // The old groups stay until the new ones arrive, and may have the same labels.
    await page.run((by) => {
      document.querySelector('.group-status').textContent = '';
      globalThis.livefetch.page.change({ where: '', group: by, values: '@count', order: '-count', chart: 'bars' });
    }, group);
    await page.until((text) => /group/.test(document.querySelector('.group-status').textContent)
      && [...document.querySelectorAll('.group-label')].some(({ textContent }) => textContent === text), { args: [name], what: `${group} ${name}` });
    await page.run((text) => [...document.querySelectorAll('.group-label')].find(({ textContent }) => textContent === text).click(), name);
  };
  const rows = (list) => page.until((wanted) => document.querySelector('.groups').hidden && !document.querySelector('.grid').classList.contains('is-stale')
    && globalThis.livefetch.page.live.sections.flatMap(({ items }) => items.map(({ id }) => id)).join() === wanted, { args: [list], what: `the rows ${list}` });
  const status = () => document.querySelector('.group-status').textContent;
  await pick('a.b', 'q');
  await rows('2,3');
  assert.equal(await page.run(() => document.querySelector('#where').value), `#"a.b" == 'q'`);
  await page.run(() => document.querySelector('.control-button').click());
  await page.until(() => document.querySelector('.conditions input')?.value === 'q', { what: 'the filter builder shows it' });
  await page.run(() => { const input = document.querySelector('.conditions input'); input.value = 'p'; input.dispatchEvent(new Event('input')); });
  await rows('1');
  await page.key('Escape');
  await pick('count', '5');
  await rows('1,2');
  await pick('n', 'five');
  assert.equal(await page.run(status), 'A filter compares double values, and “five” is none.');
  await shoot(page, 'groups-odd');
  await pick('d:day', '2020-02-30');
  assert.equal(await page.run(status), 'No filter can select these rows: “2020-02-30” is not the day of any date.');
  await pick('d:year', '1950');
  assert.equal(await page.run(status), 'No filter can select these rows: “1950” is not the year of any date.');
  await page.close();
}

/** Types a condition of the groups, and does something else before it is applied. @param run code in the page. */
const typeHaving = (page, text, run) => page.run(`(text) => {
  const input = document.querySelector('.having');
  input.value = text;
  input.dispatchEvent(new Event('input'));
  (${run})();
}`, text);

/** A condition that is typed is applied to the view in which it was typed, and to no other. */
async function typedCondition({ browser, server }) {
  const page = await openPage(browser, `${server.address}/?entity=note&group=book&values=@count&chart=bars`);
  const view = () => page.run(() => globalThis.livefetch.page.view);
  await page.until(() => document.querySelectorAll('.group-bars li').length === 2);
  await typeHaving(page, 'count > 1', () => globalThis.livefetch.page.change({ chart: 'table' }));
  await page.until(() => globalThis.livefetch.page.view.having === 'count > 1');
  for (const leave of [() => globalThis.livefetch.page.groups.toggle(),
    () => globalThis.livefetch.page.go({ ...globalThis.livefetch.page.view, entity: 'book', group: 'title', having: '' })]) {
    await page.run(() => globalThis.livefetch.page.change({ group: 'book', values: '@count', having: '' }));
    await typeHaving(page, 'count > 7', leave);
    await pause(600);
    assert.equal((await view()).having, '');
  }
  await page.close();
}

/** Groups end with their table. */
async function droppedTable({ browser, server }) {
  const page = await openPage(browser, `${server.address}/?entity=note&group=book&values=@count&chart=bars`);
  await page.until(() => document.querySelectorAll('.group-bars li').length === 2);
  script(server.file, 'DROP TABLE note');
  await page.until(() => document.querySelector('.empty')?.checkVisibility() && /^There is no table note/.test(document.querySelector('.empty').textContent),
    { what: 'the page says that the table is gone' });
  assert.equal(await page.run(() => document.querySelector('.groups').checkVisibility()), false);
  await page.close();
}

/** On a phone, a column of names and its head have the same left edge, a column of numbers and its head the same right edge. */
async function alignedOnPhone({ browser, server }) {
  const page = await openPage(browser, `${server.address}/?entity=book&group=title&values=@count,@sum.price&chart=table`,
    { width: 390, height: 844, isTouch: true });
  await page.until(() => document.querySelectorAll('.group-table tbody tr').length === 5);
  const ends = await page.run(() => [0, 1, 2].map((column) => [...document.querySelectorAll('.group-table tr')].map((line) => {
    const range = document.createRange();
    range.selectNodeContents(line.cells[column].querySelector('button') ?? line.cells[column]);
    const { left, right } = range.getBoundingClientRect();
    return Math.round(column === 0 ? left : right);
  })));
  for (const list of ends) assert.equal(new Set(list).size, 1, list.join());
  await page.close();
}

export const groupScenarios = {
  'groups end with their table': { run: droppedTable, fixture: library },
  'a condition of groups is applied to the view in which it is typed': { run: typedCondition, fixture: library },
  'the columns of groups are aligned on a phone': { run: alignedOnPhone, fixture: `${library} INSERT INTO book (id, title) VALUES (5, 'It');` },
  'groups of odd values and odd columns lead to their rows, or say why not': { run: oddGroups, fixture: odd },
  'rows are grouped with aggregates, live': { run: groups, fixture: library },
  'groups are drawn as bars and as a line': { run: charts },
  'rows are grouped by the day, the month and the year of a date': { run: days, fixture: library },
};
