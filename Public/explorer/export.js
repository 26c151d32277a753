// The rows of the present fetch as a file: all of them, not only those that the page has.

import { csvOf, jsonItem } from './selection-bar.js';
import { openDialog } from './dialogs.js';
import { h } from './dom.js';
import { rowsText } from './format.js';
import { stringify } from './json.js';
import { popover } from './popover.js';

/** The rows of one request. */
const PAGE = 5000;

/**
 * Opens the choice of the format. An export goes on after the choice is closed.
 *
 * @param page `{client, request, view, columns}`: `request` is that of the view, without a window.
 */
export function exportMenu(anchor, page) {
  const status = h('p', { class: 'quiet', role: 'status' });
  const begin = async (format) => {
    try {
      const count = await save(format, page, (read) => { status.textContent = `${rowsText(read)} …`; });
      status.textContent = `${rowsText(count)} exported`;
    } catch (error) {
      status.textContent = error.message;
      if (!status.isConnected) openDialog('question', 'The export has failed', error.message);
    }
  };
  const item = (format, text) => h('button', { class: 'menu-item', type: 'button', onclick: () => begin(format) }, text);
  popover(anchor, [h('div', { class: 'menu' }, item('csv', 'All rows of this filter as CSV'),
    item('json', 'All rows of this filter as JSON')), status],
    { label: 'Export', className: 'export-menu' });
}

async function save(format, page, onProgress) {
  const parts = [];
  let count = 0;
  for await (const items of pages(page)) {
    const text = format === 'csv' ? csvOf(page.columns, items) : lines(page.columns, items);
    parts.push(format === 'csv' && count > 0 ? text.slice(text.indexOf('\r\n') + 2) : text);
    if (format === 'json') parts.push(',\n');
    count += items.length;
    onProgress(count);
  }
  if (format === 'json') parts.splice(-1);
  const isJSON = format === 'json';
  const blob = new Blob(isJSON ? ['[\n', ...parts, '\n]\n'] : parts, { type: isJSON ? 'application/json' : 'text/csv' });
  download(blob, `${page.view.entity}.${format}`);
  return count;
}

/** The rows page by page; each page begins behind the last row of the one before. */
async function* pages({ client, request, columns }) {
  const most = request.limit ?? Infinity;
  const select = columns.map(({ name }) => name).filter((name) => name !== 'id');
  let after;
  for (let count = 0; count < most;) {
    const limit = Math.min(PAGE, most - count);
    const result = await client.fetch({ ...request, select: select.length > 0 ? select : undefined, limit,
      ...(after ? { after, offset: undefined } : {}) });
    const items = result.sections.flatMap((section) => section.items);
    if (items.length > 0 || count === 0) yield items;
    count += items.length;
    after = result.next;
    if (!after || items.length < limit) return;
  }
}

const lines = (columns, items) =>
  items.map((item) => stringify(jsonItem(columns, item))).join(',\n');

function download(blob, name) {
  const address = URL.createObjectURL(blob);
  h('a', { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
