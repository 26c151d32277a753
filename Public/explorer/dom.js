// Elements by function calls. Attributes only: no markup as text, no inline styles, so that the
// page holds under `Content-Security-Policy: default-src 'self'`.

const SVG = 'http://www.w3.org/2000/svg';
const svgTags = new Set(['svg', 'path', 'rect', 'circle', 'line', 'polyline', 'g', 'text', 'svg:title']);

/**
 * Returns an element. Properties that begin with `on` are listeners, the others attributes. Children are nodes or
 * texts; nested lists of them are flattened. Properties and children that are null or false are left out.
 */
export function h(tag, properties = {}, ...children) {
  const element = svgTags.has(tag) ? document.createElementNS(SVG, tag.replace('svg:', ''))
    : document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) set(element, name, value);
  element.append(...children.flat(3).filter((child) => child != null && child !== false));
  return element;
}

function set(element, name, value) {
  if (value == null || value === false) return;
  if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
  else if (name === 'dataset') Object.assign(element.dataset, value);
  else if (['value', 'checked', 'disabled', 'selected'].includes(name)) element[name] = value;
  else element.setAttribute(name, value === true ? '' : value);
}

/** Replaces the children of an element. The focus returns to the control with the same label, or in the same place. */
export function replace(parent, ...children) {
  const focused = document.activeElement;
  const place = focused && focused !== parent && parent.contains(focused) ? placeOf(focused, parent) : null;
  parent.replaceChildren(...children.flat(3).filter((child) => child != null && child !== false));
  if (place && !focused.isConnected) focusAt(parent, place);
}

const labelOf = (element) => element.getAttribute('aria-label') ?? (element.getAttribute('name') || element.textContent);

/** The place of a control: its kind, its label, and the indexes that lead to it. */
function placeOf(element, parent) {
  const path = [];
  for (let node = element; node !== parent; node = node.parentElement) path.unshift([...node.parentElement.children].indexOf(node));
  return { kind: element.localName, label: labelOf(element), path };
}

function focusAt(parent, { kind, label, path }) {
  const same = [...parent.querySelectorAll(kind)].find((element) => labelOf(element) === label);
  const there = path.reduce((node, index) => node?.children[index], parent);
  (same ?? (there?.localName === kind ? there : null))?.focus({ preventScroll: true });
}

/** Returns the nodes of a sentence of the server. Parts in backticks become `code` elements. */
export function sentence(text) {
  return text.split(/`([^`]*)`/).map((part, index) => (index % 2 === 1 ? h('code', {}, part) : part));
}

/** The widest window of a phone, in pixels. */
export const PHONE = 760;

export const isPhone = () => innerWidth <= PHONE;

export const prefersReducedMotion = () => matchMedia('(prefers-reduced-motion: reduce)').matches;

/** Calls `run` at once and then at most every `interval` milliseconds. The last call is never lost. */
export function throttle(run, interval) {
  let last = -Infinity;
  let timer = null;
  const now = () => {
    timer = null;
    last = performance.now();
    run();
  };
  return () => {
    const rest = last + interval - performance.now();
    if (rest <= 0) now();
    else timer ??= setTimeout(now, rest);
  };
}

/**
 * Calls `run` when nothing has called it for `delay` milliseconds. `cancel()` forgets a waiting call,
 * `flush()` makes it now, `isWaiting()` is true while there is one.
 */
export function debounce(run, delay) {
  let timer;
  let waiting = null;
  const flush = () => {
    const call = waiting;
    later.cancel();
    call?.();
  };
  const later = (...args) => {
    clearTimeout(timer);
    waiting = () => run(...args);
    timer = setTimeout(flush, delay);
  };
  later.cancel = () => {
    clearTimeout(timer);
    waiting = null;
  };
  later.flush = flush;
  later.isWaiting = () => waiting !== null;
  return later;
}

/** Copies a text. Afterwards a button says for a while whether the browser has allowed it. */
export async function copyText(text, button) {
  const isDone = await write(text);
  if (!button) return;
  button.dataset.label ??= button.textContent;
  button.textContent = isDone ? 'Copied' : 'The browser refused';
  setTimeout(() => { button.textContent = button.dataset.label; }, 1400);
}

async function write(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copySelected(text);
  }
}

/** Copies a text as a selected one is: a page without HTTPS has no `navigator.clipboard`. Returns whether the browser has allowed it. */
function copySelected(text) {
  const focused = document.activeElement;
  const area = h('textarea', { value: text, 'aria-hidden': 'true' });
  area.style.position = 'fixed';
  // Behind an open dialog nothing can be selected.
  ([...document.querySelectorAll('dialog[open]')].at(-1) ?? document.body).append(area);
  area.select();
  const isDone = document.execCommand('copy');
  area.remove();
  focused?.focus({ preventScroll: true });
  return isDone;
}

/** Saves a blob as a file of the user's. */
export function saveFile(blob, name) {
  const address = URL.createObjectURL(blob);
  h('a', { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
