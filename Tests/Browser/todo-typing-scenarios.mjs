// The to-do page while somebody types: nothing that the server sends takes the text or the focus.

import assert from 'node:assert/strict';
import { eventually } from './browser.mjs';

const field = '#list li:nth-child(1) .text';
const isLive = () => document.querySelectorAll('#list li').length === 3 && document.querySelector('#connection').dataset.state === 'live';
const titles = () => [...document.querySelectorAll('#list .text')].map(({ value }) => value);
const typed = () => document.activeElement.value;

/** A page whose saves reach the server when `window.release()` is called. */
async function openHeld(browser, server) {
  const page = await browser.open();
  const source = `const request = window.fetch;
    const released = new Promise((resolve) => { window.release = resolve; });
    window.fetch = async (url, ...rest) => {
      if (String(url).endsWith('/v1/save')) await released;
      return request(url, ...rest);
    };`;
  await page.send('Page.addScriptToEvaluateOnNewDocument', { source });
  await page.go(`${server.address}/todo.html`);
  await page.until(isLive);
  return page;
}

/** Text that is typed into a new entry is kept when the answer of its insert arrives, and saved. */
async function typedIntoNew({ browser, server }) {
  const page = await openHeld(browser, server);
  await page.click('#new');
  await page.type('Sharpen');
  await page.key('Enter');
  await page.until(() => document.querySelectorAll('#list li.is-pending').length === 1);
  await page.click(field);
  await page.key('End');
  await page.type(' the saw');
  await page.run(() => window.release());
  await page.until(() => document.querySelectorAll('#list li').length === 4 && !document.querySelector('#list .is-pending'));
  assert.equal(await page.run(typed), 'Sharpen the saw');
  await page.key('Enter');
  const other = await browser.open(`${server.address}/todo.html`);
  await other.until(() => [...document.querySelectorAll('#list .text')].some(({ value }) => value === 'Sharpen the saw'));
  assert.equal((await other.run(titles)).length, 4);
  await Promise.all([page, other].map((each) => each.close()));
}

/** The row that is typed in goes to another place: the others are moved around it. */
async function typedWhileMoved({ browser, server }) {
  const page = await browser.open(`${server.address}/todo.html`);
  await page.until(isLive);
  const last = '#list li:nth-child(3) .text';
  await page.click(last);
  const before = await page.run(typed);
  await page.key('End');
  await page.type(' now');
  const id = await page.run(() => Number(document.activeElement.parentNode.dataset.id));
  const headers = { 'Content-Type': 'application/json' };
  for (const [where, done] of [[`SELF != ${id}`, true], [`SELF == ${id}`, false]]) {
    const url = `${server.address}/v1/objects/Item?where=${encodeURIComponent(where)}`;
    assert.equal((await fetch(url, { method: 'PATCH', headers, body: JSON.stringify({ done }) })).status, 200);
  }
  await page.until(() => document.activeElement === document.querySelector('#list li:nth-child(1) .text'));
  assert.equal(await page.run(typed), `${before} now`);
  await page.key('Enter');
  const stored = async () => JSON.stringify(await (await fetch(`${server.address}/v1/objects/Item/${id}`)).json());
  await eventually(async () => (await stored()).includes(`"${before} now"`), true, 'the text is saved');
  assert.equal(await page.run(() => document.querySelector('#list .text').value), `${before} now`);
  await page.close();
}

export const todoTypingScenarios = {
  'text that is typed into a new entry of the to-do list is kept when it gets its id': { run: typedIntoNew, options: ['todo'] },
  'text that is typed into an entry of the to-do list is kept when the entry moves': { run: typedWhileMoved, options: ['todo'] },
};
