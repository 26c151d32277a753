// The panel beside the table: a row in full, its related rows, its history.

import assert from 'node:assert/strict';
import { deflateSync, crc32 } from 'node:zlib';
import { connect } from '../../Public/livefetch.js';
import { isSaved, openPage, stagedValues } from './pages.mjs';

/** A picture of one colour, as bytes in hexadecimal. */
function picture(width, height, colour) {
  const chunk = (name, data) => {
    const body = Buffer.concat([Buffer.from(name), data]);
    const ends = Buffer.alloc(8);
    ends.writeUInt32BE(data.length, 0);
    ends.writeUInt32BE(crc32(body), 4);
    return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)]);
  };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2, 0, 0, 0], 8);
  const row = Buffer.concat([Buffer.from([0]), Buffer.concat(Array(width).fill(Buffer.from(colour)))]);
  const pixels = deflateSync(Buffer.concat(Array(height).fill(row)));
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', pixels),
    chunk('IEND', Buffer.alloc(0))]).toString('hex');
}

export const library = `
  CREATE TABLE author (id INTEGER PRIMARY KEY, first_name TEXT, last_name TEXT, email TEXT UNIQUE);
  CREATE TABLE tag (id INTEGER PRIMARY KEY, name TEXT UNIQUE);
  CREATE TABLE book (id INTEGER PRIMARY KEY, title TEXT NOT NULL, summary TEXT, published DATE,
    lent DATETIME, price REAL, is_signed BOOLEAN, cover BLOB, details JSON,
    author_id INTEGER REFERENCES author(id));
  CREATE TABLE book_tag (book_id INTEGER REFERENCES book(id), tag_id INTEGER REFERENCES tag(id),
    PRIMARY KEY (book_id, tag_id));
  CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT, book_id INTEGER REFERENCES book(id));
  INSERT INTO author VALUES (1, 'Ursula', 'Le Guin', 'ursula@example.org'),
    (2, 'Italo', 'Calvino', 'italo@example.org'), (3, 'Clarice', 'Lispector', 'clarice@example.org');
  INSERT INTO tag VALUES (1, 'novel'), (2, 'stories'), (3, 'travel');
  INSERT INTO book VALUES
    (1, 'The Dispossessed', 'An ambiguous utopia.' || char(10) || 'Two worlds, one wall.', '1974-05-01',
      '2024-02-29T10:00:00Z', 12.5, 1, x'${picture(48, 64, [12, 122, 91])}', '{"pages":387,"series":["Hainish"]}', 1),
    (2, 'Invisible Cities', NULL, '1972-11-01', NULL, 9.99, 0, x'000102ff4c69766546657463680a', '[1,2]', 2),
    (3, 'Agua Viva', '', NULL, NULL, NULL, NULL, NULL, NULL, 3),
    (4, 'Cosmicomics', NULL, '1965-01-01', NULL, 7.5, NULL, NULL, NULL, 2);
  INSERT INTO book_tag VALUES (1, 1), (2, 1), (2, 3);
  INSERT INTO note VALUES (1, 'First edition', 1), (2, 'Lent to Ann', 1), (3, 'Gift', 2);`;

const field = (name) => `.row-panel [data-property="${name}"]`;
const names = (property) => [...document.querySelectorAll(`.row-panel [data-property="${property}"] li`)]
  .map((line) => line.querySelector('.text-button').textContent);

/** Opens the row at an index of the table in the panel, by its button. */
async function openRow(page, title) {
  await page.run((wanted) => [...document.querySelectorAll('.row')]
    .find((row) => row.livefetchRow.item.title === wanted).querySelector('.row-open').click(), title);
  await page.until((wanted) => document.querySelector('.row-panel h2')?.textContent.startsWith(wanted), { args: [title] });
}

async function choose(page, selector, text, wanted) {
  await page.click(selector);
  await page.until(() => document.querySelector('.row-panel .choices li'));
  await page.type(text);
  await page.until((name) => document.querySelector('.choices [aria-selected=true]')?.textContent === name, { args: [wanted] });
  await page.key('Enter');
  await page.until(() => !document.querySelector('.row-panel .choices'));
}

async function rowInFull({ browser, server, shoot }) {
  const page = await openPage(browser, `${server.address}/?entity=book&sort=id`, { width: 1920, height: 1080 });
  await openRow(page, 'The Dispossessed');
  assert.equal(await page.run(() => document.querySelector('[data-property=summary] textarea').value),
    'An ambiguous utopia.\nTwo worlds, one wall.');
  assert.equal(await page.run(() => document.querySelector('[data-property=details] pre').textContent),
    '{\n  "pages": 387,\n  "series": [\n    "Hainish"\n  ]\n}');
  await page.until(() => document.querySelector('[data-property=cover] canvas').height === 64, { what: 'the picture is drawn' });
  await shoot(page, 'row-panel-light');
  await editFields(page);
  assert.deepEqual(await page.run(stagedValues), [{ summary: null, published: '1974-06-01T00:00:00Z', is_signed: false }]);
  await shoot(page, 'row-panel-staged');
  await page.key('s', { ctrl: true });
  await page.until(isSaved);
  const { object } = await connect(server.address).object('book', 1);
  assert.deepEqual([object.summary, object.published, object.is_signed], [null, '1974-06-01T00:00:00Z', false]);
  await rowHistory(page);
  await nothingStaged(page);
  await page.close();
}

async function editFields(page) {
  await page.click(`${field('summary')} .null-switch`);
  await page.run(() => document.activeElement.blur());
  await page.run(() => {
    const source = document.querySelector('[data-property=published] .date-source');
    source.focus();
    source.value = '1974-06-01';
    source.dispatchEvent(new Event('change'));
    document.querySelector('.row-panel-head button').focus();
  });
  await page.run(() => {
    const choice = document.querySelector('[data-property=is_signed] select');
    choice.value = '1';
    choice.dispatchEvent(new Event('change'));
  });
}

async function rowHistory(page) {
  await page.click('.row-panel summary');
  await page.until(() => document.querySelector('.row-history li span')?.textContent === 'summary, published, is_signed');
  await page.run(() => globalThis.livefetch.client.update('book', 1, { price: 13 }));
  await page.until(() => document.querySelector('.row-history li span')?.textContent === 'price', { what: 'the history is live' });
  await page.until(() => document.querySelector('[data-property=price] input').value === '13', { what: 'the field is live' });
}

/** A walk through every control of every row, by Tab, stages nothing. */
async function nothingStaged(page) {
  for (let row = 0; row < 4; row += 1) {
    await page.run((index) => globalThis.livefetch.page.grid.row(index + 1).element.querySelector('.row-open').click(), row);
    await page.until((id) => globalThis.livefetch.page.rowPanel.shows('book', id)
      && document.querySelector('.row-panel [data-property=title] textarea'), { args: [row + 1] });
    await page.run(() => document.querySelector('.row-panel .icon-button').focus());
    for (let step = 0; step < 40; step += 1) await page.key('Tab');
    assert.deepEqual(await page.run(stagedValues), [], `row ${row + 1}`);
  }
}

async function relatedRows({ browser, server, shoot }) {
  const page = await openPage(browser, `${server.address}/?entity=book&sort=id`, { width: 1920, height: 1080, scheme: 'dark' });
  await openRow(page, 'Invisible Cities');
  await page.until(() => document.querySelectorAll('[data-property=tag] li').length === 2);
  assert.deepEqual(await page.run(names, 'tag'), ['novel', 'travel']);
  await page.click(`${field('tag')} li .icon-button`);
  await choose(page, `${field('tag')} .related-adder button`, 'stor', 'stories');
  assert.deepEqual(await page.run(stagedValues), [{ tag: { add: [2], remove: [1] } }]);
  await choose(page, `${field('author')} .related-value`, 'cla', 'Clarice Lispector');
  await shoot(page, 'row-panel-dark');
  await page.key('s', { ctrl: true });
  await page.until(isSaved);
  await page.until(() => [...document.querySelectorAll('[data-property=tag] li')].length === 2
    && document.querySelector('[data-property=tag] li').textContent.includes('stories'));
  const tags = await connect(server.address).fetch({ entity: 'book', select: 'tag,author', where: 'id == 2' });
  assert.deepEqual(tags.sections[0].items, [{ id: 2, tag: [2, 3], author: 3 }]);
  await links(page);
  await page.close();
}

/** A link shows the related row; its list leads back, and to the table. */
async function links(page) {
  await page.click(`${field('author')} .row-link`);
  await page.until(() => document.querySelector('.row-panel h2')?.textContent.includes('author 3'));
  await page.until(() => document.querySelectorAll('[data-property=book] li').length === 2);
  await page.click('[aria-label="Back to book 2"]');
  await page.until(() => document.querySelector('.row-panel h2')?.textContent.includes('book 2')
    && document.querySelector('[data-property=author] .row-link'));
  await page.click(`${field('author')} .row-link`);
  await page.until(() => document.querySelectorAll('[data-property=book] li').length === 2);
  await page.click(`${field('book')} .related-foot .text-button`);
  await page.until(() => globalThis.livefetch.page.view.where === 'author == 3' && document.querySelectorAll('.row').length === 2);
  await page.key('Escape');
}

/** The bar of a phone has no room for the file's name and the links: they are below the tables. */
async function drawerFoot(page, shoot) {
  await page.click('#open-model');
  await page.until(() => document.querySelector('#model.is-open') && document.getAnimations().length === 0);
  const { text, links } = await page.run(() => ({ text: document.querySelector('.drawer-foot p').textContent,
    links: [...document.querySelectorAll('.drawer-foot a')].map((link) => [link.textContent, link.pathname, link.getBoundingClientRect().height >= 44]) }));
  assert.match(text, /^demo\.sqlite · sqlite · version /);
  assert.deepEqual(links, [['Manual', '/docs/', true], ['OpenAPI', '/openapi.html', true]]);
  await shoot(page, 'drawer-phone');
  await page.run(() => document.querySelector('#veil').click());
}

async function rowOnPhone({ browser, server, shoot }) {
  for (const scheme of ['light', 'dark']) {
    const page = await openPage(browser, `${server.address}/?entity=book&sort=id`, { width: 390, height: 844, scheme, isTouch: true });
    await page.click('.row .cell');
    await page.until(() => document.querySelector('.row-panel [data-property=title] textarea'));
    assert.ok(await page.run(() => document.querySelector('.row-panel').getBoundingClientRect().width === 390));
    assert.ok(await page.run(() => document.documentElement.scrollWidth <= innerWidth));
    await editOnPhone(page, server, `Renamed in ${scheme}`);
    await page.click('.row-panel-actions button');
    await page.until(() => document.querySelector('.row-panel.is-removed'));
    await shoot(page, `row-panel-phone-${scheme}`);
    await page.click('[aria-label="Close the row"]');
    assert.equal(await page.run(() => document.querySelector('.row-panel').hidden), true);
    await drawerFoot(page, shoot);
    await page.close();
  }
}

/** Types another title, and saves it by the button. */
async function editOnPhone(page, server, title) {
  await page.click(`${field('title')} textarea`);
  await page.run(() => document.activeElement.select());
  await page.type(title);
  await page.run(() => document.activeElement.blur());
  await page.until(() => document.querySelector('#tray:not([hidden]) .primary'));
  await page.click('#tray .primary');
  await page.until(isSaved);
  assert.equal((await connect(server.address).object('book', 1)).object.title, title);
}

const long = `CREATE TABLE page (id INTEGER PRIMARY KEY, text TEXT); INSERT INTO page VALUES (1, '${'many words '.repeat(700)}');`;

async function longLabel({ browser, server, shoot }) {
  const page = await openPage(browser, `${server.address}/?entity=page`);
  await page.run(() => globalThis.livefetch.page.rowPanel.open('page', 1));
  await page.until(() => document.querySelector('.row-panel textarea'));
  assert.ok(await page.run(() => document.querySelector('.row-panel-name').offsetHeight) <= 40, 'two lines');
  await page.run(() => globalThis.livefetch.page.editing.staged.set('page', globalThis.livefetch.page.live.sections[0].items[0], 'text', 'short'));
  await page.click('.tray-line .text-button');
  await page.until(() => document.querySelector('.tray-list'));
  assert.ok(await page.run(() => document.querySelector('.tray').offsetHeight) < 300, 'the tray leaves room');
  await shoot(page, 'long-label');
  await page.close();
}

const veryLong = `CREATE TABLE page (id INTEGER PRIMARY KEY, text TEXT); INSERT INTO page VALUES (1, replace(hex(zeroblob(60000)), '0', 'a'));`;

/** A browser takes seconds for the layout of a text of megabytes. */
async function veryLongText({ browser, server }) {
  const page = await openPage(browser, `${server.address}/?entity=page`);
  await page.run(() => globalThis.livefetch.page.rowPanel.open('page', 1));
  await page.until(() => document.querySelector('[data-property=text] .row-text')?.textContent === `${'a'.repeat(1000)}…`);
  await page.click('[data-property=text] .row-link');
  await page.until(() => document.activeElement.matches('[data-property=text] textarea') && document.activeElement.value === 'a'.repeat(120_000));
  await page.type('b');
  await page.click('.grid');
  await page.until(() => globalThis.livefetch.page.editing.staged.count === 1);
  const [{ text }] = await page.run(stagedValues);
  assert.deepEqual([text.length, text.replaceAll('a', '')], [120_001, 'b']);
  await page.close();
}

const moments = `
  CREATE TABLE moment (id INTEGER PRIMARY KEY, at DATETIME);
  INSERT INTO moment VALUES (1, '2024-02-29T10:00:00.25Z'), (2, '2024-02-29T10:00:00.25Z'), (3, '+12024-02-29T10:00:00Z'), (4, NULL), (5, '-00012-02-29T10:00:00Z');`;

/** A picker shows what is in the field, and keeps the fraction of a second with the time that it belongs to. */
async function pickedTimes({ browser, server }) {
  const page = await openPage(browser, `${server.address}/?entity=moment`);
  const open = async (id) => {
    await page.run((row) => globalThis.livefetch.page.rowPanel.open('moment', row), id);
    await page.until((row) => globalThis.livefetch.page.rowPanel.shows('moment', row) && document.querySelector('.date-source'), { args: [id] });
  };
  const shown = () => document.querySelector('.date-source').value;
  const pick = async (text) => {
    await page.run((value) => {
      const source = document.querySelector('.date-source');
      source.focus();
      source.value = value;
      source.dispatchEvent(new Event('change'));
    }, text);
    await page.run(() => globalThis.livefetch.page.grid.element.focus());
    return (await page.run(stagedValues)).at(-1).at;
  };
  await open(1);
  assert.equal(await page.run(shown), '2024-02-29T10:00');
  assert.equal(await pick('2024-02-29T12:30'), '2024-02-29T12:30:00Z');
  await open(2);
  assert.equal(await pick('2024-03-01T10:00'), '2024-03-01T10:00:00.25Z');
  await open(3);
  assert.equal(await page.run(shown), '12024-02-29T10:00');
  assert.equal(await pick('12024-03-01T10:00'), '+12024-03-01T10:00:00Z');
  await open(5);
  assert.equal(await page.run(shown), '');
  await open(4);
  await page.click('[data-property=at] input');
  await page.type('2024-05-06T07:08:09.5Z');
  await page.run(() => document.querySelector('.date-source').focus());
  assert.equal(await page.run(shown), '2024-05-06T07:08:09', 'the picker shows what is typed');
  assert.equal(await pick('2024-05-07T07:08:09'), '2024-05-07T07:08:09.5Z');
  await page.close();
}

export const rowScenarios = {
  'a date picker shows what is in the field, and keeps the fraction of an unchanged time': { run: pickedTimes, fixture: moments },
  'a row with a long name has two lines of it as its title': { run: longLabel, fixture: long },
  'a very long text is shown by its beginning in the row panel, and edited whole': { run: veryLongText, fixture: veryLong },
  'a row is shown in full beside the table, and edited there': { run: rowInFull, fixture: library },
  'related rows are added, removed and followed in the row panel': { run: relatedRows, fixture: library },
  'a row is edited on a phone, and its deletion is staged': { run: rowOnPhone, fixture: library },
};
