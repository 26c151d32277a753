// Open cells and dialogs keep their text when the row, the table or the page changes.

import assert from 'node:assert/strict';
import { connect } from '../../Public/livefetch.js';
import { LONGEST, pause } from './browser.mjs';
import { isLive, isSaved, openPage, stagedValues, still, typeCell } from './pages.mjs';

const rows = `
  CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, amount INTEGER, note TEXT, day DATE);
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400) INSERT INTO item SELECT i, 'item ' || printf('%03d', i), i, NULL, NULL FROM n;
  CREATE TABLE needed (id INTEGER PRIMARY KEY, title TEXT NOT NULL, note TEXT, state TEXT NOT NULL DEFAULT 'new', size INTEGER);`;

const view = '/?entity=item&sort=id';

async function scrollTo(page, top) {
  await page.run((position) => { globalThis.livefetch.page.grid.element.scrollTop = position; }, top);
  await still(page);
}

async function outlives({ browser, server }) {
  const page = await openPage(browser, server.address + view);
  await typeCell(page, 3, 'name', 'typed');
  await scrollTo(page, 9000);
  await scrollTo(page, 0);
  assert.equal(await page.run(() => document.querySelector('.editor textarea')?.value), 'typed', 'the cell is open after scrolling');
  await page.key('Enter');
  assert.deepEqual(await page.run(stagedValues), [{ name: 'typed' }]);
  await deletedRow(page, server);
  await otherTable(page);
  await invalidCell(page);
  await panelOfDeletedRow(page, server);
  await page.close();
}

/** Another program deletes the row of an open cell: the typed text is staged, and the grid receives keys. */
async function deletedRow(page, server) {
  await typeCell(page, 5, 'name', 'last words');
  await connect(server.address).delete('item', 5);
  await page.until(() => !globalThis.livefetch.page.grid.row(5));
  assert.deepEqual(await page.run(stagedValues), [{ name: 'typed' }, { name: 'last words' }]);
  await typeCell(page, 6, 'name', 'six');
  await page.key('Enter');
  assert.equal((await page.run(stagedValues)).length, 3);
}

/** Another program deletes the row of the panel: typed values are staged, and an invalid text is shown in a note. */
async function panelOfDeletedRow(page, server) {
  await page.run(() => globalThis.livefetch.page.rowPanel.open('item', 20));
  const enter = async (name, text) => {
    await page.until((column) => document.querySelector(`.row-panel [data-property=${column}] :is(input, textarea)`), { args: [name] });
    await page.run((column) => { const control = document.querySelector(`.row-panel [data-property=${column}] :is(input, textarea)`); control.focus(); control.select(); }, name);
    await page.type(text);
  };
  await enter('amount', 'few');
  await enter('name', 'typed in the panel');
  await connect(server.address).delete('item', 20);
  await page.until(() => /does not exist/.test(document.querySelector('.row-panel').textContent));
  assert.deepEqual((await page.run(stagedValues)).at(-1), { name: 'typed in the panel' });
  assert.match(await page.run(() => document.querySelector('.tray-notes').textContent), /^Not staged: “few” in amount of item 20 is no value of this column/);
}

async function otherTable(page) {
  await typeCell(page, 7, 'amount', 'many');
  await page.key('Enter');
  await typeCell(page, 7, 'name', 'seven');
  await page.run(() => globalThis.livefetch.page.goTo('needed'));
  await page.until(() => globalThis.livefetch.page.view.entity === 'needed' && globalThis.livefetch.page.live.state === 'live');
  assert.deepEqual((await page.run(stagedValues)).at(-1), { name: 'seven' });
  assert.match(await page.run(() => document.querySelector('.tray-notes').textContent), /^Not staged: “many” in amount of item 7 is no value of this column/);
  await page.click('.tray-notes .text-button');
  await page.run(() => globalThis.livefetch.page.goTo('item'));
  await page.until(() => globalThis.livefetch.page.grid.row(8) !== undefined);
  await typeCell(page, 8, 'name', 'eight');
  await page.key('Enter');
  assert.deepEqual((await page.run(stagedValues)).at(-1), { name: 'eight' });
}

/** A cell with an invalid value stays open while other cells are opened. */
async function invalidCell(page) {
  await typeCell(page, 9, 'amount', 'many');
  await page.key('Enter');
  await page.until(() => document.querySelector('.editor .complaint:not([hidden])'));
  await typeCell(page, 10, 'name', 'ten');
  await page.key('Enter');
  assert.deepEqual((await page.run(stagedValues)).at(-1), { name: 'ten' });
  assert.equal(await page.run(() => document.querySelector('.editor input').value), 'many');
  await page.run(() => { const input = document.querySelector('.editor input'); input.focus(); input.value = '12'; });
  await page.key('Enter');
  assert.deepEqual((await page.run(stagedValues)).at(-1), { amount: 12 });
  assert.equal(await page.run(() => document.querySelector('.editor') === null), true);
}

const mouse = (page, kind, x, y) => page.send('Input.dispatchMouseEvent', { type: `mouse${kind}`, x, y, button: 'left', clickCount: 1 });
const dialogBox = () => { const { x, y, width, height } = document.querySelector('dialog.insert').getBoundingClientRect(); return { x, y, width, height }; };

async function newRow({ browser, server, shoot }) {
  const page = await openPage(browser, `${server.address}/?entity=needed`);
  const isOpen = () => page.run(() => document.querySelector('dialog.insert') !== null);
  await page.run(() => globalThis.livefetch.page.editing.insert());
  const box = await page.run(dialogBox);
  await mouse(page, 'Pressed', box.x + 6, box.y + 6);
  await mouse(page, 'Released', box.x + 6, box.y + 6);
  assert.ok(await isOpen(), 'a press in its padding does not close it');
  await mouse(page, 'Pressed', box.x + box.width / 2, box.y + 100);
  await mouse(page, 'Released', 5, 5);
  assert.ok(await isOpen(), 'a selection that ends outside does not close it');
  await page.run(() => document.querySelector('dialog [name=title]').focus());
  await page.type('one');
  await page.key('Enter', { shift: true });
  await page.type('two');
  await shoot(page, 'new-row');
  await mouse(page, 'Pressed', 5, 5);
  await mouse(page, 'Released', 5, 5);
  assert.ok(await isOpen(), 'a press outside does not lose what is typed');
  await page.key('Escape');
  await page.until(() => document.querySelector('dialog.question'), { what: 'Escape asks' });
  await page.click('dialog.question .button:not(.primary)');
  assert.ok(await isOpen());
  await cleared(page);
  assert.deepEqual(await page.run(stagedValues), [{ title: 'one\ntwo', note: '' }]);
  await page.key('s', { ctrl: true });
  await page.until(isSaved);
  assert.deepEqual((await connect(server.address).fetch({ entity: 'needed' })).sections[0].items,
    [{ id: 1, title: 'one\ntwo', note: '', state: 'new', size: null }]);
  await page.run(() => globalThis.livefetch.page.editing.insert());
  await mouse(page, 'Pressed', 5, 5);
  await mouse(page, 'Released', 5, 5);
  await page.until(() => !document.querySelector('dialog.insert'), { what: 'a click outside closes an empty dialog' });
  await page.close();
}

/** A refused value that is then cleared is not sent. An empty text and NULL are different values. */
async function cleared(page) {
  const set = (name, text) => page.run((wanted, value) => {
    const field = document.querySelector(`dialog [name=${wanted}]`);
    field.value = value;
    field.dispatchEvent(new Event('input'));
  }, name, text);
  await set('state', 'old');
  await set('size', 'big');
  await page.click('dialog.insert .primary');
  assert.match(await page.run(() => document.querySelector('dialog.insert .complaint:not([hidden])').textContent), /size: A whole number/);
  await set('state', '');
  await page.run(() => [...document.querySelectorAll('dialog.insert .dialog-field')]
    .filter((field) => field.querySelector('[name=size]')).forEach((field) => field.querySelector('.null-switch').click()));
  await set('note', '');
  await page.click('dialog.insert .primary');
}

/** A date that is typed in parts into the picker is staged once, when the picker loses the focus. */
async function picker({ browser, server }) {
  const page = await openPage(browser, server.address + view);
  await page.run(() => globalThis.livefetch.page.rowPanel.open('item', 1));
  await page.until(() => document.querySelector('.date-source'));
  const pick = (text) => page.run((value) => {
    const source = document.querySelector('.date-source');
    source.focus();
    source.value = value;
    source.dispatchEvent(new Event('change'));
  }, text);
  for (const text of ['0002-01-01', '0020-01-01', '2024-01-01']) await pick(text);
  assert.deepEqual(await page.run(stagedValues), []);
  assert.equal(await page.run(() => document.activeElement.className), 'date-source', 'the picker is still there');
  await page.run(() => globalThis.livefetch.page.grid.element.focus());
  await page.until(() => globalThis.livefetch.page.editing.staged.count === 1);
  assert.deepEqual(await page.run(stagedValues), [{ day: '2024-01-01T00:00:00Z' }]);
  await page.close();
}

const links = `
  CREATE TABLE owner (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO owner VALUES (1, 'Ann'), (2, 'Bob');
  CREATE TABLE pet (id INTEGER PRIMARY KEY, name TEXT, age INTEGER, owner_id INTEGER REFERENCES owner(id), mark UUID NOT NULL DEFAULT '6fa459ea-ee8a-3ca4-894e-db77e160355e');
  INSERT INTO pet (id, name, age, owner_id) VALUES (1, 'Rex', 3, 1), (2, 'Tom', 4, 2);
  CREATE TABLE tag (id INTEGER PRIMARY KEY, code UUID NOT NULL);`;

/** Sets a relationship of several rows to NULL. A copy of rows has the values that are shown, staged ones included. */
async function severalRows({ browser, server }) {
  const page = await openPage(browser, `${server.address}/?entity=pet&sort=id`);
  await page.run(() => {
    Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => { globalThis.copiedText = text; } } });
    const { grid } = globalThis.livefetch.page;
    grid.selection.all(grid.layout);
  });
  await page.run(() => [...document.querySelectorAll('.selection-bar .button')].find(({ textContent }) => /^Edit/.test(textContent)).click());
  await page.run(() => {
    const select = document.querySelector('.batch-edit select');
    select.value = [...select.options].find(({ textContent }) => textContent === 'owner').value;
    select.dispatchEvent(new Event('change'));
    document.querySelector('.batch-value .related-value').click();
  });
  await page.until(() => document.querySelector('.batch-value .choices .is-nil'), { what: 'NULL is offered' });
  await page.run(() => document.querySelector('.batch-value .choices .is-nil').click());
  await page.click('.batch-editor .primary');
  assert.deepEqual(await page.run(stagedValues), [{ owner: null }, { owner: null }]);
  await page.run(() => [...document.querySelectorAll('.selection-bar .button')].find(({ textContent }) => /JSON/.test(textContent)).click());
  await page.until(() => globalThis.copiedText);
  assert.deepEqual(JSON.parse(await page.run(() => globalThis.copiedText)).map(({ owner }) => owner), [null, null]);
  await page.run(() => globalThis.livefetch.page.change({ where: 'age > 3' }));
  await page.until(() => globalThis.livefetch.page.grid.layout.total === 1);
  assert.equal(await page.run(() => globalThis.livefetch.page.grid.selection.size), 0, 'another filter ends the selection');
  await connect(server.address).insert('owner', { name: 'Cid' });
  await page.until(() => document.querySelector('.entity[data-entity=owner] .count').textContent === '3',
    { what: 'the number of rows of another table follows' });
  await page.close();
}

/** The focus stays when the page is drawn again, and shortcuts neither move it nor complete a text. */
async function focus({ browser, server }) {
  const page = await openPage(browser, `${server.address}/?entity=pet&sort=id`);
  const focused = () => page.run(() => document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent);
  await page.click('.row .cell');
  await page.key('s', { ctrl: true });
  assert.equal(await page.run(() => document.activeElement.className.includes('grid')), true, 'Ctrl S leaves the focus in the grid');
  await page.run(() => document.querySelector('.summary .action[aria-label="Groups"]').focus());
  await connect(server.address).insert('pet', { name: 'New', age: 1 });
  await page.until(() => globalThis.livefetch.page.grid.layout.total === 3);
  assert.equal(await focused(), 'Groups');
  await page.run(() => [...document.querySelectorAll('.controls .chip button')][0].focus());
  await page.key('Enter');
  await page.until(() => location.search.includes('sort=-id'));
  assert.match(await focused(), /^id, /);
  await page.run(() => document.querySelector('#where').focus());
  await page.type('na');
  await page.until(() => !document.querySelector('#completions').hidden);
  await page.key('Tab', { shift: true });
  assert.equal(await page.run(() => document.querySelector('#where').value), 'na', 'Shift Tab completes nothing');
  await composing(page);
  await hiddenColumn(page);
  await page.close();
}

/** Enter that ends a composition of an input method does not end the editor. */
async function composing(page) {
  await page.run(() => globalThis.livefetch.page.change({ where: '', sort: 'id' }));
  await page.until(() => globalThis.livefetch.page.grid.layout.total === 3 && globalThis.livefetch.page.live.state === 'live');
  await typeCell(page, 1, 'name', 'にほん');
  await page.run(() => document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, isComposing: true })));
  assert.ok(await page.run(() => document.querySelector('.editor') !== null));
  await page.key('Escape');
  await page.until(() => document.querySelector('.editor') === null);
}

/** After the current column is hidden, the keys move from the last one. */
async function hiddenColumn(page) {
  await page.key('End', {});
  for (let step = 0; step < 6; step += 1) await page.key('ArrowRight');
  const current = () => document.querySelector('.cell.is-current')?.dataset.column;
  const last = await page.run(() => globalThis.livefetch.page.grid.columns.length - 1);
  assert.equal(await page.run(current), String(last));
  await page.run(() => {
    const { grid } = globalThis.livefetch.page;
    grid.arrange(grid.columns.slice(0, -1), 'id');
  });
  await page.key('ArrowLeft');
  assert.equal(await page.run(current), String(last - 2));
}

/** A page without HTTPS has no `crypto.randomUUID`; a file that is dropped on a read-only table does not replace the page. */
async function plainPage({ browser, server }) {
  const page = await openPage(browser, `${server.address}/?entity=pet`);
  await page.run(() => { Object.defineProperty(crypto, 'randomUUID', { value: undefined }); });
  await page.run(() => globalThis.livefetch.page.goTo('tag'));
  await page.until(() => /"code":"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}"/.test(document.querySelector('.empty')?.textContent),
    { what: 'an example with a UUID' });
  const isPrevented = await page.run(() => {
    globalThis.livefetch.page.mayWrite = false;
    const data = new DataTransfer();
    data.items.add(new File(['a'], 'a.csv'));
    const event = new DragEvent('drop', { dataTransfer: data, cancelable: true });
    document.querySelector('#result').dispatchEvent(event);
    return event.defaultPrevented;
  });
  assert.equal(isPrevented, true);
  assert.equal(await page.run(() => document.querySelector('.import') === null), true);
  await page.close();
}

/** A field that loses the focus without an edit shows the value that was saved meanwhile. */
async function staleField({ browser, server }) {
  const page = await openPage(browser, `${server.address}/?entity=pet`);
  await page.run(() => globalThis.livefetch.page.rowPanel.open('pet', 1));
  await page.until(() => document.querySelector('[data-property=name] textarea'));
  await page.run(() => document.querySelector('[data-property=name] textarea').focus());
  await connect(server.address).update('pet', 1, { name: 'Max' });
  await page.until(() => document.querySelector('.row-panel-name').textContent === 'Max');
  await page.run(() => document.querySelector('[data-property=age] input').focus());
  await page.until(() => document.querySelector('[data-property=name] textarea').value === 'Max', { what: 'the field shows the new value' });
  assert.deepEqual(await page.run(stagedValues), []);
  await page.close();
}

/** Closes the tab as a user does. @param isLeft true to leave the page if the browser asks. */
async function closeTab(page, isLeft = false) {
  page.agrees = isLeft;
  page.questions.length = 0;
  await page.send('Page.close');
  const end = Date.now() + LONGEST;
  while (page.questions.length === 0 && await page.isOpen() && Date.now() < end) await pause(20);
  return page.questions;
}

/** The browser asks before it closes a tab with an unsaved edit: a staged value, an open cell, an invalid text or a dialog. */
async function closing({ browser, server }) {
  const page = await openPage(browser, server.address + view);
  await typeCell(page, 3, 'name', 'typed');
  assert.deepEqual(await closeTab(page), ['beforeunload'], 'an open cell');
  assert.deepEqual(await page.run(stagedValues), [{ name: 'typed' }], 'what was typed is staged');
  assert.deepEqual(await closeTab(page), ['beforeunload'], 'a staged change');
  await page.run(() => {
    const { client } = globalThis.livefetch;
    client.save = () => new Promise((_, reject) => {
      globalThis.lose = () => { delete client.save; reject(Object.assign(new Error('lost'), { errors: [], status: 0 })); };
    });
  });
  await page.key('s', { ctrl: true });
  await page.until(() => document.querySelector('#tray:not([hidden]) [role=status]')?.textContent === 'Saving …', { what: 'the page says that it saves' });
  assert.deepEqual(await closeTab(page), ['beforeunload'], 'a save under way');
  await page.run(() => globalThis.lose());
  await page.until(() => globalThis.livefetch.page.editing.staged.count === 1 && !globalThis.livefetch.page.editing.saving.isBusy);
  await page.key('s', { ctrl: true });
  await page.until(isSaved);
  await typeCell(page, 4, 'amount', 'many');
  assert.deepEqual(await closeTab(page), ['beforeunload'], 'an invalid value');
  await page.run(() => document.querySelector('.editor input').focus());
  await page.key('Escape');
  await page.run(() => globalThis.livefetch.page.editing.insert());
  await page.run(() => document.querySelector('dialog.insert [name=name]').focus());
  await page.type('new');
  assert.deepEqual(await closeTab(page), ['beforeunload'], 'a new row');
  await page.key('Escape');
  await page.until(() => document.querySelector('dialog.question'));
  await page.click('dialog.question .primary');
  await page.until(() => !document.querySelector('dialog'));
  await typeCell(page, 5, 'name', 'kept');
  page.agrees = true;
  await page.reload();
  await page.until(isLive);
  assert.deepEqual(await page.run(stagedValues), [{ name: 'kept' }], 'a reload keeps what was typed');
  await page.run(() => globalThis.livefetch.page.editing.staged.clear());
  assert.deepEqual(await closeTab(page), [], 'nothing is unsaved');
  assert.equal(await page.isOpen(), false);
}

const manyTables = Array.from({ length: 80 }, (_, index) => `CREATE TABLE t${index + 10} (id INTEGER PRIMARY KEY, name TEXT);`).join('\n');

/** The list scrolls to the table of a link once, and then stays where the user scrolls it. */
async function tableOfLink({ browser, server }) {
  const page = await openPage(browser, `${server.address}/?entity=t60`);
  const isSeen = () => {
    const { top, bottom } = document.querySelector('.entity[data-entity=t60]').getBoundingClientRect();
    return top > 0 && bottom <= innerHeight;
  };
  await page.until(isSeen, { what: 'the table is seen in the list' });
  await page.run(() => document.querySelector('.entity[data-entity=t10]').scrollIntoView());
  await page.run(() => globalThis.livefetch.page.counts.set('t11', 1));
  await page.until(() => document.querySelector('.entity[data-entity=t11] .count').textContent === '1', { what: 'the list is drawn again' });
  await still(page);
  assert.equal(await page.run(isSeen), false);
  await page.close();
}

export const openScenarios = {
  'the table of a link is seen among many': { run: tableOfLink, fixture: manyTables },
  'a tab with something unsaved asks before it is closed': { run: closing, fixture: rows },
  'a relationship of several rows becomes NULL, and staged values are copied': { run: severalRows, fixture: links },
  'the focus stays when the page is drawn again, and shortcuts do not move it': { run: focus, fixture: links },
  'a page without HTTPS, and a file on a read-only table': { run: plainPage, fixture: links },
  'a field of the row panel shows what was saved while it had the focus': { run: staleField, fixture: links },
  'an open cell stays after its row is deleted, and an invalid one does not block the others': { run: outlives, fixture: rows },
  'a new row that is filled in is not lost': { run: newRow, fixture: rows },
  'a picked date is staged when the picker is left': { run: picker, fixture: rows },
};
