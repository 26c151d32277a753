// Every JavaScript block of the README and the manual runs as it stands there, with what it leaves to the reader.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { connect } from '../../Public/livefetch.js';
import { open, openReact, shows, vue } from './frameworks-scenarios.mjs';
import { block, blocks } from './manual.mjs';
import { fromDebian } from './packages.mjs';

/** The page and the beginning of each block. */
const readme = ['README.md', "import { connect } from '/livefetch.js'"];
const offline = ['javascript.md', "const client = connect('', {\n  offline: true"];
const ownStorage = ['javascript.md', "connect('', { offline: indexedDBStorage("];
const react = ['javascript.md', "import { useLive } from 'livefetch/react'"];
const inVue = ['javascript.md', "import { useLive } from 'livefetch/vue'"];
const svelte = ['javascript.md', 'import { liveStore }'];
const solid = ['javascript.md', 'import { createLive }'];
const target = ['javascript.md', 'import { LiveTarget }'];
/** Those that other scenarios run. */
const elsewhere = [['javascript.md', "import { connect } from 'livefetch'"], ['javascript.md', 'export function liveList']];

/** What the blocks show: the first items of a result. */
const show = `const show = (items) => document.querySelector('#root').replaceChildren(...items.slice(0, 20)
  .map(({ name }) => Object.assign(document.createElement('li'), { textContent: name })));\n`;

/** The modules of the package under their names. */
const library = ({ server }) => Object.fromEntries(['', '/react', '/vue', '/svelte', '/solid', '/event-target'].map((name) =>
  [`livefetch${name}`, `export * from '${server.address}/livefetch${name}.js';`]));

/** Runs a module whose addresses are those of the page. */
const module = (page, text) => page.run((code) => {
  document.head.append(Object.assign(document.createElement('script'), { type: 'module', textContent: code }));
}, text);

/** Runs a block of a framework in a page of its own; `code` shows its result in what is given. */
async function framework(context, [name, start], code, { modules = {}, fetched }) {
  const page = await open(context, { ...library(context), ...modules });
  const [, imports, body] = /^(import [^\n]*\n)\n([^]*)$/.exec(block(name, start));
  await module(page, `${imports}const { client } = globalThis;\n${show}${code(body)}`);
  await shows(page, context.server, { entity: 'City', limit: 20, ...fetched }, start);
  await page.close();
}

async function all(context) {
  const listed = [readme, offline, ownStorage, react, inVue, svelte, solid, target, ...elsewhere];
  for (const { page, text } of blocks()) {
    assert.equal(listed.filter(([name, start]) => page === name && text.startsWith(start)).length, 1, `${page} runs: ${text}`);
  }
  assert.equal(blocks().length, listed.length);

  await framework(context, inVue, (body) => `import { createApp, h, shallowRef } from 'vue';
    const sort = shallowRef('-population');
    createApp({ setup() {
      ${body}
      return () => h('ul', data.value?.sections[0].items.slice(0, 20).map(({ id, name }) => h('li', { key: id }, name)));
    } }).mount('#root');`, { modules: { vue: vue() }, fetched: { sort: '-population' } });
  await framework(context, svelte, (body) => `${body}
    cities.subscribe(({ data }) => show(data?.sections[0].items ?? []));`, { fetched: { sort: 'name' } });
  // No package of Debian or PyPI has Solid: this is what the adapter uses of it, without tracking.
  const reactivity = `export const createSignal = (value) => [() => value, (next) => { value = next(value); }];
    export const [createEffect, untrack] = [(run) => run(), (read) => read()];
    export const onCleanup = () => {};`;
  await framework(context, solid, (body) => `const sort = () => '-population';\n${body}
    setInterval(() => show(cities.data?.sections[0].items ?? []), 50);`,
  { modules: { 'solid-js': reactivity }, fetched: { sort: '-population' } });
  const list = block('javascript.md', 'export function liveList').replace('export ', '');
  await framework(context, target, (body) => `document.querySelector('#root').append(document.createElement('ul'));\n${list}${body}
    cities.addEventListener('change', () => { document.querySelectorAll('li:nth-child(n+21)').forEach((row) => row.remove()); });`,
  { fetched: { sort: 'name' } });
}

async function ofReadme({ browser, server }) {
  const page = await open({ browser, server });
  await module(page, `const draw = (sections) => { globalThis.drawn = sections.map(({ name }) => name); };\n${block(...readme)}`);
  await page.until(() => globalThis.drawn?.length > 0, { what: 'the sections are drawn' });
  const { sections } = await connect(server.address).fetch(
    { entity: 'City', where: 'population >= 1000000', section: 'country.name', as: 'ids' });
  assert.deepEqual(await page.run(() => globalThis.drawn), sections.map(({ name }) => name));
  await page.close();
}

async function component(context) {
  const compiler = fromDebian('typescript/lib/typescript.js');
  const page = compiler && await openReact(context, library(context));
  if (!page) return 'React or TypeScript is not installed';
  const { JsxEmit, ModuleKind, ScriptTarget, transpile } = createRequire(import.meta.url)(compiler);
  const text = transpile(block(...react), { jsx: JsxEmit.React, module: ModuleKind.ESNext, target: ScriptTarget.ES2022 });
  const render = (sort) => module(page, `${text}
    globalThis.root.render(React.createElement(Cities, { client: globalThis.client, sort: '${sort}' }));`);
  await render('-population');
  await shows(page, context.server, { entity: 'City', sort: '-population', limit: 100 }, 'the list shows the result');
  assert.equal(await page.run(() => document.querySelector('#root ul').className), 'live');
  await render('size');
  await page.until(() => /size/.test(document.querySelector('#root p')?.textContent ?? ''), { what: 'the refusal is shown' });
  await page.close();
  return 'compiled from JSX';
}

/** A page without a network saves, and shows how much waits and what was refused. */
async function kept(context) {
  const page = await open(context);
  const blocked = (urls) => page.send('Network.setBlockedURLs', { urls });
  await page.send('Network.enable');
  await blocked(['*/v1*']);
  await module(page, `import { connect } from '/livefetch.js';
    const [badge, note] = ['badge', 'note'].map((id) => Object.assign(document.createElement('p'), { id }));
    document.querySelector('#root').append(badge, note);\n${block(...offline)}
    globalThis.refused = client.insert('Note', { text: '' }).catch(({ code }) => code);`);
  await page.until(() => document.querySelector('#badge')?.textContent === '2 to send', { what: 'the badge counts the saves' });
  await blocked([]);
  await page.until(() => document.querySelector('#badge').textContent === '', { what: 'everything is sent' });
  await page.until(() => document.querySelector('#note').textContent !== '', { what: 'the refusal is shown' });
  assert.equal(await page.run(() => globalThis.refused), 'validation-failed');
  const { sections } = await connect(context.server.address).fetch({ entity: 'Note', select: 'text' });
  assert.deepEqual(sections[0].items.map(({ text }) => text), ['written in a tunnel']);

  await module(page, `import { connect, indexedDBStorage } from '/livefetch.js';
    const [user, token] = ['ann', 'secret'];
    globalThis.own = ${block(...ownStorage)}`);
  await page.until(() => globalThis.own !== undefined);
  assert.equal(await page.run(async () => (await globalThis.own.fetch({ entity: 'Note', as: 'count' })).total), 1);
  await page.run(() => { globalThis.own.live({ entity: 'Note' }); });
  await page.until(async () => (await indexedDB.databases()).some(({ name }) => name.includes('notes of ann')),
    { what: 'the storage has the name' });
  await page.close();
}

export const manualScenarios = {
  'the README’s JavaScript runs in a page': { run: ofReadme },
  'every JavaScript block of the manual runs: Vue, Svelte, Solid, EventTarget': { run: all },
  'the manual’s component runs in React': { run: component, writesToConsole: true },
  'the manual’s page without a network keeps its saves': { run: kept, writesToConsole: true,
    fixture: "CREATE TABLE Note(id INTEGER PRIMARY KEY, text TEXT NOT NULL CHECK (text <> ''))" },
};
