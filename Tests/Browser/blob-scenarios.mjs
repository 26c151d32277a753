// Texts in columns of bytes, and texts with mixed line ends.

import assert from 'node:assert/strict';
import { hasRows } from './hostile-scenarios.mjs';
import { openCell, openPage, stagedValues, typeCell } from './pages.mjs';

const texts = `CREATE TABLE data (id INTEGER PRIMARY KEY, data BLOB);
  INSERT INTO data VALUES (1, 'text in blob'), (2, 'abcd'), (3, x'00ff'), (4, 7), (5, randomblob(6000000));
  CREATE TABLE lines (id INTEGER PRIMARY KEY, text TEXT);
  INSERT INTO lines VALUES (1, 'one' || char(13, 10) || 'two' || char(10) || 'three');`;

/** An edited text keeps the line ends of the lines that were not edited. */
async function mixedLineEnds(page) {
  await page.run(() => globalThis.livefetch.page.goTo('lines'));
  await page.until(hasRows, { args: [1] });
  await openCell(page, 1, 'text');
  await page.run(() => document.activeElement.setSelectionRange(99, 99));
  await page.type('!');
  await page.key('Enter');
  assert.deepEqual(await page.run(stagedValues), [{ text: 'one\r\ntwo\nthree!' }]);
  await page.run(() => globalThis.livefetch.page.editing.staged.clear());
}

/** A text in a column of bytes is shown as text; its download has the stored bytes, also if the text looks like base64. */
async function textInBlobColumn({ browser, server, shoot }) {
  const page = await openPage(browser, `${server.address}/?entity=data&sort=id`, { width: 1920, height: 1080 });
  await page.until(hasRows, { args: [5] });
  const cell = (id) => page.run((row) => globalThis.livefetch.page.grid.row(row).cell(0).textContent, id);
  assert.deepEqual([await cell(1), await cell(3), await cell(4), await cell(5)], ['text in blob', '2 B of data', '7', '6.0 MB of data']);
  await page.run(() => {
    globalThis.saved = [];
    const create = URL.createObjectURL;
    URL.createObjectURL = (blob) => { globalThis.saved.push(blob); return create(blob); };
    HTMLAnchorElement.prototype.click = () => {};
  });
  const shown = [];
  for (const id of [1, 2, 3, 4]) {
    await page.run((key) => globalThis.livefetch.page.rowPanel.open('data', key), id);
    await page.until((key) => globalThis.livefetch.page.rowPanel.shows('data', key) && document.querySelector('#row-panel .binary-line')
      && (key !== 2 || document.querySelector('#row-panel pre.is-text')), { args: [id], what: `the value of ${id}` });
    if (id === 1) await shoot(page, 'text-in-blob');
    await page.run(() => [...document.querySelectorAll('#row-panel .binary-line button')].find((button) => button.textContent === 'Download').click());
    await page.until((count) => globalThis.saved.length === count, { args: [id] });
    shown.push(await page.run(async () => [document.querySelector('#row-panel .binary-line span').textContent,
      [...new Uint8Array(await globalThis.saved.at(-1).arrayBuffer())].map((byte) => byte.toString(16).padStart(2, '0')).join('')]));
  }
  assert.deepEqual(shown, [['text of 12 characters', '7465787420696e20626c6f62'], ['text of 4 characters', '61626364'], ['2 B', '00ff'], ['not binary', '37']]);
  assert.equal(await page.run(() => document.querySelector('#row-panel pre.is-text').textContent), '7');
  await typeCell(page, 3, 'data', 'not base64!');
  await page.key('Enter');
  assert.equal(await page.run(() => document.querySelector('.editor .complaint').textContent), 'Base64 is expected; the panel of the row takes a file.');
  await page.key('Escape');
  await mixedLineEnds(page);
  await page.scheme('dark');
  await page.run(() => globalThis.livefetch.page.rowPanel.open('data', 1));
  await page.size(390, 844);
  await page.until(() => document.querySelector('#row-panel pre.is-text') && document.getAnimations().length === 0);
  await shoot(page, 'text-in-blob-dark-390');
  await page.close();
}

const undecodable = `CREATE TABLE file (id INTEGER PRIMARY KEY, content BLOB);
  INSERT INTO file VALUES (1, x'424d46000000000000003600000028000000'), (2, x'524946462400000057415645666d7420'), (3, x'89504e470d0a1a0a00');`;

/** Bytes that the browser cannot decode as a picture are neither called one nor downloaded under the name of one. */
async function undecodablePictures({ browser, server }) {
  const page = await openPage(browser, `${server.address}/?entity=file&sort=id`, { width: 1440, height: 900 });
  await page.until(hasRows, { args: [3] });
  await page.run(() => {
    globalThis.names = [];
    HTMLAnchorElement.prototype.click = function click() { globalThis.names.push(this.download); };
  });
  for (const [id, length] of [[1, 18], [2, 16], [3, 9]]) {
    await page.run((key) => globalThis.livefetch.page.rowPanel.open('file', key), id);
    await page.until((text) => document.querySelector('#row-panel .binary-line span')?.textContent === text
      && document.querySelector('#row-panel .binary canvas') === null && document.querySelector('#row-panel .binary pre'), { args: [`${length} B`] });
    await page.run(() => [...document.querySelectorAll('#row-panel .binary-line button')].find((button) => button.textContent === 'Download').click());
    await page.until((count) => globalThis.names.length === count, { args: [id] });
  }
  assert.deepEqual(await page.run(() => globalThis.names), ['content.bin', 'content.bin', 'content.bin']);
  await page.close();
}

export const blobScenarios = {
  'bytes that only begin like a picture are shown as bytes': { run: undecodablePictures, fixture: undecodable },
  'texts in a column of bytes are shown and downloaded unchanged': { run: textInBlobColumn, fixture: texts },
};
