// The API panel and the rendered OpenAPI document.

import assert from 'node:assert/strict';
import { openPage } from './pages.mjs';
import { library } from './row-scenarios.mjs';

const plan = () => [...document.querySelectorAll('.part')].find((part) => part.querySelector('h2').textContent === 'Query plan');
const planText = (read) => `(() => (${read})((${plan})()))()`;

async function explained({ browser, server, shoot }) {
  const page = await openPage(browser, `${server.address}/?entity=book&sort=title&where=title+%3D%3D+'x'`, { width: 1920, height: 1080 });
  await page.run(`() => (${plan})().querySelector('button').click()`);
  await page.until(planText((part) => part.querySelector('.plan li') !== null).replace(/^/, '() => '));
  const text = await page.run(`() => ${planText((part) => part.textContent)}`);
  assert.match(text, /SELECT/);
  assert.match(text, /CREATE INDEX "book_title" ON "book"\("title"\)/);
  await shoot(page, 'explain');
  await languages(page);
  await page.close();
}

async function languages(page) {
  const choose = (name) => {
    const select = document.querySelector('[aria-label=Language]');
    select.value = name;
    select.dispatchEvent(new Event('change'));
    return document.querySelector('.inspector .code').textContent;
  };
  const origin = await page.run(() => location.origin);
  assert.equal(await page.run(choose, 'javascript'), `import { connect } from '${origin}/livefetch.js';

const client = connect('${origin}');
client.live({ entity: 'book',
  where: 'title == \\'x\\'',
  sort: ['title'],
  limit: 5000,
  expand: ['author'],
  count: 'exact' }, {
  onChange: ({ sections }) => console.log(sections) });
`);
  assert.match(await page.run(choose, 'swift'), /FetchRequest<book>\(\n  where: FetchPredicate\("title == 'x'"\),\n  sortedBy: \[\.ascending\("title"\)\]\)/);
}

async function notExplained({ browser, server }) {
  const page = await openPage(browser, `${server.address}/?entity=book`);
  await page.run(`() => (${plan})().querySelector('button').click()`);
  await page.until(`() => ${planText((part) => part.textContent.includes('started without --explain'))}`);
  await page.close();
}

async function openAPI({ browser, server, shoot }) {
  for (const [width, scheme] of [[1920, 'light'], [390, 'dark']]) {
    const page = await browser.open(`${server.address}/openapi.html#get--v1-objects-book`, { width, height: 900, scheme });
    await page.until(() => document.querySelectorAll('.operation').length > 20);
    await page.until(() => document.querySelector('.operation[open] td') !== null, { what: 'the operation of the address is open' });
    const text = await page.run(() => document.querySelector('.operation[open]').textContent);
    assert.match(text, /GET\/v1\/objects\/book/);
    assert.match(text, /where/);
    await page.run(() => { document.querySelector('[id="post--v1-save"]').open = true; });
    await page.until(() => document.querySelector('[id="post--v1-save"] pre'));
    await shoot(page, `openapi-${scheme}`);
    assert.deepEqual(await page.run(() => performance.getEntriesByType('resource').map(({ name }) => new URL(name).origin)
      .filter((origin) => origin !== location.origin)), [], 'nothing is fetched from elsewhere');
    assert.ok(await page.run(() => document.documentElement.scrollWidth <= innerWidth));
    await page.close();
  }
}

/** The policy that the server itself sends with its pages, under which the other scenarios run. */
async function ownPolicy({ server }) {
  for (const path of ['/', '/todo.html', '/openapi.html', '/docs/']) {
    const { headers } = await fetch(server.address + path);
    const directives = headers.get('Content-Security-Policy').split(/;\s*/);
    for (const wanted of ["default-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"]) {
      assert.ok(directives.includes(wanted), `${path} has ${wanted}`);
    }
    assert.ok(directives.every((directive) => !/unsafe|\*|https?:/.test(directive)), `${path}: ${directives}`);
  }
}

export const apiScenarios = {
  'the server sends its pages with a strict policy': { run: ownPolicy },
  'a query plan with an index hint, and the request in three languages': { run: explained, fixture: library, options: ['--explain'] },
  'a server without --explain says so': { run: notExplained, fixture: library },
  'the OpenAPI document is rendered without external fetches': { run: openAPI, fixture: library },
};
