// The page where it is used in less common ways: by touch, without a clipboard, with long filters, beside other users.

import assert from 'node:assert/strict';
import { eventually, pause } from './browser.mjs';
import { isLive, openPage, typeCell } from './pages.mjs';
import { script } from './server.mjs';
import { giveToken } from './session-scenarios.mjs';

const where = () => globalThis.livefetch.page.view.where;
const count = () => globalThis.livefetch.page.result?.count;

const things = `
  CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT, age INTEGER);
  WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 40) INSERT INTO person SELECT i, 'p' || i, i FROM c;
  CREATE TABLE word (key TEXT PRIMARY KEY);
  INSERT INTO word VALUES ('null'), ('other');
  CREATE TABLE note (id INTEGER PRIMARY KEY, name TEXT, person_id INTEGER REFERENCES person(id), word TEXT REFERENCES word(key), at DATETIME, size INTEGER);
  INSERT INTO note VALUES (1, 'one', 1, NULL, '2024-01-01T00:00:00Z', 1), (2, '', NULL, 'null', '2024-01-02T00:00:00Z', 2), (3, 'three', 2, 'other', '2024-01-03T00:00:00.123456Z', 3);`;

// MARK: Editing

/** A new row whose insert takes a while is edited meanwhile. */
async function pendingRow({ browser, server }) {
  const page = await openPage(browser, `${server.address}/?entity=note&sort=id`);
  await page.run(() => {
    const send = globalThis.fetch;
    globalThis.fetch = async (address, options) => {
      if (String(address).includes('/v1/save')) await new Promise((done) => { globalThis.answer = done; });
      return send(address, options);
    };
    const { editing } = globalThis.livefetch.page;
    editing.staged.insert('note', { name: 'new', size: 5 }, globalThis.livefetch.client.temporaryID());
    editing.saving.save();
  });
  const id = await page.until(() => globalThis.livefetch.page.result.sections[0].items.find(({ name }) => name === 'new')?.id);
  await typeCell(page, id, 'size', '55');
  await page.key('Enter');
  await page.until(() => globalThis.livefetch.page.editing.staged.count === 1);
  await typeCell(page, id, 'name', 'newer');
  await page.run(() => globalThis.answer());
  await page.until(() => !globalThis.livefetch.page.editing.saving.isBusy);
  await page.key('Enter');
  await eventually(() => page.run(() => globalThis.livefetch.page.editing.staged.list.map((change) => [change.id, change.values])),
    [[4, { size: 55, name: 'newer' }]], 'the edits are those of the row that was inserted');
  await page.key('s', { ctrl: true });
  await page.until(() => globalThis.livefetch.page.editing.saving.isBusy);
  await page.run(() => globalThis.answer());
  await eventually(() => page.run(() => globalThis.livefetch.page.result.sections[0].items.map(({ id, name, size }) => [id, name, size]).at(-1)), [4, 'newer', 55], 'the row is saved');
  assert.equal(await page.run(() => globalThis.livefetch.page.editing.staged.count), 0);
  await page.close();
}

/** NULL replaces the text key `null`. */
async function nullKey({ browser, server }) {
  const page = await openPage(browser, `${server.address}/?entity=note&sort=id`);
  await page.run(() => globalThis.livefetch.page.rowPanel.open('note', 2));
  await page.until(() => document.querySelector('.row-panel [data-property=word] .related-value'));
  await page.click('.row-panel [data-property=word] .related-value');
  await page.until(() => document.querySelector('.choices .is-nil'));
  assert.equal(await page.run(() => document.querySelector('.choices [aria-selected=true]').textContent), 'null');
  await page.click('.choices .is-nil');
  await eventually(() => page.run(() => globalThis.livefetch.page.editing.staged.list.map(({ values }) => values)), [{ word: null }], 'NULL is chosen');
  await page.run(() => globalThis.livefetch.page.editing.staged.clear());
  await page.close();
}

/** The focus is on the button again after a row was added to a list, or chosen for many rows. */
async function focusAfterChoice({ browser, server }) {
  const page = await openPage(browser, `${server.address}/?entity=person&sort=id`);
  const focus = () => page.run(() => document.activeElement.textContent);
  await page.run(() => globalThis.livefetch.page.rowPanel.open('person', 1));
  await page.until(() => document.querySelector('.related-adder .button'));
  await page.run(() => document.querySelector('.related-adder .button').focus());
  await page.key('Enter');
  await page.until(() => document.querySelector('.choices li'));
  await page.click('.choices li:nth-child(3)');
  await page.until(() => globalThis.livefetch.page.editing.staged.count === 1);
  assert.equal(await focus(), 'Add note');
  await page.key('Enter');
  await page.until(() => document.activeElement.localName === 'input', { what: 'the next one is searched for' });
  await page.key('Escape');
  assert.equal(await focus(), 'Add note');
  await page.run(() => globalThis.livefetch.page.editing.staged.clear());
  script(server.file, 'DELETE FROM note WHERE person_id = 1');
  await page.until(() => document.querySelector('.related-foot').textContent === 'Add note', { what: 'there is no table to show' });
  assert.equal(await focus(), 'Add note');
  script(server.file, "INSERT INTO note VALUES (1, 'one', 1, NULL, '2024-01-01T00:00:00Z', 1)");
  await page.until(() => document.querySelector('.related-foot').textContent === 'Show in the tableAdd note', { what: 'the table is offered again' });
  assert.equal(await focus(), 'Add note');
  await page.run(() => globalThis.livefetch.page.goTo('note'));
  await page.until(() => globalThis.livefetch.page.result?.count === 3);
  await page.run(() => globalThis.livefetch.page.grid.selection.all(globalThis.livefetch.page.grid.layout));
  await page.run(() => [...document.querySelectorAll('.selection-bar button')].find(({ textContent }) => textContent === 'Edit …').click());
  await page.run(() => {
    const select = document.querySelector('.batch-edit select');
    select.value = [...select.options].findIndex(({ textContent }) => textContent === 'person');
    select.dispatchEvent(new Event('change'));
    document.querySelector('.batch-value .related-value').focus();
  });
  await page.key('Enter');
  await page.until(() => document.querySelector('.batch-value .choices li'));
  await page.key('ArrowDown');
  await page.key('Enter');
  await page.until(() => document.querySelector('.batch-value .related-value'));
  assert.equal(await focus(), 'p1');
  await page.close();
}

/** The button at the right of a row makes it the current one. */
async function openedRow({ browser, server }) {
  const page = await openPage(browser, `${server.address}/?entity=person&sort=id`);
  await page.run(() => { globalThis.livefetch.page.grid.row(5).element.querySelector('.row-open').dataset.test = 'open'; });
  await page.run(() => document.querySelector('[data-test=open]').click());
  await page.until(() => globalThis.livefetch.page.rowPanel.shows('person', 5));
  assert.equal(await page.run(() => globalThis.livefetch.page.grid.cursor.id), 5);
  await page.run(() => document.querySelector('.row-panel [aria-label="Next row"]').click());
  await page.until(() => globalThis.livefetch.page.rowPanel.shows('person', 6), { what: 'the panel goes on from this row' });
  await page.close();
}

/** A finger that scrolls a list of choices takes none of them; one that taps does. */
async function scrolledLists({ browser, server }) {
  const page = await openPage(browser, `${server.address}/?entity=note&sort=id`, { width: 390, height: 700, isTouch: true });
  await page.send('Emulation.setTouchEmulationEnabled', { enabled: true });
  const place = (index) => page.run((at) => { const box = document.querySelectorAll('.choices li')[at].getBoundingClientRect(); return { x: box.x + 30, y: box.y + box.height / 2 }; }, index);
  const touch = (type, ...touchPoints) => page.send('Input.dispatchTouchEvent', { type, touchPoints });
  await page.run(() => globalThis.livefetch.page.rowPanel.open('note', 1));
  await page.until(() => document.querySelector('.row-panel [data-property=person] .related-value'));
  await page.run(() => document.querySelector('.row-panel [data-property=person] .related-value').click());
  await page.until(() => document.querySelectorAll('.choices li').length > 5);
  const { x, y } = await place(2);
  await touch('touchStart', { x, y });
  for (let step = 1; step <= 6; step += 1) await touch('touchMove', { x, y: y - step * 15 });
  await touch('touchEnd');
  await pause(400);
  assert.deepEqual(await page.run(() => [globalThis.livefetch.page.editing.staged.count, document.querySelectorAll('.choices li').length > 5]), [0, true]);
  const tapped = await place(3);
  const name = await page.run(() => document.querySelectorAll('.choices li')[3].firstChild.textContent);
  await touch('touchStart', tapped);
  await touch('touchEnd');
  await page.until(() => globalThis.livefetch.page.editing.staged.count === 1, { what: 'a tap takes the row' });
  assert.equal(await page.run(() => document.querySelector('.row-panel [data-property=person] .related-value').textContent), name);
  await page.run(() => { globalThis.livefetch.page.editing.staged.clear(); globalThis.livefetch.page.rowPanel.close(); });
  await page.run(() => document.querySelector('#where').focus());
  await page.type('na');
  await page.until(() => !document.querySelector('.completions').hidden);
  const first = await page.run(() => { const box = document.querySelector('.completions li').getBoundingClientRect(); return { x: box.x + 20, y: box.y + box.height / 2 }; });
  await touch('touchStart', first);
  for (let step = 1; step <= 6; step += 1) await touch('touchMove', { x: first.x, y: first.y - step * 15 });
  await touch('touchEnd');
  await pause(400);
  assert.equal(await page.run(() => document.querySelector('#where').value), 'na');
  await touch('touchStart', first);
  await touch('touchEnd');
  await page.until(() => document.querySelector('#where').value === 'name ', { what: 'a tap completes the name' });
  await page.close();
}

/** Without HTTPS a browser has no `navigator.clipboard`. */
async function noClipboard({ browser, server }) {
  const page = await openPage(browser, `${server.address}/?entity=person&sort=id`);
  await page.run(() => {
    Object.defineProperty(navigator, 'clipboard', { value: undefined });
    globalThis.copied = [];
    document.addEventListener('copy', () => globalThis.copied.push(document.activeElement.value));
  });
  await page.run(() => { globalThis.livefetch.page.grid.row(7).cell(0).dataset.test = 'cell'; });
  await page.click('[data-test=cell]');
  await page.key('c', { ctrl: true });
  await eventually(() => page.run(() => globalThis.copied), ['p7'], 'the value is copied');
  assert.equal(await page.run(() => document.activeElement.className.includes('grid')), true, 'the focus stays');
  await page.close();
}

// MARK: Filters

const choose = (line, index, name) => {
  const select = document.querySelectorAll('.conditions li')[line].querySelectorAll('select')[index];
  select.value = index === 0 ? [...select.options].findIndex(({ textContent }) => textContent === name) : name;
  select.dispatchEvent(new Event('change'));
};

const fill = (line, index, value) => {
  const input = document.querySelectorAll('.conditions li')[line].querySelectorAll('input')[index];
  input.value = value;
  input.dispatchEvent(new Event('input'));
};

/** The filter builder keeps the condition of an empty text, and writes only conditions that are complete. */
async function conditions({ browser, server }) {
  const page = await openPage(browser, `${server.address}/?entity=note&sort=id&where=${encodeURIComponent("name == ''")}`);
  const add = () => page.run(() => [...document.querySelectorAll('.filter-builder button')].find(({ textContent }) => textContent === 'Add a condition').click());
  await page.click('.control-button');
  await add();
  await page.run(choose, 1, 0, 'id');
  await page.run(fill, 1, 0, '2');
  await eventually(() => page.run(where), "name == '' AND id == 2", 'both conditions hold');
  await page.run(choose, 1, 1, 'BETWEEN');
  await eventually(() => page.run(where), "name == ''", 'a range with one end is not complete');
  await page.run(fill, 1, 1, '9');
  await eventually(() => page.run(where), "name == '' AND id BETWEEN {2, 9}", 'the range is complete');
  await add();
  await page.run(choose, 2, 0, 'id');
  await page.run(choose, 2, 1, 'BETWEEN');
  await page.run(fill, 2, 1, '5');
  await pause(700);
  assert.equal(await page.run(where), "name == '' AND id BETWEEN {2, 9}");
  await page.run(choose, 2, 1, '==');
  await pause(700);
  assert.equal(await page.run(where), "name == '' AND id BETWEEN {2, 9}");
  await page.close();
}

/** The last bar of a histogram has the row of the latest date. */
async function lastBar({ browser, server }) {
  const page = await openPage(browser, `${server.address}/?entity=note&sort=id`);
  await page.run(() => document.querySelector('.head-cell[data-column=at] .head-menu').click());
  await page.until(() => document.querySelectorAll('.facets .bar-hit').length === 24);
  await page.run(() => [...document.querySelectorAll('.facets .bar-hit')].at(-1).dispatchEvent(new MouseEvent('click', { bubbles: true })));
  await eventually(() => page.run(count), 1, 'the bar shows its row');
  assert.match(await page.run(where), /^at BETWEEN \{'2024-01-02T22:.*', '2024-01-03T00:00:00\.123456Z'\}$/);
  await page.run(() => globalThis.livefetch.page.change({ where: '' }));
  await page.close();
}

/** Back undoes what was typed into the search field as one step. */
async function typedFilter({ browser, server }) {
  const page = await openPage(browser, `${server.address}/?entity=person&sort=id`);
  await page.run(() => globalThis.livefetch.page.change({ where: 'age > 30' }));
  await eventually(() => page.run(count), 10, 'ten rows');
  for (const [text, rows] of [['age > 38', 2], ['age > 380', 0]]) {
    await page.click('#where');
    await page.run(() => document.querySelector('#where').select());
    await page.type(text);
    await eventually(() => page.run(count), rows, text);
  }
  await page.run(() => history.back());
  await eventually(() => page.run(where), 'age > 30', 'Back undoes the typed filter');
  await page.until(() => document.querySelector('#where').value === 'age > 30');
  await page.click('#where');
  await page.key('End');
  await page.type('9');
  await eventually(() => page.run(where), 'age > 309', 'another filter');
  await page.key('Backspace');
  await eventually(() => page.run(where), 'age > 30', 'what was typed is deleted again');
  await eventually(() => page.run(count), 10, 'ten rows again');
  assert.equal(await page.run(() => document.activeElement.id), 'where');
  await eventually(() => page.run(() => document.querySelector('#where').value), 'age > 30', 'the field shows it');
  await page.run(() => history.back());
  await eventually(() => page.run(where), '', 'Back undoes the filter before');
  await page.close();
}

/** A filter that is too long for the address is there after a reload, and for Back. */
async function longFilter({ browser, server }) {
  const page = await openPage(browser, `${server.address}/?entity=person&sort=id`);
  await page.run(() => globalThis.livefetch.page.change({ where: `name IN {${Array.from({ length: 900 }, (_, index) => `'Нижний ${index}'`).join(', ')}, 'p7'}` }));
  await eventually(() => page.run(count), 1, 'the filter holds');
  assert.equal(await page.run(() => location.search), '?entity=person&sort=id');
  await page.reload();
  await page.until(isLive);
  await eventually(() => page.run(count), 1, 'the filter holds after a reload');
  await page.run(() => globalThis.livefetch.page.goTo('note'));
  await eventually(() => page.run(() => globalThis.livefetch.page.view.entity), 'note', 'another table');
  await page.run(() => history.back());
  await eventually(() => page.run(() => [globalThis.livefetch.page.view.entity, globalThis.livefetch.page.result?.count]), ['person', 1], 'Back shows it again');
  await page.close();
}

/** Rows of a predicate with `now()` are fetched once: nothing is edited, groups are shown. */
async function notLive({ browser, server }) {
  const page = await openPage(browser, `${server.address}/?entity=note&sort=id&second=1`);
  await page.until(() => document.querySelector('.second .row') !== null);
  await page.run(() => globalThis.livefetch.page.change({ where: 'at < now()' }));
  await page.until(() => globalThis.livefetch.page.live.state === 'plain');
  const state = () => page.run(() => [globalThis.livefetch.page.isReadOnly, document.getElementById('result').classList.contains('is-read-only'),
    document.querySelector('.second') !== null, [...document.querySelectorAll('.summary .action')].some(({ ariaLabel }) => ariaLabel === 'New note')]);
  assert.deepEqual(await state(), [true, true, false, false]);
  await page.run(() => globalThis.livefetch.page.groups.toggle());
  await eventually(() => page.run(() => document.querySelectorAll('.group-bars li').length), 3, 'the groups are shown');
  await page.run(() => globalThis.livefetch.page.groups.toggle());
  await page.run(() => globalThis.livefetch.page.change({ where: '' }));
  await page.until(() => globalThis.livefetch.page.live.state === 'live');
  await eventually(state, [false, false, true, true], 'the table is edited again, and the second client is there');
  await page.close();
}

// MARK: Groups

/** Back shows the groups of the view before, also while the focus is in `having`. */
async function havingAndBack({ browser, server }) {
  const page = await openPage(browser, `${server.address}/?entity=person&group=age&values=%40count&chart=table`);
  const shown = () => page.run(() => [document.querySelector('.having').value, [...document.querySelectorAll('.group-controls .chip-name')].map(({ textContent }) => textContent)]);
  await page.until(() => document.querySelector('.group-table'));
  await page.run(() => globalThis.livefetch.page.change({ group: 'name' }));
  await eventually(shown, ['', ['name', 'count']], 'another group');
  await page.click('.having');
  await page.type('count > 50');
  await eventually(() => page.run(() => globalThis.livefetch.page.view.having), 'count > 50', 'the condition is applied');
  await page.run(() => history.back());
  await eventually(shown, ['', ['name', 'count']], 'Back takes the condition back');
  await page.run(() => history.back());
  await eventually(shown, ['', ['age', 'count']], 'Back shows the group before');
  assert.equal(await page.run(() => document.activeElement.classList.contains('having')), true, 'the focus stays');
  await page.close();
}

// MARK: Other programs

/** A new column appears for a user who may not read the feed of changes. */
async function columnsWithoutAdmin({ browser, server }) {
  const key = server.run('key', 'create', server.file, '--name', 'ann', '--scope', 'read', '--scope', 'write', '--user', 'ann');
  await server.knows(key);
  const page = await browser.open(`${server.address}/?entity=note&sort=id`);
  await giveToken(page, key);
  await page.until(() => /^Signed in/.test(document.querySelector('.sign-in')?.textContent));
  await page.key('Enter');
  await page.until(isLive);
  server.run('alter', server.file, 'ALTER TABLE note ADD COLUMN extra TEXT; CREATE TABLE another (id INTEGER PRIMARY KEY)');
  await page.until(() => globalThis.livefetch.page.grid.columns.some(({ name }) => name === 'extra'), { what: 'the column appears', timeout: 20_000 });
  await page.until(() => [...document.querySelectorAll('.entity')].some(({ dataset }) => dataset.entity === 'another'), { what: 'the table appears' });
  await page.close();
}

/** The history of a row has its newest saves, however many came before. */
async function longHistory({ browser, server }) {
  const page = await openPage(browser, `${server.address}/?entity=person&sort=id`);
  const texts = await page.run(async () => {
    const { RowHistory } = await import('/explorer/row-history.js');
    const pages = 61;
    const json = async ({ path }) => {
      const at = Number(new URL(path, location.href).searchParams.get('since') ?? 0);
      const save = (index) => ({ at: '2024-01-01T00:00:00Z', inserted: {}, deleted: {}, updated: { person: [{ id: at === pages - 1 && index === 999 ? 1 : 2, properties: [`c${at}`] }] } });
      return { data: { to: String(at + 1), saves: at < pages ? Array.from({ length: 1000 }, (_, index) => save(index)) : [] } };
    };
    const history = new RowHistory({ client: { transport: { json } }, schema: { family: () => ['person'] } }, 'person', 1);
    document.body.append(history.element);
    history.element.open = true;
    const end = Date.now() + 20_000;
    while (!/c60|No change/.test(history.element.textContent) && Date.now() < end) await new Promise((done) => { setTimeout(done, 50); });
    const { textContent } = history.element;
    history.close();
    history.element.remove();
    return textContent;
  });
  assert.match(texts, /c60$/);
  await page.close();
}

/** A diff with a long text is shown by its beginning. */
async function longDiff({ browser, server }) {
  const page = await openPage(browser, `${server.address}/?entity=person&sort=id`);
  script(server.file, "UPDATE person SET name = replace(hex(zeroblob(400000)), '00', 'word ') WHERE id = 1");
  await page.until(() => document.querySelector('.latest'));
  const { length } = await page.run(() => document.querySelector('.latest').textContent);
  assert.equal(length, 1001);
  await page.close();
}

/** The operations of tables whose names have no ASCII letters have addresses of their own. */
async function operations({ browser, server }) {
  const page = await browser.open(`${server.address}/openapi.html#100%`);
  await page.until(() => document.querySelectorAll('details.operation').length > 10, { timeout: 10_000 });
  const ids = await page.run(() => [...document.querySelectorAll('details.operation')].map(({ id }) => id));
  assert.deepEqual(ids.filter((id, index) => ids.indexOf(id) !== index), []);
  await page.run(() => { location.hash = encodeURIComponent([...document.querySelectorAll('details.operation')].find(({ textContent }) => /Страны/.test(textContent)).id); });
  await page.until(() => /Страны/.test(document.querySelector('details[open]')?.textContent), { what: 'the operation is opened' });
  await page.close();
}

export const detailScenarios = {
  'a row is edited while its insert is being saved': { run: pendingRow, fixture: things },
  'NULL replaces the text key null': { run: nullKey, fixture: things },
  'the focus returns to the button of a choice': { run: focusAfterChoice, fixture: things },
  'the row that is opened is the current one': { run: openedRow, fixture: things },
  'a finger scrolls a list of choices': { run: scrolledLists, fixture: things },
  'a value is copied without a clipboard': { run: noClipboard, fixture: things },
  'the filter builder keeps empty texts and waits for both ends of a range': { run: conditions, fixture: things },
  'the last bar of dates has the latest row': { run: lastBar, fixture: things },
  'Back undoes a typed filter': { run: typedFilter, fixture: things },
  'a filter that is too long for an address outlasts a reload': { run: longFilter, fixture: things },
  'a predicate with now() is neither edited nor followed': { run: notLive, fixture: things },
  'Back shows the groups before while the focus is in having': { run: havingAndBack, fixture: things },
  'new columns appear for a user without admin': { run: columnsWithoutAdmin, fixture: things,
    files: { 'rules.json': JSON.stringify({ access: { default: true } }) }, options: ['--access', 'rules.json'], environment: { LIVEFETCH_TOKEN: 'secret' } },
  'the history of a row reads all saves': { run: longHistory, fixture: things },
  'a diff with a long text is shown by its beginning': { run: longDiff, fixture: things },
  'operations of tables with other letters have addresses': { run: operations, fixture: 'CREATE TABLE "Города" (id INTEGER PRIMARY KEY, name TEXT); CREATE TABLE "Страны" (id INTEGER PRIMARY KEY, name TEXT);' },
};
