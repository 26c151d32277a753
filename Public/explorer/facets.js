// The values of a column within the present filter: their number, the most frequent ones, the
// smallest and largest, a histogram. Asked for through `as=dictionaries`.

import { drawBins, integerBins } from './charts.js';
import { h, replace } from './dom.js';
import { beginning, isDigits, isNumeric, toNumber, number, show } from './format.js';
import { equals, filterProblem, nameText } from './predicate-text.js';

const MAX_VALUES = 12;
const BINS = 24;
const rounded = (value) => number(Math.abs(value) >= 1 ? Number(value.toFixed(4)) : Number(value.toPrecision(4)));
/** The epoch of `CAST(date, "NSNumber")`. */
const EPOCH = Date.UTC(2001, 0, 1);

export class Facets {
  #client;
  #view;
  #column;
  #handlers;
  #abort = new AbortController();
  element = h('div', { class: 'facets' });
  #figures = h('dl', { class: 'facet-figures' });
  #histogram = h('div', {});
  #values = h('div', { class: 'facet-values' });
  #note = h('p', { class: 'quiet facet-note', role: 'status', hidden: true });

  /**
   * @param view `{entity, where}`.
   * @param handlers `{onFilter(condition), onRange(path, from, to), labels(entity), titleOf(entity, item, id), onDrawn()}`, and
   * `count`: the aggregate that counts rows.
   */
  constructor(client, view, column, handlers) {
    this.#client = client;
    this.#view = view;
    this.#column = column;
    this.#handlers = handlers;
    replace(this.element, this.#figures, this.#histogram, this.#note, this.#values);
    replace(this.#values, h('p', { class: 'quiet' }, 'Counting …'));
    this.#load();
  }

  close() {
    this.#abort.abort();
  }

  get #count() {
    return `n:${this.#handlers.count}`;
  }

  get #path() {
    return nameText(this.#column.name);
  }

  async #load() {
    try {
      if (this.#column.type === 'binary' || this.#column.type === 'json') await this.#loadCounts();
      else await Promise.all([this.#loadFigures().catch((error) => this.#failed(error)), this.#loadValues()]);
    } catch (error) {
      this.#failed(error, this.#values);
    }
    this.#handlers.onDrawn?.();
  }

  /** @param place where what failed would be; without one the error is a note of its own. */
  #failed(error, place) {
    if (this.#abort.signal.aborted) return;
    if (place) replace(place, h('p', { class: 'complaint', role: 'alert' }, error.message));
    else this.#say(error.message);
  }

  async #ask(request) {
    const { sections } = await this.#client.fetch({ ...this.#view, as: 'dictionaries', ...request },
      { signal: this.#abort.signal });
    return sections[0].items;
  }

  // MARK: Figures

  async #loadCounts() {
    replace(this.#values);
    const [{ n, present }] = await this.#ask({ select: [this.#count, `present:@count.${this.#path}`] });
    this.#showFigures([['values', number(present)], ['NULL', number(n - present)]]);
  }

  async #loadFigures() {
    const { type } = this.#column;
    const path = this.#path;
    if (type === 'relationship' || type === 'boolean') return;
    const isOrdered = isNumeric(type) || type === 'date';
    const [row] = await this.#ask({ select: [this.#count, `present:@count.${path}`,
      `different:@distinctUnionOfObjects.${path}.@count`, `least:@min.${path}`, `most:@max.${path}`,
      ...(isNumeric(type) ? [`mean:@avg.${path}`] : [])] });
    const text = (value) => (value === null ? '–' : beginning(show(value, type)));
    this.#showFigures([['values', number(row.present)], ['different', number(row.different)],
      ['NULL', number(row.n - row.present)], ['smallest', text(row.least)], ['largest', text(row.most)],
      isNumeric(type) && ['average', row.mean === null ? '–' : rounded(toNumber(row.mean))]].filter(Boolean));
    if (isOrdered && row.different > 2) await this.#loadHistogram(row.least, row.most);
  }

  #showFigures(list) {
    replace(this.#figures, list.map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', { class: isNumeric(this.#column.type) ? 'is-number' : '', title: value }, value))));
  }

  async #loadHistogram(least, most) {
    const isDate = this.#column.type === 'date';
    if (this.#column.type === 'integer' && [least, most].some(isDigits)) return this.#loadLargeHistogram(BigInt(least), BigInt(most));
    const value = isDate ? `CAST(${this.#path}, "NSNumber")` : this.#path;
    const [low, high] = [least, most].map((each) => (isDate ? (Date.parse(each) - EPOCH) / 1000 : toNumber(each)));
    const width = (high - low) / BINS;
    if (!Number.isFinite(width) || width <= 0) return;
    const rows = await this.#ask({ select: [`bin:floor((${value} - ${low}) * 1.0 / ${width})`, this.#count], group: ['bin'] });
    const counts = new Array(BINS).fill(0);
    for (const { bin, n } of rows) if (bin !== null) counts[Math.max(0, Math.min(BINS - 1, bin))] += n;
    const written = (each) => (isDate ? new Date(each * 1000 + EPOCH).toISOString().replace('.000Z', 'Z') : each);
    const list = counts.map((count, index) => ({ count, from: low + index * width, to: low + (index + 1) * width }));
    // A sum of widths, and a date of JavaScript, may be a little less than the largest value.
    list.at(-1).to = high;
    const ends = isDate ? [least, most] : [low, high];
    drawBins(this.#histogram, list, { onPick: (from, to) => this.#handlers.onRange(this.#column,
      from === low ? ends[0] : written(from), to === high ? ends[1] : written(to)),
      text: (each) => show(written(isDate ? Math.round(each) : each), this.#column.type) });
  }

  /** That of integers which a number of JavaScript would round. */
  async #loadLargeHistogram(low, high) {
    const bins = integerBins(low, high, BINS);
    const width = bins[0].to - bins[0].from + 1n;
    // A difference of more than 63 bits has no exact value in a database.
    const [factor, end] = high - low < 2n ** 63n ? ['', ''] : [' * 1.0', '.0'];
    const rows = await this.#ask({ select: [`bin:floor((${this.#path}${factor} - ${low}${end}) * 1.0 / ${width})`, this.#count], group: ['bin'] });
    for (const { bin, n } of rows) if (bin !== null) bins[Math.max(0, Math.min(bins.length - 1, bin))].count += n;
    drawBins(this.#histogram, bins, { onPick: (from, to) => this.#handlers.onRange(this.#column, from, to), text: String });
  }

  // MARK: Values

  async #loadValues() {
    const { type, destination } = this.#column;
    const labels = type === 'relationship' ? this.#handlers.labels(destination) : [];
    const path = this.#path;
    const aliases = labels.map((_, index) => `label${index}`);
    const columns = labels.map((label, index) => `label${index}:${path}.${nameText(label)}`);
    const rows = await this.#ask({ select: [`value:${path}`, ...columns, this.#count], group: ['value', ...aliases],
      sort: ['-n'], limit: MAX_VALUES });
    const nameOf = (row) => (labels.length === 0 || row.value === null ? undefined
      : this.#handlers.titleOf(destination, Object.fromEntries(labels.map((label, index) => [label, row[`label${index}`]])), row.value) || undefined);
    const most = Math.max(1, ...rows.map(({ n }) => n));
    if (most === 1 && rows.length === MAX_VALUES) return replace(this.#values, h('p', { class: 'quiet' }, 'No value occurs twice.'));
    return replace(this.#values, rows.map((row) => this.#value(row, nameOf(row), row.n / most)));
  }

  #say(text) {
    this.#note.textContent = text;
    this.#note.hidden = false;
    this.#handlers.onDrawn?.();
  }

  #value({ value, n }, title, share) {
    const { type, destination } = this.#column;
    const text = value === null ? 'NULL' : title ?? (type === 'relationship' ? `${destination} ${value}` : beginning(show(value, type)));
    const isShort = text.length > 0;
    const bar = h('span', { class: 'facet-bar' });
    bar.style.setProperty('--share', (share * 100).toFixed(1));
    const problem = filterProblem(this.#column, value);
    return h('button', { class: 'facet', type: 'button', 'aria-disabled': String(problem !== undefined), title: problem ?? text,
      onclick: () => (problem ? this.#say(problem) : this.#handlers.onFilter(equals(this.#column, value))) },
    bar, h('span', { class: `facet-text${value === null ? ' is-nil' : ''}` }, isShort ? text : 'empty text'),
    h('span', { class: 'facet-count' }, number(n)));
  }
}
