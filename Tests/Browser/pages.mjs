// Opens the page, uses it, and reads its state.

import { LONGEST } from './browser.mjs';

/** Opens an address and waits until its rows are shown. */
export async function openPage(browser, address, options) {
  const page = await browser.open(address, options);
  await page.until(() => ['live', 'plain'].includes(globalThis.livefetch?.page.live?.state));
  return page;
}

export const isLive = () => globalThis.livefetch?.page.live?.state === 'live';

/** Cities of a million by country: Kabul first. */
const byCountry = '/?entity=City&where=population+%3E%3D+1000000&section=country.name&sort=-population';

/** Opens the explorer and waits until it follows. */
export async function explorer(browser, address, options) {
  const view = address.includes('?') ? '' : byCountry;
  const page = await browser.open(address + view, options);
  await page.until(isLive);
  return page;
}

export const isSaved = () => {
  const { editing: { staged, saving } } = globalThis.livefetch.page;
  return staged.count === 0 && !saving.isBusy;
};

export const stagedValues = () => globalThis.livefetch.page.editing.staged.list.map(({ values }) => values);

/** Resolves when the page has drawn what it has, and no row moves. */
export const still = (page) => page.until(async () => {
  const frame = () => new Promise(requestAnimationFrame);
  await frame();
  await frame();
  return [...document.querySelectorAll('.row')].every(({ livefetchRow: row, classList }) => !row?.isSliding && !classList.contains('is-leaving'));
}, { what: 'the rows stand still' });

/** Presses a cell twice, again until its editor is there: a row that moves meanwhile may take the presses. */
export async function openCell(page, id, column) {
  const end = Date.now() + LONGEST;
  while (!await tryCell(page, id, column)) {
    if (Date.now() > end) throw new Error(`the cell ${column} of ${id} does not open`);
  }
}

/** Opens a cell and types a text over its value. */
export async function typeCell(page, id, column, text) {
  await openCell(page, id, column);
  await page.run(() => document.activeElement.select());
  await page.type(text);
}

/** Fills fields of the dialog for a new row. @param values texts by the fields' names. */
export const fillNewRow = (page, values) => page.run((texts) => {
  for (const [name, text] of Object.entries(texts)) {
    const field = document.querySelector(`dialog.insert [name="${name}"]`);
    field.value = text;
    field.dispatchEvent(new Event('input'));
  }
}, values);

/** Presses a button above the table. */
export const pressAction = (name) => [...document.querySelectorAll('.action')].find(({ ariaLabel }) => ariaLabel === name).click();

/** The lines of the table's export as CSV. */
export async function exported(page) {
  await page.run(() => {
    URL.createObjectURL = (blob) => { globalThis.exported = blob; return '#'; };
    HTMLAnchorElement.prototype.click = () => {};
  });
  await page.run(pressAction, 'Export');
  await page.run(() => document.querySelector('.export-menu button').click());
  await page.until(() => globalThis.exported, { what: 'the export ends' });
  return (await page.run(() => globalThis.exported.text())).trimEnd().split('\r\n');
}

/** The texts of a column's cells, from the first row down. @param column its name. */
export const columnTexts = (column) => {
  const place = globalThis.livefetch.page.grid.columns.findIndex(({ name }) => name === column);
  return [...document.querySelectorAll('.grid-body .row:not(.is-leaving)')].sort((a, b) => a.livefetchRow.y - b.livefetchRow.y)
    .map((row) => row.querySelectorAll('.cell')[place].textContent);
};

/** Presses a cell twice; true if that opens it. @param column its name. */
export async function tryCell(page, id, column) {
  await still(page);
  await page.until((row, name) => {
    document.querySelectorAll('[data-test=edit]').forEach((cell) => delete cell.dataset.test);
    const { grid } = globalThis.livefetch.page;
    const cell = grid.row(row)?.cell(grid.columns.findIndex((each) => each.name === name));
    if (!cell) return false;
    cell.dataset.test = 'edit';
    cell.scrollIntoView({ block: 'nearest', inline: 'center' });
    return true;
  }, { args: [id, column], what: `the cell ${column} of ${id} is there` });
  await page.click('[data-test=edit]', { count: 2 });
  return page.run(() => document.activeElement.closest('.editor') !== null);
}
