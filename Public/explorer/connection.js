// The state of the connection in the bar, and the summary above the table.

import { h, replace } from './dom.js';
import { bytes, clock, number } from './format.js';
import { rowCount, span } from './row-window.js';

const texts = { connecting: 'connecting', live: 'live', offline: 'reconnecting', failed: 'refused', slow: 'too slow',
  closed: 'closed', plain: 'not live', idle: 'no table', unauthorized: 'signed out', unfinished: 'predicate not finished' };

/** @param reason the reason why it is offline, or why the rows are not live. */
export function showConnection(state, reason) {
  const text = reason && state === 'offline' ? `${texts.offline} — ${reason}`
    : state === 'plain' ? `${texts.plain}: ${reason}` : texts[state];
  const element = document.getElementById('connection');
  element.dataset.state = state;
  element.title = text;
  document.getElementById('connection-text').textContent = text;
}

/**
 * @param shown `range`: an element with the numbers of the visible rows, unless all are loaded.
 * @param actions buttons at the end of the line.
 */
export function showSummary(parent, { view, result, traffic, nameOfEntity, notLive, range }, actions) {
  if (!result) return replace(parent, h('span', {}, 'Loading …'));
  const { sections } = result;
  const count = rowCount(view, result.total);
  const { base, most } = span(view);
  const isSectioned = view.section !== '';
  replace(parent,
    h('span', {}, h('strong', {}, number(count)), ` ${count === 1 ? 'row' : 'rows'} of ${nameOfEntity}`,
      isSectioned && !range && [' in ', h('strong', {}, number(sections.length)),
        sections.length === 1 ? ' section' : ' sections']),
    traffic.snapshotBytes > 0
      && h('span', { class: 'size' }, `snapshot of ${bytes(traffic.snapshotBytes)}`),
    notLive && h('span', { class: 'not-live' }, `not live: ${notLive}`),
    result.at && h('span', { class: 'as-of' }, `as of ${clock.format(result.at)}`,
      h('button', { class: 'text-button', onclick: actions.refresh }, 'Refresh')),
    range,
    h('span', { class: 'actions' }, base + most < result.total
      && h('button', { class: 'text-button', onclick: actions.next }, 'Next window'),
    Number(view.offset) > 0 && h('button', { class: 'text-button', onclick: actions.previous }, 'Previous'),
    actions.buttons));
}
