// Groups as a table, as bars, as a line.

import { activates } from './charts.js';
import { h } from './dom.js';
import { beginning, toNumber, number, show } from './format.js';

const WIDEST = 1300;
const HEIGHT = 320;
const MARGIN = { left: 64, right: 16, top: 14, bottom: 30 };

/** The width of a label below the line in pixels, and its most characters. */
const LABEL_WIDTH = 130;
const LONGEST_LABEL = 18;

const text = (column, row) => {
  const value = row[column.alias];
  if (value === null || value === undefined) return 'NULL';
  const isRounded = column.type === 'double' && Number.isFinite(toNumber(value));
  return isRounded ? number(Number(toNumber(value).toPrecision(12))) : beginning(show(value, column.type));
};

const labelOf = (groups, row) => groups.length === 0 ? 'all rows'
  : groups.map((column) => text(column, row)).join(' · ') || 'empty text';
const isNil = (column, row) => row[column.alias] === null;

/**
 * @param data `{groups, values, rows, order}`.
 * @param handlers `{onSort(alias), onPick(row)}`: `onPick` shows the rows of a group.
 */
export function groupTable({ groups, values, rows, order }, { onSort, onPick }) {
  const [term = ''] = order.split(',');
  const head = (column, isNumber) => {
    const isSorted = term.replace(/^-/, '') === column.alias;
    const arrow = isSorted ? (term.startsWith('-') ? ' ↓' : ' ↑') : '';
    const direction = term.startsWith('-') ? 'descending' : 'ascending';
    return h('th', { scope: 'col', class: isNumber && 'is-number', 'aria-sort': isSorted ? direction : null },
      h('button', { class: 'head-name', type: 'button', onclick: () => onSort(column.alias) }, (column.name ?? column.text) + arrow));
  };
  const line = (row) => h('tr', {},
    groups.map((column, index) => h('td', { class: isNil(column, row) && 'is-nil' }, index > 0 ? text(column, row)
      : h('button', { class: 'text-button', type: 'button', title: 'Show these rows', onclick: () => onPick(row) },
        text(column, row) || 'empty text'))),
    values.map((column) => h('td', { class: `is-number${isNil(column, row) ? ' is-nil' : ''}` }, text(column, row))));
  return h('table', { class: 'group-table' }, h('thead', {}, h('tr', {}, groups.map((column) => head(column, false)),
    values.map((column) => head(column, true)))), h('tbody', {}, rows.map(line)));
}

/** A bar for the first aggregate of each group; the other ones as numbers beside it. */
export function groupBars({ groups, values, rows }, { onPick }) {
  const [first, ...others] = values;
  const largest = Math.max(Number.MIN_VALUE, ...rows.map((row) => Math.abs(Number(row[first.alias]) || 0)));
  return h('ul', { class: 'group-bars' }, rows.map((row) => {
    const value = Number(row[first.alias]) || 0;
    const bar = h('span', { class: `group-bar${value < 0 ? ' is-negative' : ''}` });
    bar.style.setProperty('--share', (Math.abs(value) / largest * 100).toFixed(2));
    const numbers = [first, ...others].map((column) => text(column, row)).join(' · ');
    return h('li', {}, h('button', { class: 'group-label', type: 'button', title: `${labelOf(groups, row)}: show these rows`,
      onclick: () => onPick(row) }, labelOf(groups, row)),
    h('span', { class: 'group-track' }, bar), h('span', { class: 'group-number' }, numbers));
  }));
}

/** Indexes spread evenly over a list of at least two elements, both ends included; at most `most`, and at least two. */
export function spread(length, most) {
  const count = Math.max(2, Math.min(length, most));
  return Array.from({ length: count }, (_, index) => Math.round(index * (length - 1) / (count - 1)));
}

/** A line through the first aggregate, in the order of the first group. @param room pixels for its width. */
export function groupLine({ groups, values, rows, room }, { onPick }) {
  const width = Math.max(300, Math.min(WIDEST, room));
  const [first] = values;
  const points = rows.filter((row) => Number.isFinite(toNumber(row[first.alias])));
  if (points.length < 2) return h('p', { class: 'quiet' }, 'A line needs two groups with numbers.');
  const numbers = points.map((row) => toNumber(row[first.alias]));
  const [low, high] = [Math.min(0, ...numbers), Math.max(...numbers)];
  const x = (index) => MARGIN.left + index / (points.length - 1) * (width - MARGIN.left - MARGIN.right);
  const y = (value) => HEIGHT - MARGIN.bottom - (value - low) / (high - low || 1) * (HEIGHT - MARGIN.top - MARGIN.bottom);
  const line = numbers.map((value, index) => `${x(index).toFixed(1)},${y(value).toFixed(1)}`).join(' ');
  const dots = points.length > 120 ? [] : points.map((row, index) => h('circle', { class: 'group-dot', r: 4,
    cx: x(index), cy: y(numbers[index]), role: 'button', tabindex: 0, 'aria-label': `${labelOf(groups, row)}: ${text(first, row)}`,
    onclick: () => onPick(row), onkeydown: (event) => activates(event) && onPick(row) }, h('svg:title', {}, `${labelOf(groups, row)}: ${text(first, row)}`)));
  const marks = [low, (low + high) / 2, high].map((value) => [
    h('line', { class: 'group-rule', x1: MARGIN.left, x2: width - MARGIN.right, y1: y(value), y2: y(value) }),
    h('text', { class: 'group-mark is-end', x: MARGIN.left - 8, y: y(value) + 4 }, number(Number(value.toPrecision(4))))]);
  const names = spread(points.length, Math.floor(width / LABEL_WIDTH)).map((index) => {
    const name = labelOf(groups, points[index]);
    const end = index === 0 ? '' : index === points.length - 1 ? ' is-end' : ' is-middle';
    return h('text', { class: `group-mark${end}`, x: x(index), y: HEIGHT - 8 },
      name.length > LONGEST_LABEL ? `${name.slice(0, LONGEST_LABEL - 1)}…` : name, h('svg:title', {}, name));
  });
  return h('svg', { class: 'group-line', width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, role: 'group',
    'aria-label': `${first.name} by ${groups.map((column) => column.text).join(', ')}: ${points.length} values` },
  marks, h('polyline', { points: line }), names, dots);
}
