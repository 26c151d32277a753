// Ways to rows: words, values that are clicked, conditions, what a column holds.

import assert from 'node:assert/strict';
import { connect } from '../../Public/livefetch.js';
import { eventually, pause } from './browser.mjs';
import { openPage } from './pages.mjs';
import { library } from './row-scenarios.mjs';

const where = () => globalThis.livefetch.page.request.where;
const count = () => globalThis.livefetch.page.live.current?.count;
const settled = (wanted) => !document.querySelector('.grid').classList.contains('is-stale')
  && globalThis.livefetch.page.live.current?.count === wanted;

async function search(page, text, wanted) {
  await page.click('#where');
  await page.run(() => document.querySelector('#where').select());
  await page.type(text);
  await page.key('Enter');
  await page.until(settled, { args: [wanted], what: `${wanted} rows for ${text}` });
}

/** Words are looked for in every text column; a comparison is a predicate; quotes keep words together. */
async function words({ browser, server, shoot }) {
  const page = await openPage(browser, `${server.address}/?entity=City&sort=-population`);
  const client = connect(server.address);
  const anywhere = (word) => ['name', 'timezone', 'admin1'].map((name) => `${name} CONTAINS[cd] '${word}'`).join(' OR ');
  const own = `(${anywhere('SAN')}) AND (${anywhere('jose')})`;
  const total = async (predicate) => (await client.fetch({ entity: 'City', as: 'count', where: predicate })).total;
  await search(page, 'SAN jose', await total(own));
  assert.equal(await page.run(where), own);
  assert.equal(await page.run(() => document.querySelector('.predicate-box label').textContent), 'search');
  assert.match(await page.run(() => location.search), /where=SAN\+jose/);
  await shoot(page, 'search');
  await search(page, '"San José"', await total(anywhere('San José')));
  await search(page, 'population > 20000000', await total('population > 20000000'));
  assert.equal(await page.run(() => document.querySelector('.predicate-box label').textContent), 'where');
  await page.click('#where');
  await page.run(() => document.querySelector('#where').select());
  await page.type('cities in spain');
  await page.key('Enter');
  await page.until(() => document.querySelector('.predicate-error .search')?.textContent === 'Search for these words');
  await page.click('.predicate-error .search');
  await page.until(settled, { args: [0], what: 'no row has these words' });
  await page.run(() => document.querySelector('#where').select());
  await page.type('q=new (york)');
  await page.key('Enter');
  await page.until(() => document.querySelector('.predicate-error .search') && !document.querySelector('.predicate-error').hidden);
  await page.click('.predicate-error .search');
  await page.until(() => document.querySelector('#where').value === '"q=new (york)"');
  await page.until(settled, { args: [0] });
  await page.run(() => document.querySelector('#where').select());
  await page.type('population > ');
  await page.until(() => document.querySelector('.predicate-error.is-unfinished:not([hidden])'), { what: 'a predicate is being typed' });
  assert.equal(await page.run(() => document.querySelector('.predicate-error .search')), null);
  await search(page, '1850147', 1);
  await page.close();
}

const cellOf = (row, column) => {
  const index = globalThis.livefetch.page.grid.columns.findIndex(({ name }) => name === column);
  document.querySelectorAll('[data-test]').forEach((cell) => delete cell.dataset.test);
  const rows = [...document.querySelectorAll('.row:not(.is-leaving)')].sort((a, b) => a.livefetchRow.y - b.livefetchRow.y);
  rows[row].querySelectorAll('.cell')[index].dataset.test = 'cell';
};

async function menuOf(page, row, column) {
  await page.run(cellOf, row, column);
  await page.click('[data-test=cell]');
  await page.run(() => document.querySelector('[data-test=cell]').dispatchEvent(
    new MouseEvent('contextmenu', { bubbles: true, cancelable: true, button: 2, clientX: 400, clientY: 300 })));
  await page.until(() => document.querySelector('.cell-menu'));
}

const press = (text) => [...document.querySelectorAll('.popover button')]
  .find((button) => button.textContent.startsWith(text)).click();

async function clickedValues({ browser, server, shoot }) {
  const page = await openPage(browser, `${server.address}/?entity=book&sort=id`, { width: 1920, height: 1080, scheme: 'dark' });
  await menuOf(page, 1, 'author');
  await shoot(page, 'cell-menu-dark');
  await page.run(press, 'Only author = Italo');
  await page.until(settled, { args: [2] });
  assert.equal(await page.run(() => document.querySelector('#where').value), 'author == 2');
  await menuOf(page, 0, 'lent');
  await page.run(press, 'Without lent = NULL');
  await page.until(settled, { args: [0] });
  await page.run(() => history.back());
  await page.until(settled, { args: [2] });
  await page.run(() => globalThis.livefetch.page.change({ where: "title BEGINSWITH 'A' OR title BEGINSWITH 'I'" }));
  await page.until(() => globalThis.livefetch.page.live.current?.sections[0].items[1]?.title === 'Agua Viva');
  await menuOf(page, 0, 'published');
  await page.run(press, 'Only published = 1972');
  await page.until(settled, { args: [1] });
  assert.equal(await page.run(() => document.querySelector('#where').value),
    "(title BEGINSWITH 'A' OR title BEGINSWITH 'I') AND published == '1972-11-01T00:00:00Z'");
  await page.close();
}

const facetTexts = () => [...document.querySelectorAll('.facet')]
  .map((each) => `${each.querySelector('.facet-text').textContent} ${each.querySelector('.facet-count').textContent}`);

async function openColumn(page, name) {
  await page.run((column) => document.querySelector(`.head-cell[data-column="${column}"] .head-menu`).click(), name);
  await page.until(() => document.querySelector('.facet-values') && !/Counting/.test(document.querySelector('.facet-values').textContent), { what: `the values of ${name}` });
}

async function facets({ browser, server, shoot }) {
  const page = await openPage(browser, `${server.address}/?entity=City&sort=-population&where=population+%3E+5000000`, { width: 1920, height: 1080 });
  const all = await page.run(count);
  await openColumn(page, 'population');
  await page.until(() => document.querySelector('.facets .histogram'));
  const figures = await page.run(() => Object.fromEntries([...document.querySelectorAll('.facet-figures div')]
    .map((each) => [each.firstChild.textContent, each.lastChild.textContent])));
  assert.equal(figures.values, String(all));
  assert.equal(figures.NULL, '0');
  await shoot(page, 'facets-light');
  await page.click('.facets .histogram g:last-child');
  await page.until(() => /^population > 5000000 AND population BETWEEN \{/.test(document.querySelector('#where').value));
  await page.run(() => history.back());
  await page.until(settled, { args: [all] });
  await openColumn(page, 'country');
  const [first] = await page.run(facetTexts);
  await page.click('.facet');
  await page.until(settled, { args: [Number(first.split(' ').at(-1))], what: `the cities of ${first}` });
  await page.close();
}

/** Dates have a histogram as well; NULL is a value to filter by. */
async function facetsOfNulls({ browser, server, shoot }) {
  const page = await openPage(browser, `${server.address}/?entity=book&sort=id`, { width: 390, height: 844, isTouch: true });
  await openColumn(page, 'published');
  await page.until(() => document.querySelector('.facets .histogram'));
  await shoot(page, 'facets-phone');
  await page.run(() => document.querySelector('.facets .histogram g').dispatchEvent(new MouseEvent('click', { bubbles: true })));
  await page.until(settled, { args: [1], what: 'the oldest book' });
  await page.run(() => history.back());
  await page.until(settled, { args: [4] });
  await openColumn(page, 'summary');
  assert.ok((await page.run(facetTexts)).includes('NULL 2'));
  assert.ok((await page.run(facetTexts)).includes('empty text 1'));
  await page.run(() => [...document.querySelectorAll('.facet')].find(({ title }) => title === 'NULL').click());
  await page.until(settled, { args: [2] });
  await page.run(() => document.querySelector('.head-cell[data-column="cover"] .head-menu').click());
  await page.until(() => document.querySelector('.facet-figures').textContent === 'values1NULL1');
  await page.close();
}

const large = `
  CREATE TABLE place (id INTEGER PRIMARY KEY, hash INTEGER, any INTEGER);
  INSERT INTO place VALUES (1, 47356007919999999, -9223372036854775808), (2, 47356007919999998, 0), (3, 47356007919999990, 9223372036854775807), (4, NULL, NULL);`;

/** Integers that a number of JavaScript would round have exact bounds. */
async function facetsOfLargeIntegers({ browser, server, shoot }) {
  const page = await openPage(browser, `${server.address}/?entity=place&sort=id`);
  const ends = () => [...document.querySelectorAll('.facets .axis span')].map(({ textContent }) => textContent);
  const bars = () => [...document.querySelectorAll('.facets .bar-hit')].map(({ ariaLabel }) => ariaLabel).filter((name) => !name.endsWith(': 0'));
  await openColumn(page, 'any');
  await page.until(() => document.querySelector('.facets .histogram'));
  assert.deepEqual(await page.run(ends), ['-9223372036854775808', '9223372036854775807']);
  assert.equal((await page.run(bars)).length, 3);
  await page.key('Escape');
  await openColumn(page, 'hash');
  await page.until(() => document.querySelectorAll('.facets .bar-hit').length === 10);
  assert.deepEqual(await page.run(ends), ['47356007919999990', '47356007919999999']);
  assert.deepEqual(await page.run(bars), ['47356007919999990 – 47356007919999990: 1', '47356007919999998 – 47356007919999998: 1',
    '47356007919999999 – 47356007919999999: 1']);
  await shoot(page, 'facets-large');
  await page.run(() => document.querySelectorAll('.facets .bar-hit')[8].dispatchEvent(new MouseEvent('click', { bubbles: true })));
  await page.until(settled, { args: [1], what: 'the row of that number' });
  assert.equal(await page.run(where), 'hash BETWEEN {47356007919999998, 47356007919999998}');
  assert.equal(await page.run(() => globalThis.livefetch.page.live.sections[0].items[0].id), 2);
  await page.close();
}

const choose = (selector, index, value) => {
  const select = document.querySelectorAll(selector)[index];
  select.value = [...select.options].find((option) => option.textContent === value).value;
  select.dispatchEvent(new Event('change', { bubbles: true }));
};

async function builder({ browser, server, shoot }) {
  const page = await openPage(browser, `${server.address}/?entity=book&sort=id`, { width: 1440, height: 900, scheme: 'dark' });
  await page.click('.control-button');
  await page.click('.conditions input');
  await page.type('invis');
  await page.until(settled, { args: [1] });
  assert.equal(await page.run(() => document.querySelector('#where').value), "title CONTAINS[cd] 'invis'");
  await page.run(choose, '.conditions [aria-label=Comparison]', 0, 'begins with');
  assert.equal(await page.run(() => document.querySelector('.conditions input').value), 'invis', 'another comparison keeps the value');
  await page.until(() => document.querySelector('#where').value === "title BEGINSWITH[cd] 'invis'");
  await page.run(choose, '.conditions [aria-label=Comparison]', 0, 'contains');
  await page.until(() => document.querySelector('#where').value === "title CONTAINS[cd] 'invis'");
  await page.click('.builder-foot .button');
  await page.run(choose, '.conditions [aria-label=Column]', 1, 'author.last_name');
  await page.run(choose, '.conditions [aria-label=Comparison]', 1, 'is');
  await page.run(() => document.querySelectorAll('.conditions input')[1].focus());
  await page.type('Le Guin');
  await page.until(settled, { args: [0] });
  await page.run(choose, '.builder-head select', 0, 'any');
  await page.until(settled, { args: [2] });
  await shoot(page, 'filter-builder-dark');
  await page.key('Escape');
  await page.click('.control-button');
  assert.deepEqual(await page.run(() => [...document.querySelectorAll('.conditions input')].map(({ value }) => value)),
    ['invis', 'Le Guin'], 'what stands in the field is read again');
  await page.run(choose, '.conditions [aria-label=Column]', 0, 'tag.@count');
  await page.run(choose, '.conditions [aria-label=Comparison]', 0, 'is from … to');
  await page.run(() => document.querySelectorAll('.conditions input')[0].focus());
  await page.type('2');
  await page.run(() => document.querySelectorAll('.conditions input')[1].focus());
  await page.type('5');
  await page.until(() => document.querySelector('#where').value === "tag.@count BETWEEN {2, 5} OR author.last_name == 'Le Guin'");
  // What was typed just before the panel is closed holds.
  assert.equal(await page.run(() => {
    const input = document.querySelectorAll('.conditions input')[1];
    input.value = '7';
    input.dispatchEvent(new Event('input'));
    input.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true }));
    return document.querySelector('.filter-builder');
  }), null);
  await page.until(() => document.querySelector('#where').value === "tag.@count BETWEEN {2, 7} OR author.last_name == 'Le Guin'");
  // A date has its time.
  await page.run(() => globalThis.livefetch.page.change({ where: "lent >= '2024-02-29T09:30:00Z'" }));
  await page.click('.control-button');
  assert.deepEqual(await page.run(() => [...document.querySelectorAll('.conditions input')].map(({ value }) => value)), ['2024-02-29', '09:30:00']);
  const put = (value) => page.run((text) => { const input = document.querySelector('.conditions [type=time]'); input.value = text; input.dispatchEvent(new Event('input')); }, value);
  await put('09:05');
  await page.until(() => document.querySelector('#where').value === "lent >= '2024-02-29T09:05:00Z'");
  await shoot(page, 'filter-builder-time');
  await page.key('Escape');
  await page.run(() => globalThis.livefetch.page.change({ where: 'price > 3 AND NOT (id > 2)' }));
  await page.click('.control-button');
  assert.equal(await page.run(() => document.querySelector('.filter-builder code').textContent), 'price > 3 AND NOT (id > 2)');
  await page.close();
}

/** A link with a parameter that the server refuses says which one, and removes it. */
async function refusedParameters({ browser, server, shoot }) {
  const total = async () => (await connect(server.address).fetch({ entity: 'book', as: 'count' })).total;
  for (const [name, value, sentence, button] of [
    ['sort', 'nope', 'sort: book has no property nope; did you mean note?', 'Remove the order'],
    ['section', 'nope', 'section: book has no property nope; did you mean note?', 'Remove the sections'],
    ['limit', '-1', 'limit: expected a whole number from 0 to 2147483647', 'Remove the limit'],
    ['offset', '-1', 'offset: expected a whole number from 0 to 2147483647', 'Remove the offset']]) {
    const page = await browser.open(`${server.address}/?entity=book&${name}=${value}`);
    await page.until(() => document.querySelector('#connection').dataset.state === 'failed', { what: `${name}=${value} is refused` });
    assert.equal(await page.run(() => document.querySelector('.predicate-error span').textContent), sentence);
    assert.deepEqual(await page.run(() => [...document.querySelectorAll('.predicate-error button')].map(({ textContent }) => textContent)), [button]);
    if (name === 'sort') await shoot(page, 'refused-order');
    await page.click('.predicate-error .remover');
    await page.until(settled, { args: [await total()], what: `all rows without ${name}` });
    if (name === 'limit') {
      await page.click('input[type=number]');
      await page.type('-5');
      await page.run(() => document.activeElement.dispatchEvent(new Event('change')));
      assert.equal(await page.run(() => document.activeElement.matches('input[type=number]:invalid')), true);
      assert.equal(await page.run(() => globalThis.livefetch.page.view.limit), '');
    }
    await page.close();
  }
}

const slowRows = `CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT);
  WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 500000) INSERT INTO item SELECT i, 'Item number ' || i FROM n;`;
const slowSearch = "name MATCHES '.*(1|2)+x.*(y|z)+q'";

const liveRequests = () => performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('/v1/live')).length;

/** A query that the server has ended at its time limit is asked again when the user wants it, and not before. */
async function tooSlow({ browser, server, shoot }) {
  const page = await openPage(browser, `${server.address}/?entity=item&sort=id`);
  const slow = () => page.until(() => document.querySelector('#connection').dataset.state === 'slow');
  await page.click('#where');
  await page.type(slowSearch);
  await page.key('Enter');
  await slow();
  assert.equal(await page.run(() => document.querySelector('.predicate-error').textContent),
    "The query ran past the server's time limit. An index on the columns of the filter and the order helps, or BEGINSWITH in place of "
    + 'CONTAINS, or a server with a longer --query-timeout.Try again');
  await page.until(() => document.querySelector('#inspector .code').textContent.includes('MATCHES'), { what: 'the refused request is shown' });
  await shoot(page, 'too-slow');
  await page.scheme('dark');
  await page.size(390, 844);
  await page.until(() => document.getAnimations().length === 0);
  await shoot(page, 'too-slow-dark-390');
  await page.size(1440, 900);
  const before = await page.run(liveRequests);
  // A request is listed when it has ended, at its limit of 2 s.
  await pause(6000);
  assert.equal(await page.run(liveRequests), before, 'the request is not repeated by itself');
  await page.click('.predicate-error .again');
  await eventually(() => page.run(liveRequests), before + 1, 'it is asked for again');
  await slow();
  await page.run(() => globalThis.livefetch.page.groups.toggle());
  await page.until(() => document.querySelector('.groups .complaint .again'), { what: 'groups that take too long' });
  await shoot(page, 'too-slow-groups');
  await page.run(() => globalThis.livefetch.page.groups.toggle());
  await page.click('#where');
  await page.run(() => document.querySelector('#where').select());
  await page.type('id < 4');
  await page.key('Enter');
  await page.until(() => document.querySelector('#connection').dataset.state === 'live' && globalThis.livefetch.page.live.current?.count === 3);
  assert.equal(await page.run(() => document.querySelector('.predicate-error').hidden), true);
  await page.close();
}

const guessed = `
  CREATE TABLE site (id INTEGER PRIMARY KEY, scheme TEXT NOT NULL, host TEXT NOT NULL, UNIQUE (scheme, host));
  INSERT INTO site VALUES (1, 'https', 'a.example'), (2, 'https', 'b.example');
  CREATE TABLE page (id INTEGER PRIMARY KEY, visits INTEGER, at DATETIME, site_id INTEGER REFERENCES site(id));
  INSERT INTO page VALUES (1, 1, '2024-01-02 10:00:00.25', 1), (2, 2000, '2024-01-02 10:00:00', 2), (3, 1000, NULL, 2);`;

/** Rows that are called by a guess have their keys beside it, an average its digits, and a date the fractions of a second. */
async function exactTexts({ browser, server }) {
  const page = await openPage(browser, `${server.address}/?entity=page&sort=id`);
  await openColumn(page, 'site');
  await page.until(() => document.querySelectorAll('.facet').length === 2);
  assert.deepEqual(await page.run(facetTexts), ['https (2) 2', 'https (1) 1']);
  await page.key('Escape');
  await openColumn(page, 'visits');
  await page.until(() => document.querySelectorAll('.facet-figures div').length === 6);
  assert.equal(await page.run(() => document.querySelector('.facet-figures div:last-child dd').textContent), '1000.3333');
  await page.key('Escape');
  const dates = () => [...document.querySelectorAll('.cell.is-date')].map(({ textContent }) => textContent);
  assert.deepEqual(await page.run(dates), ['2024-01-02 10:00:00.25', '2024-01-02 10:00', 'NULL']);
  await page.close();
}

/** A text that is typed is searched for after a pause: not in another view, which the user has gone to meanwhile. */
async function typedBefore({ browser, server }) {
  const page = await openPage(browser, `${server.address}/?entity=City&sort=name&where=population+%3E+1000000`);
  const view = () => { const { entity, where } = globalThis.livefetch.page.view; return [entity, where, document.querySelector('#where').value]; };
  const typeAnd = async (pressed) => {
    await page.run((selector) => {
      const field = document.querySelector('#where');
      field.value = 'population > 2000000';
      field.dispatchEvent(new Event('input'));
      if (selector === null) history.back();
      else document.querySelector(selector).click();
    }, pressed);
    await pause(700);
    return page.run(view);
  };
  assert.deepEqual(await typeAnd('[data-entity=Country]'), ['Country', '', '']);
  assert.deepEqual(await typeAnd(null), ['City', 'population > 1000000', 'population > 1000000']);
  await typeAnd('.head-cell[data-column=population] .head-name');
  await page.until(() => globalThis.livefetch.page.view.where === 'population > 2000000' && globalThis.livefetch.page.view.sort === 'population',
    { what: 'another order keeps what was typed' });
  // What was typed into the filter builder is not applied either, and the builder closes.
  await page.run(() => {
    globalThis.livefetch.page.change({ where: '' });
    document.querySelector('.control-button').click();
    const value = document.querySelector('.condition-values input');
    value.value = 'Tokyo';
    value.dispatchEvent(new Event('input'));
    globalThis.livefetch.page.goTo('Country');
  });
  await pause(700);
  assert.deepEqual([await page.run(view), await page.run(() => document.querySelector('.popover'))], [['Country', '', ''], null]);
  await page.close();
}

export const findingScenarios = {
  'a text that is typed is not searched for in another view': { run: typedBefore },
  'names, averages and dates are exact enough to be distinguished': { run: exactTexts, fixture: guessed },
  'words are searched for in the text columns': { run: words },
  'a value that is clicked becomes a filter': { run: clickedValues, fixture: library },
  'the head of a column shows what it holds': { run: facets },
  'facets of dates and NULL, on a phone': { run: facetsOfNulls, fixture: library },
  'bounds of integers beyond 2^53 are exact': { run: facetsOfLargeIntegers, fixture: large },
  'a search that takes too long is refused once, and tried again on request': { run: tooSlow, fixture: slowRows, options: ['--query-timeout', '2'] },
  'a parameter that is refused is named, and removed': { run: refusedParameters, fixture: library },
  'filters are built without a predicate': { run: builder, fixture: library },
};
