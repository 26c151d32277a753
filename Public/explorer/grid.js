// The table of a live result: as many rows in the document as show, whatever the result's size. The
// result may be a window of a longer table: the scroll bar spans all of it.
//
// Enters: results one after the other. Promises: a row of the same id is the same element before
// and after, so that it can move; what is read stays in its place when rows come or go above it.

import { ColumnHeads } from './column-heads.js';
import { ColumnWidths } from './column-widths.js';
import { Cursor } from './cursor.js';
import { h, PHONE } from './dom.js';
import { number } from './format.js';
import { IndexStrip } from './index-strip.js';
import { largestValue } from './largest-value.js';
import { COLUMN_HEAD, Layout, ROW, useTouchSizes } from './layout.js';
import { Motion } from './motion.js';
import { Row } from './row.js';
import { keyOf } from './row-key.js';
import { Scroller } from './scroller.js';
import { SectionHeaders } from './section-headers.js';
import { Selection } from './selection.js';
import { enter, leave } from './transitions.js';

/** Rows kept ready above and below what shows. */
const MARGIN = 6 * 32;
const phone = matchMedia(`(max-width: ${PHONE}px)`);
useTouchSizes(phone.matches);

export class Grid {
  #columns = [];
  #layout = new Layout([], false);
  #rows = new Map();
  #motion = new Motion();
  #handlers;
  #widths;
  #rowHandlers;
  #result = null;
  #isScheduled = false;
  #closed = new AbortController();
  /** The number that is drawn as bars: `{column, most}`, or null. */
  #measure = null;
  #measureName;

  /**
   * @param handlers `{onSort(column, isFurther), nameOf(entity, id), editor(item, column, {close}),
   * onRemove(item), staged(id), onRange(first, last), onSelection(selection)}` and those of the heads;
   * `onRange` gets the indexes of the rows that are seen.
   */
  constructor(parent, handlers) {
    this.#handlers = handlers;
    this.#heads = new ColumnHeads(handlers);
    this.selection = new Selection(() => {
      this.element.classList.toggle('has-selection', this.selection.size > 0);
      this.refill();
      handlers.onSelection?.(this.selection);
    });
    this.#rowsElement = h('div', { class: 'grid-rows', role: 'presentation' });
    this.#body = h('div', { class: 'grid-body', role: 'rowgroup' }, this.#rowsElement);
    this.#headers = new SectionHeaders(this.#rowsElement, this.#motion);
    this.#loading = h('p', { class: 'grid-loading', hidden: true });
    this.element = h('div', { class: 'grid', role: 'grid', tabindex: 0, 'aria-label': 'Rows',
      'aria-multiselectable': handlers.onOpen ? 'true' : null,
      onscroll: () => this.#schedule() },
    this.#heads.element, h('div', { class: 'pinned', 'aria-hidden': 'true' }, this.#headers.pinned), this.#body);
    this.#widths = new ColumnWidths(this.element);
    this.strip = new IndexStrip((section) => this.scrollToSection(section));
    this.cursor = new Cursor(this, handlers);
    const open = (id, item) => { this.cursor.hold(item); handlers.onOpen(id, item); };
    this.#rowHandlers = { onOpen: handlers.onOpen && open, onRemove: handlers.onRemove,
      onSelect: (item, isRange) => this.cursor.select(item, isRange) };
    this.scroller = new Scroller(this.element, this.#body);
    parent.append(h('div', { class: 'grid-frame' }, this.element, this.strip.element, this.#loading));
    new ResizeObserver(() => this.#resized()).observe(this.element);
    phone.addEventListener('change', () => this.#remeasure(), { signal: this.#closed.signal });
  }

  #heads;
  #headers;
  #body;
  /** Holds the rows and headers; it is as far down as the window's first row. */
  #rowsElement;
  #loading;

  /** Ends what outlives the element. */
  close() {
    this.#closed.abort();
  }

  get columns() {
    return this.#columns;
  }

  get layout() {
    return this.#layout;
  }

  /** Shows another entity's columns; the rows of the one before go. */
  begin(columns, sort) {
    this.#setColumns(columns);
    this.selection.clear();
    this.#result = null;
    this.#layout = new Layout([], false);
    this.cursor.reset();
    this.scroller.resize(0);
    this.scroller.position = 0;
    this.heading(sort);
    this.#resized();
  }

  /** Shows other columns of the same rows. */
  arrange(columns, sort) {
    this.#setColumns(columns);
    this.heading(sort);
    if (this.#result) this.#setMeasure(this.#measureName);
    this.#resized();
  }

  #setColumns(columns) {
    this.cursor.finish();
    this.#columns = columns;
    this.#widths.begin(columns);
    this.#rows.forEach((row) => row.element.remove());
    this.#rows.clear();
    this.element.setAttribute('aria-colcount', columns.length + (this.#handlers.onOpen ? 1 : 0));
  }

  /** The width of a column. */
  widthOf(name) {
    return this.#heads.cell(name)?.getBoundingClientRect().width ?? 0;
  }

  /** The width at which the values that are seen fit. */
  fittingWidth(name) {
    const index = this.#columns.findIndex((column) => column.name === name);
    const head = this.#heads.cell(name);
    const cells = [...this.#rows.values()].map((row) => row.cell(index));
    return Math.ceil(Math.max(this.#widths.measure(head.textContent, index),
      ...cells.map((cell) => this.#widths.measure(cell.textContent, index))));
  }

  focusHead(name) {
    this.#heads.cell(name)?.querySelector('button').focus({ preventScroll: true });
  }

  get selectedItems() {
    return this.selection.items(this.#layout);
  }

  /** Shows the column heads, with arrows for the keys of `sort`. */
  heading(sort) {
    this.#heads.show(this.#columns, sort);
  }

  /**
   * Shows a result.
   *
   * @param moved ids of the rows that a diff names as moved.
   * @param isNews true if a diff of the server made it.
   * @param isOther true if it is the result of another request, which is shown from the top.
   * @param hasHeaders true if it is sectioned.
   * @param measure the attribute that is drawn as bars behind its values.
   * @param window `{before, total}`: how many rows stand before the result's, and how many there are.
   */
  show(result, { hasHeaders, moved = new Set(), isNews = false, isOther = false, measure, window }) {
    const before = this.#layout;
    const isFirst = this.#result === null;
    const after = new Layout(result.sections, hasHeaders, window);
    const isElsewhere = before.before !== after.before;
    this.#result = result;
    this.#setMeasure(measure);
    const seen = this.#seen();
    const anchor = isFirst || isOther ? null : this.#anchor(moved);
    const top = this.scroller.position;
    this.#layout = after;
    this.scroller.resize(after.fullHeight + 12);
    this.element.setAttribute('aria-rowcount', after.total + 1);
    this.#hold(anchor);
    if (isOther) this.scroller.position = 0;
    const shift = this.scroller.position - top;
    const plays = this.#motion.begin(isNews) && !isFirst && !isElsewhere;
    this.cursor.follow(isOther);
    this.#draw({ plays, seen, before, moved, shift, isNews });
    const isWhole = after.count === after.total;
    this.strip.show(hasHeaders && isWhole ? result.sections : []);
  }

  /** Bars where there are no negative values; all rows are filled again when their scale is another. */
  #setMeasure(name) {
    this.#measureName = name;
    const column = this.#columns.findIndex((each) => each.name === name);
    const most = column < 0 ? 0 : largestValue(this.#result.sections, name);
    const former = this.#measure;
    this.#measure = most > 0 ? { column, most } : null;
    if (former?.most !== this.#measure?.most || former?.column !== column) this.refill();
  }

  /** Fills the visible rows again after a change of something other than the result. */
  refill() {
    for (const row of this.#rows.values()) this.#fill(row, row.item);
  }

  /** The height of the first pixel that is seen, from the window's first row. */
  get #top() {
    return this.scroller.position - this.#layout.top;
  }

  set #top(y) {
    this.scroller.position = y + this.#layout.top;
  }

  scrollToSection(section) {
    this.#top = this.#layout.tops[section];
  }

  /** Scrolls so that a row shows, by its index. */
  reveal(index) {
    const [y, top] = [this.#layout.offsetOf(index), this.#top + this.#layout.header];
    const bottom = this.#top + this.element.clientHeight - COLUMN_HEAD - ROW;
    if (y < top) this.#top = y - this.#layout.header;
    else if (y > bottom) this.#top = y - this.element.clientHeight + COLUMN_HEAD + ROW;
    this.#draw({});
  }

  /** The number of whole rows that show at once. */
  get pageSize() {
    return Math.max(1, Math.floor((this.element.clientHeight - COLUMN_HEAD - this.#layout.header) / ROW) - 1);
  }

  row(key) {
    return this.#rows.get(String(key));
  }

  get isEmpty() {
    return this.#layout.total === 0;
  }

  /** The items that show now. */
  get visible() {
    const rows = this.#layout.rows(this.#top, this.#top + this.element.clientHeight - COLUMN_HEAD - ROW);
    return [...rows].map(({ value }) => value);
  }

  /** Goes to the section `step` sections from the one at the top. */
  stepSection(step) {
    const section = this.#layout.sectionAt(this.#top + 1) + step;
    this.scrollToSection(Math.max(0, Math.min(this.#layout.sections.length - 1, section)));
  }

  // MARK: Staying in place

  /** The first row that shows and does not move: what is read is around it. */
  #anchor(moved) {
    if (this.scroller.position < ROW) return null;
    const top = this.#top;
    for (const { value, y } of this.#layout.rows(top + this.#layout.header, top + 20 * ROW)) {
      if (!moved.has(String(value.id))) return { key: keyOf(value), y: y + this.#layout.top };
    }
    return null;
  }

  /** Scrolls so that the anchor is seen where it was. */
  #hold(anchor) {
    if (!anchor) return;
    const y = this.#layout.find(new Set([anchor.key])).get(anchor.key);
    if (y === undefined) return;
    const distance = y + this.#layout.top - anchor.y;
    if (distance !== 0) this.scroller.position += distance;
  }

  #seen() {
    return new Map([...this.#rows].map(([key, row]) => [key, row.seenAt]));
  }

  // MARK: Drawing

  #schedule() {
    this.scroller.scrolled();
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    requestAnimationFrame(() => {
      this.#isScheduled = false;
      this.#draw({});
    });
  }

  #resized() {
    this.#setWidths();
    this.#draw({});
  }

  /** The window is that of a phone now, or no longer. */
  #remeasure() {
    useTouchSizes(phone.matches);
    const { sections, header, before, total } = this.#layout;
    this.#layout = new Layout(sections, header > 0, { before, total });
    this.scroller.resize(this.#layout.fullHeight + 12);
    this.#draw({});
  }

  #setWidths() {
    const isNarrow = this.element.clientWidth < 640;
    this.element.classList.toggle('is-narrow', isNarrow);
    this.#widths.apply(isNarrow && this.element.clientWidth);
  }

  /** @param change `{plays, seen, before, moved, shift, isNews}` where the result has changed. */
  #draw({ plays, seen = new Map(), before, moved = new Set(), shift = 0, isNews }) {
    const top = this.#top;
    const bottom = top + this.element.clientHeight;
    this.#rowsElement.style.transform = `translateY(${this.#layout.top - this.scroller.shift}px)`;
    const former = this.#rows;
    this.#rows = new Map();
    const fresh = [];
    for (const { value, y, section, item } of this.#layout.rows(top - MARGIN, bottom + MARGIN)) {
      const key = keyOf(value);
      const row = former.get(key) ?? this.#newRow(fresh);
      // A row with the same target keeps its animation.
      const isElsewhere = row.y !== y || shift !== 0;
      former.delete(key);
      this.#rows.set(key, row);
      this.#place(row, value, y, this.#layout.counts[section] + item, plays);
      if (plays && isElsewhere && seen.has(key)) {
        this.#motion.slide(row, seen.get(key) + shift, moved.has(key));
      }
    }
    this.#rowsElement.append(...fresh.map((row) => row.element));
    this.#keepEdited(former);
    const change = { before, after: this.#layout, shift, isNews, reach: this.element.clientHeight };
    if (plays) enter(fresh, this.#motion, change);
    if (plays) leave(former, this.#motion, change);
    else former.forEach((row) => row.element.remove());
    this.#headers.draw(this.#layout, { from: top - MARGIN, to: bottom + MARGIN, plays, shift });
    this.strip.mark(this.#headers.pin(this.#layout, top));
    this.cursor.draw();
    this.#reportRange(top, bottom - COLUMN_HEAD);
  }

  /** A row with an open cell stays while the result has it; before it goes, its editors end. */
  #keepEdited(former) {
    const keys = [...this.cursor.editedRows].filter((key) => former.has(key));
    const places = keys.length > 0 ? this.#layout.find(new Set(keys)) : new Map();
    for (const key of keys) {
      if (!places.has(key)) this.cursor.finish(key);
      else {
        this.#rows.set(key, former.get(key));
        former.get(key).move(places.get(key));
        former.delete(key);
      }
    }
  }

  #reportRange(top, bottom) {
    const { total } = this.#layout;
    if (total === 0) return;
    const [first, last] = [this.#layout.indexAt(top), this.#layout.indexAt(bottom - 1)];
    this.#loading.hidden = this.#rows.size > 0;
    this.#loading.textContent = `Loading rows ${number(first + 1)}–${number(last + 1)} …`;
    this.#handlers.onRange?.(first, last);
  }

  #newRow(fresh) {
    const row = new Row(this.#columns, this.#rowHandlers);
    fresh.push(row);
    return row;
  }

  #place(row, item, y, index, plays) {
    if (row.item !== item) {
      const changed = this.#fill(row, item);
      if (plays) changed.forEach((cell) => this.#motion.colour(cell, '--changed'));
    }
    row.move(y);
    row.element.setAttribute('aria-rowindex', index + 2);
    row.element.classList.toggle('is-odd', index % 2 === 1);
  }

  #fill(row, item) {
    return row.fill(item, {
      related: (column, id) => this.#related(column, id), staged: this.#handlers.staged(item.id),
      measure: this.#measure, isSelected: this.selection.has(item),
      onText: (...text) => this.#widths.record(...text) && this.#widen() });
  }

  /** Makes room for a longer number, once a frame. */
  #widen() {
    if (this.#isWidening) return;
    this.#isWidening = true;
    queueMicrotask(() => {
      this.#isWidening = false;
      this.#setWidths();
    });
  }

  #isWidening = false;

  #related({ destination }, id) {
    if (id === null || id === undefined) return '';
    return this.#handlers.nameOf(destination, id) ?? `${destination} ${id}`;
  }
}
