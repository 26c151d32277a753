// The panel at the right: the request as curl, metrics, the last diffs as they came, charts.

import { copyText, h, replace, throttle } from './dom.js';
import { histogram, SavesChart } from './charts.js';
import { curl, curlUpdate } from './curl.js';
import { beginning, bytes, clock, drawable, isNumeric, LONG, milliseconds, number } from './format.js';
import { stringify } from './json.js';
import { QueryPlan } from './query-plan.js';
import { javascript, swift } from './request-code.js';
import { sortsBy } from './sort-terms.js';

/** Milliseconds between two drawings of metrics and charts. */
const PAUSE = 150;
/** The parts that show diffs and saves. */
const liveParts = ['figures', 'diffs', 'saves'];
const languages = [['curl', 'curl'], ['javascript', 'JavaScript'], ['swift', 'Swift']];
const modes = [['once', 'snapshot'], ['stream', 'stream'], ['poll', 'long-poll']];

export class Inspector {
  #mode = 'stream';
  #language = 'curl';
  #plan;
  #attribute = null;
  #onRange;
  #parts;
  #shown = {};

  /** @param onRange called with `(attribute, from, to)` for a bar of the histogram. */
  constructor(parent, client, onRange) {
    this.#onRange = onRange;
    const part = (title, ...extra) => {
      const body = h('div', { class: 'part-body' });
      return { body, element: h('section', { class: 'part' },
        h('header', {}, h('h2', { class: 'panel-title' }, title), extra), body) };
    };
    this.modeChooser = h('div', { class: 'segments', role: 'radiogroup', 'aria-label': 'Kind of request' });
    this.languageChooser = h('select', { class: 'field small', 'aria-label': 'Language',
      onchange: ({ target }) => { this.#language = target.value; this.#drawRequest(); } },
    languages.map(([value, name]) => h('option', { value }, name)));
    this.#plan = new QueryPlan(client, codeBlock);
    this.attributeChooser = h('select', { class: 'field small', 'aria-label': 'Attribute',
      onchange: ({ target }) => { this.#attribute = target.value; this.#drawHistogram(); } });
    this.#parts = {
      request: part('Request', this.languageChooser, this.modeChooser), plan: part('Query plan'), figures: part('Live'),
      diffs: part('Diffs, as they came'), saves: part('Saves a second'),
      histogram: part('Distribution', this.attributeChooser) };
    replace(parent, Object.values(this.#parts).map(({ element }) => element));
    this.#parts.plan.body.append(this.#plan.element);
    this.savesChart = new SavesChart(this.#parts.saves.body);
  }

  /**
   * @param shown `{request, result, traffic, schema, isLive, example}`; `isLive` is false where the
   * rows are fetched once, `example` is an update to try.
   */
  show(shown) {
    for (const name of ['request', 'plan']) this.#parts[name].element.hidden = false;
    this.#plan.show(shown.request);
    for (const name of liveParts) this.#parts[name].element.hidden = !shown.isLive;
    const isOther = this.#shown.request?.entity !== shown.request.entity;
    this.#shown = shown;
    if (isOther) this.#chooseAttribute();
    this.timed();
  }

  /** Shows nothing: there is no request. */
  clear() {
    this.#shown = {};
    for (const { element } of Object.values(this.#parts)) element.hidden = true;
  }

  /** Draws again, soon: something was measured. */
  timed = throttle(() => {
    if (!this.#shown.request) return;
    this.#drawRequest();
    this.#drawFigures();
    this.#drawHistogram();
    this.#drawDiffs();
  }, PAUSE);

  // MARK: Request

  #drawRequest() {
    const { isLive } = this.#shown;
    const current = isLive ? this.#mode : 'once';
    const text = this.#code(current);
    const signature = `${isLive} ${current} ${text}`;
    if (this.#parts.request.signature === signature) return;
    this.#parts.request.signature = signature;
    const offered = isLive ? modes : modes.slice(0, 1);
    replace(this.modeChooser, offered.map(([mode, name]) => h('button', {
      role: 'radio', 'aria-checked': String(mode === current),
      onclick: () => { this.#mode = mode; this.#drawRequest(); } }, name)));
    replace(this.#parts.request.body, codeBlock(text), h('p', { class: 'api-words' },
      'In the API a table is an entity, a row an object, a column an attribute or a relationship, NULL is nil, a filter a predicate.'));
  }

  #code(mode) {
    const { request, result } = this.#shown;
    if (this.#language === 'javascript') return javascript(request, mode !== 'once');
    if (this.#language === 'swift') return swift(request, mode !== 'once');
    return curl(request, mode, result?.token ?? 'now');
  }

  // MARK: Metrics

  #drawFigures() {
    const { traffic, result } = this.#shown;
    const { median, latencies, diffBytes, refetch, count } = traffic;
    const last = latencies.at(-1);
    replace(this.#parts.figures.body, h('dl', { class: 'figures' },
      figure('Save to paint', median === undefined ? '–' : milliseconds(median),
        last === undefined ? 'save something' : `median; last ${milliseconds(last)}`),
      figure('Diffs', number(count), `${bytes(diffBytes)} received`),
      figure('Refetching', bytes(refetch), saving(diffBytes, refetch))),
    count > 0 && h('svg', { class: 'ratio', viewBox: '0 0 304 6', preserveAspectRatio: 'none' },
      h('rect', { class: 'tick', x: 0, y: 0, width: 304, height: 6, rx: 3 }),
      h('rect', { class: 'fill', x: 0, y: 0, height: 6, rx: 3,
        width: Math.max(3, 304 * Math.min(1, diffBytes / Math.max(1, refetch))) })),
    h('p', { class: 'token' }, h('span', {}, 'token'), h('code', {}, result?.token ?? '–')));
  }

  // MARK: Diffs

  #drawDiffs() {
    const { traffic } = this.#shown;
    const { body } = this.#parts.diffs;
    if (traffic.diffs.length === 0) {
      return this.#drawInvitation(body);
    }
    if (body.signature) replace(body);
    body.signature = null;
    this.#drawLatest(body, traffic.diffs[0].diff);
    const list = body.querySelector('ul') ?? body.appendChild(h('ul', { class: 'diffs' }));
    const lines = new Map([...list.children].map((line) => [line.entry, line]));
    replace(list, traffic.diffs.map((entry) => lines.get(entry) ?? diffLine(entry)));
    for (const line of list.children) line.update();
  }

  /** Before the first diff: what to do for one, from a terminal too. */
  #drawInvitation(body) {
    const { example } = this.#shown;
    const text = example ? curlUpdate(example.entity, example.id, example.values) : '';
    if (body.signature === `for ${text}`) return;
    body.signature = `for ${text}`;
    replace(body, h('p', { class: 'quiet' },
      `Nothing has changed yet. Edit a cell${example ? ', or in a terminal:' : ', or save by another program.'}`),
    example && codeBlock(text));
  }

  /** The newest diff, byte for byte: that is all that came. A long one is shown by its beginning. */
  #drawLatest(body, diff) {
    const text = beginning(stringify(diff), LONG);
    const latest = body.querySelector('.latest')
      ?? body.insertBefore(h('pre', { class: 'code latest', tabindex: 0 }), body.firstChild);
    if (latest.textContent !== text) latest.textContent = text;
  }

  // MARK: Histogram

  #chooseAttribute() {
    const { schema, request } = this.#shown;
    const numeric = schema.entity(request.entity).attributes.filter(({ type }) => isNumeric(type));
    const sorted = numeric.find(({ name }) => request.sort?.some((term) => sortsBy(term, name)));
    this.#attribute = (sorted ?? numeric[0])?.name ?? null;
    replace(this.attributeChooser, numeric.map(({ name }) =>
      h('option', { value: name, selected: name === this.#attribute }, name)));
  }

  #drawHistogram() {
    const sections = (this.#attribute && this.#shown.result?.sections) || [];
    const values = drawable(sections.flatMap(({ items }) => items.map((item) => item[this.#attribute] ?? null)));
    this.#parts.histogram.element.hidden = values.length === 0;
    if (values.length === 0) return;
    histogram(this.#parts.histogram.body, values,
      (from, to) => this.#onRange(this.#attribute, from, to));
  }
}

/** Returns a command line to copy. Lines that are too long are wrapped and indented. */
export function codeBlock(text) {
  const lines = text.split('\n').map((line) => h('span', {}, `${line}\n`));
  return h('div', { class: 'code-block' }, h('pre', { class: 'code lines', tabindex: 0 }, lines),
    h('button', { class: 'button small copy', onclick: ({ target }) => copyText(text, target) }, 'Copy'));
}

function figure(name, value, note) {
  return h('div', {}, h('dt', {}, name), h('dd', {}, value), h('dd', { class: 'note' }, note));
}

function saving(received, refetch) {
  if (refetch === 0) return 'estimated cost';
  return `estimated cost, ${Math.round(refetch / Math.max(1, received))}\u00a0×\u00a0the\u00a0diffs`;
}

const marks = [['inserted', '+', 'inserted'], ['deleted', '−', 'deleted'], ['moved', '⇅', 'moved'],
  ['updated', '~', 'changed']];

function diffLine(entry) {
  const { diff, bytes: size, at } = entry;
  const chips = marks.filter(([kind]) => diff.items?.[kind]?.length > 0).map(([kind, sign, name]) =>
    h('span', { class: `mark is-${name}`, title: kind }, `${sign}${diff.items[kind].length}`));
  const text = h('pre', { class: 'code', tabindex: 0 });
  const fill = () => { text.textContent ||= stringify(diff, 1); };
  const note = h('span', { class: 'diff-size' });
  const line = h('li', {}, h('details', { ontoggle: fill },
    h('summary', {}, h('time', {}, clock.format(at)), chips, note), text));
  const update = () => {
    const { latency } = entry;
    const text = latency === undefined ? bytes(size) : `${bytes(size)} in ${milliseconds(latency)}`;
    if (note.textContent !== text) note.textContent = text;
  };
  return Object.assign(line, { entry, update });
}
