// The page for those who use a keyboard, a screen reader, a phone.

import assert from 'node:assert/strict';
import { faintFields, smallTargets, violations } from './axe.mjs';
import { openPage, pressAction } from './pages.mjs';
import { library } from './row-scenarios.mjs';

const press = (selector) => document.querySelector(selector).click();

/** The states of the page that are checked: what leads to each of them, and what shows that it is there. */
const states = [
  ['table', async () => {}, '.row'],
  ['cell menu', (page) => page.run(() => {
    document.querySelector('.cell').dispatchEvent(new PointerEvent('pointerdown', { bubbles: true }));
    document.querySelector('.cell').dispatchEvent(new MouseEvent('contextmenu', { bubbles: true, cancelable: true, button: 2, clientX: 60, clientY: 300 }));
  }), '.cell-menu'],
  ['selection', (page) => page.run(() => {
    document.querySelector('.popover').dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true }));
    globalThis.livefetch.page.grid.selection.all(globalThis.livefetch.page.grid.layout);
  }), '.selection-bar button'],
  ['row panel', (page) => page.run(() => {
    const { grid, rowPanel } = globalThis.livefetch.page;
    grid.selection.clear();
    rowPanel.open('book', 2);
  }), '.row-panel [data-property=tag] li'],
  ['staged', (page) => page.run(press, '.row-panel [data-property=tag] .icon-button'), '#tray:not([hidden]) .tray-line'],
  ['refused', (page) => page.run(() => {
    const { editing, rowPanel } = globalThis.livefetch.page;
    rowPanel.close();
    editing.staged.clear();
    editing.staged.set('book', { id: 999, title: 'Gone' }, 'title', 'Typed');
    editing.keepText('book', 2, { name: 'price' }, '12x');
    editing.saving.save();
  }), '.insert-again'],
  ['column menu', (page) => page.run(() => {
    globalThis.livefetch.page.editing.staged.clear();
    document.querySelector('.tray-notes .text-button').click();
    document.querySelector('[data-column=author] .head-menu').click();
  }), '.facet'],
  ['filter builder', (page) => page.run(press, '.control-button'), '.conditions input'],
  ['groups', (page) => page.run(pressAction, 'Groups'), '.group-bars li'],
  ['group table', (page) => page.run(press, '.groups [role=radio]'), '.group-table td'],
  ['new row', async (page) => {
    await page.run(pressAction, 'Groups');
    await page.run(pressAction, 'New book');
  }, '.insert input'],
  ['help', async (page) => {
    await page.key('Escape');
    await page.run(press, '#open-help');
  }, '.help kbd'],
  ['tables', async (page) => {
    await page.key('Escape');
    await page.run(press, '#open-model');
  }, '#model.is-open'],
  ['API', (page) => page.run(() => {
    document.querySelector('#veil').click();
    document.querySelector('#open-inspector').click();
  }), '#inspector.is-open'],
  ['sections', async (page) => {
    await page.run(() => document.querySelector('#veil').click());
    await page.run(() => globalThis.livefetch.page.change({ section: 'author.last_name', where: 'price > 1' }));
  }, '.section-head'],
];

async function eachState(page, check) {
  const found = [];
  for (const [name, go, sign] of states) {
    await go(page);
    await page.until((selector) => document.querySelector(selector) !== null, { args: [sign], what: `${name} is shown` });
    await page.until(() => !document.querySelector('.grid').classList.contains('is-stale'));
    await page.run(() => Promise.all(document.getAnimations().map((animation) => animation.finished.catch(() => {}))).then(() => true));
    found.push(...(await check(page)).map((line) => `${name}: ${line}`));
  }
  return found;
}

const address = (server) => `${server.address}/?entity=book&sort=id`;

async function checkedByAxe({ browser, server }) {
  for (const [scheme, width] of [['light', 1920], ['dark', 1920], ['light', 390], ['dark', 390]]) {
    const page = await openPage(browser, address(server), { width, height: 900, scheme, isTouch: width < 400 });
    const found = await eachState(page, async () => [...await violations(page), ...await page.run(faintFields)]);
    assert.deepEqual([...new Set(found)], [], `${scheme}, ${width}`);
    await page.close();
  }
}

async function otherPages({ browser, server }) {
  for (const scheme of ['light', 'dark']) {
    const page = await browser.open(`${server.address}/openapi.html#get--v1-objects-book`, { width: 1440, height: 900, scheme });
    await page.until(() => document.querySelector('.operation[open] td'));
    assert.deepEqual([...await violations(page), ...await page.run(faintFields)], [], scheme);
    await page.close();
  }
}

async function targets({ browser, server, shoot }) {
  const page = await openPage(browser, address(server), { width: 390, height: 844, isTouch: true });
  const found = await eachState(page, () => page.run(smallTargets));
  await shoot(page, 'targets-phone');
  assert.deepEqual([...new Set(found)], []);
  await page.close();
}

/** The current cell, the selected rows and the order have ARIA attributes. */
async function roles({ browser, server }) {
  const page = await openPage(browser, address(server), { width: 1440, height: 900 });
  await page.until(() => document.querySelectorAll('.row').length === 4);
  await page.run(() => document.querySelector('.grid').focus());
  await page.key('ArrowDown');
  await page.key('ArrowDown');
  await page.key('ArrowRight');
  assert.deepEqual(await page.run(() => {
    const cell = document.getElementById(document.querySelector('.grid').getAttribute('aria-activedescendant'));
    return [cell.textContent, cell.getAttribute('aria-colindex'), cell.parentElement.getAttribute('aria-rowindex')];
  }), ['Italo Calvino', '2', '3']);
  await page.key(' ', { shift: true });
  const grid = await page.run(() => {
    const { ariaColCount, ariaRowCount, ariaMultiSelectable } = document.querySelector('.grid');
    return { ariaColCount, ariaRowCount, ariaMultiSelectable,
      selected: [...document.querySelectorAll('.row[aria-selected=true]')].map(({ ariaRowIndex }) => ariaRowIndex),
      sorted: [...document.querySelectorAll('[aria-sort]')].map((head) => [head.dataset.column, head.ariaSort]) };
  });
  assert.deepEqual(grid, { ariaColCount: '11', ariaRowCount: '5', ariaMultiSelectable: 'true', selected: ['3'], sorted: [['id', 'ascending']] });
  await heads(page);
  await page.close();
}

/** One Tab reaches the heads, arrows go from one to the next, Enter sorts, Alt and down open the menu. */
async function heads(page) {
  await page.run(() => document.querySelector('.head-name[tabindex="0"]').focus());
  assert.equal(await page.run(() => document.querySelectorAll('.head-cell [tabindex="0"]').length), 1);
  await page.key('ArrowRight');
  await page.key('ArrowRight');
  assert.equal(await page.run(() => document.activeElement.textContent), 'summary');
  await page.key('Enter');
  await page.until(() => globalThis.livefetch.page.view.sort === 'summary');
  await page.until(() => document.activeElement.textContent === 'summary ↑', { what: 'the focus stays' });
  await page.key('ArrowDown', { alt: true });
  await page.until(() => document.querySelector('.column-menu'));
  await page.key('Escape');
  assert.equal(await page.run(() => document.activeElement.closest('.head-cell')?.dataset.column), 'summary');
}

export const accessibilityScenarios = {
  'axe finds nothing in any state of the page, in both themes': { run: checkedByAxe, fixture: library },
  'axe finds nothing in the OpenAPI page': { run: otherPages, fixture: library },
  'every target on a phone has 44 pixels': { run: targets, fixture: library },
  'the grid names its current cell, selection and order, and its heads are reached by keys': { run: roles, fixture: library },
};
