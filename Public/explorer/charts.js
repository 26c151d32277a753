// SVG charts: the histogram of a numeric attribute, and the number of saves in each of the last 60 seconds.

import { h, replace } from './dom.js';
import { number, short } from './format.js';

const BINS = 28;
const WIDTH = 304;
const HEIGHT = 72;

/**
 * Counts values in bins `{from, to, count}`. The bins are logarithmic if no value is negative and the largest is more than
 * 20 times the median. BigInts have exact bins.
 */
export function bins(values, count = BINS) {
  if (values.length === 0) return [];
  let [low, high] = [values[0], values[0]];
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (typeof low === 'bigint') return counted(integerBins(low, high, count), values);
  const median = Float64Array.from(values).sort()[values.length >> 1];
  const isLog = low >= 0 && high > 20 * median;
  // Counts in halves if the distance exceeds the largest number.
  const unit = Number.isFinite(high - low) ? 1 : 2;
  const scaled = isLog ? Math.log1p : (value) => value / unit;
  const unscaled = isLog ? Math.expm1 : (value) => value * unit;
  const width = (scaled(high) - scaled(low)) / count;
  if (width === 0) return [{ from: low, to: high, count: values.length }];
  const list = Array.from({ length: count }, (_, index) => ({
    from: unscaled(scaled(low) + index * width), to: unscaled(scaled(low) + (index + 1) * width), count: 0 }));
  list.at(-1).to = high;
  for (const value of values) {
    list[Math.min(count - 1, Math.floor((scaled(value) - scaled(low)) / width))].count += 1;
  }
  return list;
}

/** Returns empty bins of BigInts, for integers that a JavaScript number would round. Both ends belong to the bin. */
export function integerBins(low, high, count) {
  const width = (high - low) / BigInt(count) + 1n;
  return Array.from({ length: count }, (_, index) => low + BigInt(index) * width).filter((from) => from <= high)
    .map((from) => ({ from, to: from + width > high ? high : from + width - 1n, count: 0 }));
}

/** Counts the values in the bins of `integerBins`. */
function counted(list, values) {
  const width = list[0].to - list[0].from + 1n;
  for (const value of values) list[Number((value - list[0].from) / width)].count += 1;
  return list;
}

/** Draws the histogram of numbers or BigInts; `onPick(from, to)` gets the range of a bar that was clicked. */
export function histogram(parent, values, onPick) {
  const list = bins(values);
  drawBins(parent, list, { onPick, ...(typeof values[0] === 'bigint' ? { text: String } : formatters(list, values.every(Number.isInteger))) });
}

/**
 * Returns the functions that format the bounds of a bar (`text`) and the two ends of the axis (`end`), with as few digits
 * as distinguish the bars.
 */
export function formatters(list, isWhole = false) {
  if (list.length === 0) return { text: String };
  const [{ from: low }, { to: high }] = [list[0], list.at(-1)];
  const digits = isWhole ? 0 : Math.max(0, Math.min(20, 1 - Math.floor(Math.log10((high - low) / list.length || 1))));
  const text = (value) => number(Math.abs(value) >= 1e15 ? Number(value.toPrecision(3)) : low === high ? value : Number(value.toFixed(digits)));
  const size = Math.max(Math.abs(low), Math.abs(high));
  return { text, end: size >= 1e4 && size < 1e15 && short(low) !== short(high) ? short : text };
}

/**
 * Draws bins `{from, to, count}` as bars. The height of a bar is in proportion to the square root of its count, so that
 * small counts are seen beside large ones.
 *
 * @param options `onPick(from, to)`; `text(value)` for a bar, `end(value)` for the two ends.
 */
export function drawBins(parent, list, { onPick, text, end = text }) {
  const largest = Math.max(1, ...list.map(({ count }) => count));
  const step = WIDTH / list.length;
  const bars = list.map(({ from, to, count }, index) => {
    const height = count === 0 ? 0 : Math.max(2, Math.sqrt(count / largest) * HEIGHT);
    const name = `${text(from)} – ${text(to)}: ${number(count)}`;
    const bar = h('g', { class: 'bar-hit', role: 'button', tabindex: 0, 'aria-label': name, onclick: () => onPick(from, to),
      onkeydown: (event) => activates(event) && onPick(from, to) },
      h('rect', { class: 'hit', x: index * step, y: 0, width: step, height: HEIGHT }),
      h('rect', { class: 'fill', x: index * step + 1, y: HEIGHT - height, width: step - 2, height,
        rx: 1.5 }), h('svg:title', {}, name));
    return bar;
  });
  const ends = list.length > 0 ? [end(list[0].from), end(list.at(-1).to)] : ['', ''];
  const total = list.reduce((sum, { count }) => sum + count, 0);
  replace(parent, h('svg', { class: 'histogram', viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'group',
    'aria-label': `${number(total)} ${total === 1 ? 'value' : 'values'} from ${ends[0]} to ${ends[1]}` }, bars),
  h('p', { class: 'axis' }, h('span', {}, ends[0]), list.length > 1 && h('span', {}, ends[1])));
}

/** Returns true for the keys that activate a button, Enter and Space, and keeps them from scrolling the page. */
export function activates(event) {
  if (event.key !== 'Enter' && event.key !== ' ') return false;
  event.preventDefault();
  return true;
}

/** Draws the saves of the last minute, one bar per second. */
export class SavesChart {
  #seconds = new Array(60).fill(0);
  #parent;
  /** The second, since 1970, that the last bar counts. */
  #last = Math.floor(Date.now() / 1000);

  constructor(parent) {
    this.#parent = parent;
    setInterval(() => document.visibilityState === 'visible' && this.#draw(), 1000);
    this.#draw();
  }

  count(saves) {
    this.#advance();
    this.#seconds[59] += saves;
    this.#draw();
  }

  #advance() {
    const now = Math.floor(Date.now() / 1000);
    for (; this.#last < now && now - this.#last <= 60; this.#last += 1) {
      this.#seconds.shift();
      this.#seconds.push(0);
    }
    if (now - this.#last > 60) this.#seconds.fill(0);
    this.#last = now;
  }

  #draw() {
    this.#advance();
    const largest = Math.max(4, ...this.#seconds);
    const step = WIDTH / 60;
    const bars = this.#seconds.map((saves, index) => {
      const height = saves === 0 ? 1 : Math.max(3, (saves / largest) * 36);
      return h('rect', { class: saves === 0 ? 'tick' : 'fill', x: index * step + 0.75,
        y: 36 - height, width: step - 1.5, height, rx: 1 });
    });
    const total = this.#seconds.reduce((sum, saves) => sum + saves, 0);
    // The last second is not over, so the one before it is the current rate.
    replace(this.#parent, h('svg', { class: 'saves', viewBox: `0 0 ${WIDTH} 36`, role: 'img',
      'aria-label': `${total} saves in the last minute` }, bars),
    h('p', { class: 'axis' }, h('span', {}, 'a minute ago'),
      h('span', {}, `${this.#seconds[58]} / s`)));
  }
}
