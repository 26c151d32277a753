// The adapters of the package in the real frameworks: React of Debian, Vue and Svelte of packages on PyPI.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { connect } from '../../Public/livefetch.js';
import { pause } from './browser.mjs';
import { block } from './manual.mjs';
import { fromDebian, fromPyPI } from './packages.mjs';

const request = { entity: 'City', where: 'population > 15000000', sort: '-population' };
const byName = { ...request, sort: 'name' };

/** A document of the server with a client whose live fetches are counted, and modules by their names. */
export async function open({ browser, server }, modules = {}) {
  const page = await browser.open();
  // The server's policy allows no import map within a page.
  await page.send('Page.setBypassCSP', { enabled: true });
  await page.go(`${server.address}/explorer/style.css`);
  await page.run(async (texts) => {
    const url = (text) => URL.createObjectURL(new Blob([text], { type: 'text/javascript' }));
    const imports = Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, url(text)]));
    const map = Object.assign(document.createElement('script'), { type: 'importmap', textContent: JSON.stringify({ imports }) });
    document.head.append(map);
    document.body.innerHTML = '<div id="root"></div>';
    const { connect } = await import('/livefetch.js');
    globalThis.client = connect('');
    globalThis.lives = [];
    const live = globalThis.client.live.bind(globalThis.client);
    globalThis.client.live = (...args) => {
      globalThis.lives.push(live(...args));
      return globalThis.lives.at(-1);
    };
  }, modules);
  return page;
}

const names = (page) => page.run(() => [...document.querySelectorAll('#root li')].map(({ textContent }) => textContent));
const closed = () => globalThis.lives.map(({ isClosed }) => isClosed);

export async function shows(page, server, fetched, what) {
  const read = async () => (await connect(server.address).fetch(fetched)).sections[0].items.map(({ name }) => name);
  const wanted = JSON.stringify(await read());
  await page.until((text) => JSON.stringify([...document.querySelectorAll('#root li')]
    .map(({ textContent }) => textContent)) === text, { args: [wanted], what: `${what}: ${wanted}, not ${await names(page)}` });
}

/** Every adapter follows, keeps rows while another request connects, and ends. */
async function follows(page, server, { unmount }) {
  await shows(page, server, request, 'the list shows the result');
  await connect(server.address).update('City', 2643743, { population: 16_000_000 });
  await shows(page, server, request, 'the list follows');
  await page.run((other) => { globalThis.seen.length = 0; globalThis.choose(other); }, byName);
  await shows(page, server, byName, 'the list shows another request');
  const seen = await page.run(() => globalThis.seen);
  assert.ok(seen.every(({ count }) => count > 0), `no empty list between requests: ${JSON.stringify(seen)}`);
  assert.deepEqual([seen[0].state, seen.at(-1).state], ['connecting', 'live']);
  await page.run(unmount);
  await page.until(() => globalThis.lives.every(({ isClosed }) => isClosed), { what: 'no live fetch is left' });
}

// MARK: React

const react = ['react/umd/react.development.js', 'react-dom/umd/react-dom.development.js'];
const reactModule = 'export const { useEffect, useMemo, useRef, useSyncExternalStore } = globalThis.React;';

export async function openReact(context, modules = {}) {
  const files = react.map(fromDebian);
  if (files.includes(null)) return null;
  const page = await open(context, { react: reactModule, ...modules });
  for (const file of files) await page.send('Runtime.evaluate', { expression: readFileSync(file, 'utf8') });
  await page.run(async () => {
    const { createElement: element, Component } = globalThis.React;
    const { useLive } = await import('/livefetch/react.js');
    globalThis.seen = [];
    /** Shows the cities of a request. */
    globalThis.Cities = ({ request: wanted, suspense }) => {
      const { data, state, error } = useLive(globalThis.client, wanted, { suspense });
      globalThis.seen.push({ count: data?.count ?? 0, state });
      if (error) return element('p', null, `${state}: ${error.code}`);
      return element('ul', null, data?.sections[0]?.items.map(({ id, name }) => element('li', { key: id }, name)));
    };
    globalThis.Boundary = class extends Component {
      state = {};
      static getDerivedStateFromError(error) { return { error }; }
      render() { return this.state.error ? element('p', null, `caught: ${this.state.error.code}`) : this.props.children; }
    };
    globalThis.root = globalThis.ReactDOM.createRoot(document.querySelector('#root'));
  });
  return page;
}

async function inReact(context) {
  const page = await openReact(context);
  if (!page) return 'React is not installed';
  await page.run((first) => {
    const { createElement: element, StrictMode, useState } = globalThis.React;
    const Page = () => {
      const [wanted, choose] = useState(first);
      globalThis.choose = choose;
      return element(globalThis.Cities, { request: wanted });
    };
    globalThis.root.render(element(StrictMode, null, element(Page)));
  }, request);
  await page.until(() => document.querySelector('#root li') !== null);
  assert.deepEqual(await page.run(closed), [false], 'the second mount of StrictMode asks nothing');
  await follows(page, context.server, { unmount: () => globalThis.root.unmount() });
  assert.deepEqual(await page.run(closed), [true, true]);
  assert.deepEqual(page.problems.filter((text) => !text.includes('React DevTools')), []);
  await page.close();
  return 'StrictMode';
}

async function suspended(context) {
  const page = await openReact(context);
  if (!page) return 'React is not installed';
  const render = (wanted) => page.run((each) => {
    const { createElement: element, StrictMode, Suspense } = globalThis.React;
    const { Boundary, Cities } = globalThis;
    globalThis.root.render(element(StrictMode, null, element(Boundary, { key: each.entity }, element(Suspense,
      { fallback: element('p', null, 'waits') }, element(Cities, { request: each, suspense: true })))));
  }, wanted);
  await page.send('Network.enable');
  await page.send('Network.setBlockedURLs', { urls: ['*/v1*'] });
  await render(request);
  await page.until(() => document.querySelector('#root').textContent === 'waits');
  await pause(500);
  assert.ok(await page.run(() => globalThis.seen.length) < 10, 'it waits without rendering again');
  await page.send('Network.setBlockedURLs', { urls: [] });
  await page.until(() => document.querySelectorAll('#root li').length > 0);
  await shows(page, context.server, request, 'the list shows the result');
  assert.equal(await page.run(() => globalThis.lives.length), 1, 'one live fetch for all attempts');
  await render({ entity: 'Ctiy' });
  await page.until(() => document.querySelector('#root').textContent === 'caught: unknown-entity');
  assert.ok(page.problems.some((text) => /^livefetch: .*unknown-entity/.test(text)), page.problems.join('\n'));
  await page.close();
}

// MARK: Vue

export const vue = () => readFileSync(fromPyPI('nicegui==3.18.0', 'nicegui/static/vue.esm-browser.prod.js'), 'utf8');

async function inVue(context) {
  const page = await open(context, { vue: vue() });
  await page.run(async (first) => {
    const { createApp, h, shallowRef } = await import('vue');
    const { useLive } = await import('/livefetch/vue.js');
    globalThis.seen = [];
    globalThis.app = createApp({ setup() {
      const wanted = shallowRef(first);
      globalThis.choose = (other) => { wanted.value = other; };
      const { data, state, error } = useLive(globalThis.client, wanted);
      return () => {
        globalThis.seen.push({ count: data.value?.count ?? 0, state: state.value });
        return h('ul', error.value ? error.value.code
          : data.value?.sections[0]?.items.map(({ id, name }) => h('li', { key: id }, name)));
      };
    } });
    globalThis.app.mount('#root');
  }, request);
  await follows(page, context.server, { unmount: () => globalThis.app.unmount() });
  await page.close();
}

// MARK: Svelte

const svelte = () => readFileSync(fromPyPI('gradio==4.44.1',
  'gradio/templates/frontend/assets/svelte/svelte-submodules.js'), 'utf8');

/** The store of the adapter between stores of Svelte: the request is one, and one is derived from it. */
async function inSvelte(context) {
  const page = await open(context, { 'svelte/store': svelte() });
  await page.run(async (first) => {
    const { derived, writable } = await import('svelte/store');
    const { liveStore } = await import('/livefetch/svelte.js');
    globalThis.seen = [];
    const wanted = writable(first);
    globalThis.choose = (other) => wanted.set(other);
    const list = derived(liveStore(globalThis.client, wanted), ({ data, state }) => {
      globalThis.seen.push({ count: data?.count ?? 0, state });
      return data?.sections[0]?.items.map(({ name }) => name) ?? [];
    });
    globalThis.stop = list.subscribe((all) => document.querySelector('#root').replaceChildren(
      ...all.map((name) => Object.assign(document.createElement('li'), { textContent: name }))));
  }, request);
  await follows(page, context.server, { unmount: () => globalThis.stop() });
  await page.close();
}

// MARK: No framework

async function withoutFramework(context) {
  const page = await open(context, { list: block('javascript.md', 'export function liveList') });
  await page.run(async (first) => {
    const { LiveTarget } = await import('/livefetch/event-target.js');
    const { liveList } = await import('list');
    globalThis.seen = [];
    globalThis.target = new LiveTarget(globalThis.client, first);
    globalThis.choose = (other) => { globalThis.target.request = other; };
    const list = document.createElement('ul');
    document.querySelector('#root').append(list);
    globalThis.target.addEventListener('change', () => {
      globalThis.seen.push({ count: globalThis.target.data?.count ?? 0, state: globalThis.target.state });
    });
    liveList(globalThis.target, list, (row, { name }) => { row.textContent = name; });
  }, request);
  await follows(page, context.server, { unmount: () => globalThis.target.close() });
  await page.close();
}

// React's development build writes to the console.
export const frameworksScenarios = {
  'React: a hook follows a fetch, in StrictMode, without an empty list between requests': { run: inReact, writesToConsole: true },
  'React: a component suspends until the first result, a refusal goes to the boundary': { run: suspended, writesToConsole: true },
  'Vue: refs follow a fetch': { run: inVue },
  'Svelte: a store follows a fetch': { run: inSvelte },
  'EventTarget: a list of the document follows a fetch': { run: withoutFramework },
};
