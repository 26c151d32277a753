// Headless Chromium over the DevTools protocol, by a pipe: no packages, no open port.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const flags = ['--headless=new', '--remote-debugging-pipe', '--no-sandbox', '--disable-gpu',
  '--no-first-run', '--disable-extensions', '--disable-background-networking', '--mute-audio',
  '--disable-background-timer-throttling', '--disable-renderer-backgrounding',
  '--disable-backgrounding-occluded-windows', '--hide-scrollbars', '--force-color-profile=srgb'];

/** How long a condition is waited for, in milliseconds: a machine may be busy. */
export const LONGEST = 60_000;

/** Chromium's program: the environment's, else Debian's. */
const program = process.env.CHROMIUM ?? 'chromium';

export class Browser {
  #process;
  #profile;
  #next = 1;
  #waiting = new Map();
  #pages = new Map();
  #rest = '';

  static async start() {
    const browser = new Browser();
    browser.#profile = await mkdtemp(join(tmpdir(), 'livefetch-browser-'));
    browser.#process = spawn(program, [...flags, `--user-data-dir=${browser.#profile}`, 'about:blank'],
      { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
    browser.#process.stdio[4].on('data', (data) => browser.#read(data));
    browser.#process.on('error', (error) => browser.#failAll(error));
    process.once('exit', () => {
      browser.#process.kill('SIGKILL');
      rmSync(browser.#profile, { recursive: true, force: true, maxRetries: 5 });
    });
    browser.#process.on('exit', () => browser.#failAll(new Error('the browser ended')));
    await browser.send('Target.setDiscoverTargets', { discover: false });
    return browser;
  }

  /** Sends a command; resolves to its result. */
  send(method, params = {}, sessionId) {
    const id = this.#next;
    this.#next += 1;
    this.#process.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject, method }));
  }

  /** Opens a page in a window of its own. */
  async open(url, { width = 1440, height = 900, scheme = 'light', isTouch = false } = {}) {
    const { targetId } = await this.send('Target.createTarget', { url: 'about:blank', newWindow: true });
    const { sessionId } = await this.send('Target.attachToTarget', { targetId, flatten: true });
    const page = new Page(this, sessionId, targetId);
    this.#pages.set(sessionId, page);
    await page.send('Page.enable');
    await page.send('Runtime.enable');
    await page.send('Log.enable');
    await page.size(width, height, isTouch);
    await page.scheme(scheme);
    if (url) await page.go(url);
    return page;
  }

  /** Closes all pages; resolves to the lines that they have written to their consoles. */
  async closePages() {
    const pages = [...this.#pages.values()];
    for (const page of pages) {
      page.agrees = true;
      await page.close().catch(() => {});
      for (let tries = 0; tries < 250 && await page.isOpen(); tries += 1) await pause(20);
    }
    this.#pages.clear();
    return pages.flatMap(({ problems }) => problems);
  }

  async end() {
    const ended = new Promise((resolve) => this.#process.once('exit', resolve));
    this.send('Browser.close').catch(() => {});
    setTimeout(() => this.#process.kill('SIGKILL'), 3000).unref();
    await ended;
    await rm(this.#profile, { recursive: true, force: true, maxRetries: 5 });
  }

  #read(data) {
    const messages = (this.#rest + data).split('\0');
    this.#rest = messages.pop();
    for (const message of messages) this.#take(JSON.parse(message));
  }

  #take({ id, result, error, method, params, sessionId }) {
    if (id === undefined) return this.#pages.get(sessionId)?.take(method, params);
    const { resolve, reject, method: sent } = this.#waiting.get(id);
    this.#waiting.delete(id);
    return error ? reject(new Error(`${sent}: ${error.message}`)) : resolve(result);
  }

  #failAll(error) {
    this.#waiting.forEach(({ reject }) => reject(error));
    this.#waiting.clear();
  }
}

export class Page {
  /** Everything on the page's console, but for requests that were refused. */
  problems = [];
  /** The kinds of the browser's own dialogs that were opened; each is answered by `agrees`. */
  questions = [];
  agrees = true;
  #browser;
  #session;
  #target;
  #loaded = () => {};

  constructor(browser, session, target) {
    this.#browser = browser;
    this.#session = session;
    this.#target = target;
  }

  send(method, params) {
    return this.#browser.send(method, params, this.#session);
  }

  take(method, params) {
    if (method === 'Page.loadEventFired') this.#loaded();
    if (method === 'Page.javascriptDialogOpening') {
      this.questions.push(params.type);
      this.send('Page.handleJavaScriptDialog', { accept: this.agrees });
    }
    if (method === 'Runtime.exceptionThrown') {
      const { text, exception } = params.exceptionDetails;
      this.problems.push(exception?.description ?? text);
    }
    if (method === 'Runtime.consoleAPICalled') {
      this.problems.push(params.args.map(({ value, description }) => value ?? description).join(' '));
    }
    if (method === 'Log.entryAdded' && params.entry.source !== 'network') {
      this.problems.push(params.entry.text);
    }
  }

  async go(url) {
    const loaded = new Promise((resolve) => { this.#loaded = resolve; });
    const { errorText } = await this.send('Page.navigate', { url });
    if (errorText) throw new Error(`${url} is not loaded: ${errorText}`);
    await loaded;
  }

  /** Loads the page again; `agrees` answers its question, if it has one. */
  async reload() {
    const loaded = new Promise((resolve) => { this.#loaded = resolve; });
    await this.send('Page.reload');
    await loaded;
  }

  size(width, height, isTouch = false) {
    return this.send('Emulation.setDeviceMetricsOverride',
      { width, height, deviceScaleFactor: 1, mobile: isTouch });
  }

  scheme(value, features = []) {
    return this.send('Emulation.setEmulatedMedia',
      { features: [{ name: 'prefers-color-scheme', value }, ...features] });
  }

  /** Runs a function in the page with JSON arguments; resolves to its result. */
  async run(code, ...args) {
    const expression = `(${code})(...${JSON.stringify(args)})`;
    const { result, exceptionDetails } = await this.send('Runtime.evaluate',
      { expression, awaitPromise: true, returnByValue: true });
    if (exceptionDetails) {
      throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    }
    return result.value;
  }

  /** Waits until a function in the page, or in the page that it navigates to, returns a truthy value. */
  async until(code, { timeout = LONGEST, args = [], what = String(code) } = {}) {
    const end = Date.now() + timeout;
    for (;;) {
      const value = await this.run(code, ...args).catch((error) => {
        if (!/target navigated|execution context/i.test(error.message)) throw error;
      });
      if (value) return value;
      if (Date.now() > end) throw new Error(`after ${timeout} ms still not: ${what}`);
      await pause(50);
    }
  }

  async key(key, { ctrl = false, shift = false, alt = false, text } = {}) {
    const params = { key, code: key.length === 1 ? `Key${key.toUpperCase()}` : key,
      modifiers: (alt ? 1 : 0) | (ctrl ? 2 : 0) | (shift ? 8 : 0), windowsVirtualKeyCode: codes[key] ?? key.toUpperCase().charCodeAt(0),
      text: text ?? (key.length === 1 && !ctrl && !alt ? key : key === 'Enter' ? '\r' : undefined) };
    await this.send('Input.dispatchKeyEvent', { type: 'keyDown', ...params });
    await this.send('Input.dispatchKeyEvent', { type: 'keyUp', ...params });
  }

  type(text) {
    return this.send('Input.insertText', { text });
  }

  /** Presses the middle of the first element that a selector finds. */
  async click(selector, { count = 1 } = {}) {
    const place = await this.run((wanted) => {
      const element = document.querySelector(wanted);
      element?.scrollIntoViewIfNeeded?.();
      const box = element?.getBoundingClientRect();
      return box && { x: box.x + box.width / 2, y: box.y + box.height / 2 };
    }, selector);
    if (!place) throw new Error(`there is no ${selector}`);
    for (let clickCount = 1; clickCount <= count; clickCount += 1) {
      const mouse = { ...place, button: 'left', clickCount };
      await this.send('Input.dispatchMouseEvent', { type: 'mousePressed', ...mouse });
      await this.send('Input.dispatchMouseEvent', { type: 'mouseReleased', ...mouse });
    }
  }

  async screenshot() {
    const { data } = await this.send('Page.captureScreenshot', { format: 'png' });
    return Buffer.from(data, 'base64');
  }

  async isOpen() {
    const { targetInfos } = await this.#browser.send('Target.getTargets');
    return targetInfos.some(({ targetId }) => targetId === this.#target);
  }

  close() {
    return this.#browser.send('Target.closeTarget', { targetId: this.#target });
  }
}

const codes = { Enter: 13, Escape: 27, Tab: 9, Backspace: 8, ArrowDown: 40, ArrowUp: 38, ArrowLeft: 37,
  ArrowRight: 39, Delete: 46, Home: 36, End: 35, ' ': 32 };

/** Waits until what a function reads is `wanted`. */
export async function eventually(read, wanted, what) {
  const end = Date.now() + LONGEST;
  for (;;) {
    const value = await read();
    if (JSON.stringify(value) === JSON.stringify(wanted)) return;
    if (Date.now() > end) assert.deepEqual(value, wanted, what);
    await pause(50);
  }
}

export const pause = (time) => new Promise((resolve) => setTimeout(resolve, time));
