// Exports all rows of the current fetch as a file, not only those that the page has loaded.

import { csvOf, jsonItem } from './selection-bar.js';
import { openDialog } from './dialogs.js';
import { h, saveFile } from './dom.js';
import { rowsText } from './format.js';
import { stringify } from './json.js';
import { closePopover, popover } from './popover.js';

/** The number of rows of one request. */
const PAGE_SIZE = 5000;
/** The server selects no more columns; without a selection it sends all. */
const MOST_SELECTED = 256;

/** The element that shows the running export's progress, with a button that stops it; null if none runs. */
let running = null;

export const exportState = () => running;

/**
 * Opens the choice of the format. An export continues after the choice is closed, and shows its progress beside the button.
 *
 * @param page `{client, request, view, columns, mayRepeat}`: `request` is that of the view, without a window; `mayRepeat`: several rows may have the same id.
 */
export function exportMenu(anchor, page) {
  const item = (format, text) => h('button', { class: 'menu-item', type: 'button', disabled: running !== null,
    onclick: () => { closePopover(); begin(format, page, anchor); } }, text);
  popover(anchor, [h('div', { class: 'menu' }, item('csv', 'All rows of this filter as CSV'),
    item('json', 'All rows of this filter as JSON')), running && h('p', { class: 'quiet' }, 'An export is running.')],
  { label: 'Export', className: 'export-menu' });
}

async function begin(format, page, anchor) {
  const controller = new AbortController();
  const text = h('span', { role: 'status' }, 'Exporting …');
  running = h('span', { class: 'export-state' }, text,
    h('button', { class: 'text-button', type: 'button', onclick: () => controller.abort() }, 'Stop'));
  anchor.before(running);
  try {
    await save(format, page, (read) => { text.textContent = `Exporting, ${rowsText(read)} …`; }, controller.signal);
  } catch (error) {
    if (!controller.signal.aborted) openDialog('question', 'The export has failed', error.message);
  } finally {
    running.remove();
    running = null;
  }
}

async function save(format, page, onProgress, signal) {
  const parts = [];
  let count = 0;
  for await (const items of pages(page, signal)) {
    parts.push(format === 'csv' ? csvOf(page.columns, items, { hasHeading: count === 0 }) : lines(page.columns, items));
    if (format === 'json') parts.push(',\n');
    count += items.length;
    onProgress(count);
  }
  if (format === 'json') parts.splice(-1);
  const isJSON = format === 'json';
  const blob = new Blob(isJSON ? ['[\n', ...parts, '\n]\n'] : parts, { type: isJSON ? 'application/json' : 'text/csv' });
  saveFile(blob, `${page.view.entity}.${format}`);
}

/**
 * Reads the rows page by page, so saves may take effect between two pages. Each page begins after the last row of the one
 * before, by offset if ids are not unique.
 */
async function* pages({ client, request, columns, mayRepeat }, signal) {
  const most = request.limit ?? Infinity;
  const select = columns.map(({ name }) => name).filter((name) => name !== 'id');
  let after;
  let size = PAGE_SIZE;
  for (let count = 0; count < most;) {
    const limit = Math.min(size, most - count);
    const result = await client.fetch({ ...request, select: select.length <= MOST_SELECTED ? select : undefined, limit,
      ...(after && (mayRepeat ? { offset: (request.offset ?? 0) + count } : { after, offset: undefined })) }, { signal }).catch((error) => {
      if (error.code !== 'answer-too-large' || limit === 1) throw error;
      size = Math.ceil(limit / 2);
    });
    if (!result) continue;
    const items = result.sections.flatMap((section) => section.items);
    if (items.length > 0 || count === 0) yield items;
    count += items.length;
    after = result.next;
    // A server may send fewer rows than requested: `--max-items`.
    if (!after || items.length === 0) return;
  }
}

const lines = (columns, items) =>
  items.map((item) => stringify(jsonItem(columns, item))).join(',\n');
