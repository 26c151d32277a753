// The page: one view (a fetch request with its parts as text), one live fetch for it, and the
// panels that show it.

import { connect } from '../livefetch.js';
import { action, Welcome } from './actions.js';
import * as address from './address.js';
import { showConnection, showSummary } from './connection.js';
import { Controls } from './controls.js';
import { exampleUpdate, sortingAttribute } from './demo-traffic.js';
import { Demonstrations } from './demonstrations.js';
import { debounce, h, replace, throttle } from './dom.js';
import { Editing } from './editing.js';
import { Finding } from './finding.js';
import { Grid } from './grid.js';
import { groupPage } from './group-page.js';
import { GroupView } from './group-view.js';
import { Inspector } from './inspector.js';
import { ModelPanel } from './model-panel.js';
import { Names } from './names.js';
import { emptyNote, isTooSlow, missingTableNote, refusedNote } from './notes.js';
import { PlainFetch } from './plain-fetch.js';
import { PredicateField } from './predicate-field.js';
import { number } from './format.js';
import { RowCounts } from './row-counts.js';
import { closePopover } from './popover.js';
import { rowPanel, showCurrent } from './row-page.js';
import { FIRST, nextOffset, rowCount, SIZE, smaller } from './row-window.js';
import { showSession, signIn } from './sign-in.js';
import { historyOf } from './saves.js';
import { TableTools } from './table-tools.js';
import { Traffic } from './traffic.js';
import { isSearch } from './search-words.js';
import { sortedBy } from './view-changes.js';

const byID = (id) => document.getElementById(id);
const TYPING = 320;
/** The least time in milliseconds between two fetches of windows while the user scrolls. */
const WINDOW_PAUSE = 120;

export class Page {
  view = null;
  live = null;
  traffic = new Traffic();
  /** False after the server has refused the feed of saves. */
  hasFeed = true;
  #generation = 0;
  #renewal = null;
  /** True if the next result is that of another request. */
  #isOther = false;
  /** The reason why the shown rows are not live; null if they are. */
  #notLive = null;
  /** The rows that are fetched, counted from the view's own offset: `{offset, size}`. */
  #window = { offset: 0, size: FIRST };
  /** The indexes of the visible rows: `[first, last]`. */
  #range = [0, 0];
  #rangeText = h('span', { class: 'range' });

  /**
   * @param options `about`: the answer of `GET /v1`; `mayWrite`: true if the token has the scope `write`.
   */
  constructor(schema, { client = connect(), closeDrawers, about = {}, mayWrite = true }) {
    this.client = client;
    this.about = about;
    /** True if the server takes no saves and follows no fetch. */
    this.storeIsReadOnly = about.readOnly === true;
    this.mayWrite = mayWrite;
    this.schema = schema;
    this.names = new Names(client, schema);
    this.counts = new RowCounts(client, () => this.model.show(schema, this.view.entity, this.counts));
    this.editing = new Editing(this, byID('tray'));
    this.model = new ModelPanel(byID('model'), {
      onEntity: (entity) => { closeDrawers(); this.goTo(entity); },
      onProperty: (path) => {
        closeDrawers();
        this.predicate.insert(path.endsWith('.') ? path : `${path} `);
      } });
    this.predicate = new PredicateField(byID('predicate'), {
      context: () => this.#completionContext(),
      onChange: (where, isDone) => this.#typedText(where, isDone) });
    this.names.onTexts = () => this.predicate.resuggest();
    this.#typed.now = (where) => { this.#typed.cancel(); this.change({ where }); this.#whereBefore = null; };
    this.finding = new Finding(this);
    this.controls = new Controls(byID('controls'), (patch) => this.change(patch),
      (anchor) => this.finding.build(anchor));
    this.summary = h('div', { class: 'summary' });
    this.welcome = new Welcome(byID('welcome'));
    this.welcome.onClose = () => this.result && this.#drawAround(this.result);
    const panes = h('div', { class: 'panes' });
    this.tools = new TableTools(this, byID('result'));
    byID('result').append(this.summary, this.tools.selection.element, panes);
    this.grid = new Grid(panes, { ...this.editing.handlers, ...this.finding.handlers, ...this.tools.handlers,
      onSort: (column, isFurther) => this.change({ sort: sortedBy(this.view.sort, this.sortPath(column), isFurther) }),
      onOpen: (id, item) => this.rowPanel.open(this.view.entity, id, { item }),
      onCurrent: (item, isPointer) => showCurrent(this, item, isPointer),
      onRange: (first, last) => this.#seen(first, last) });
    this.groups = new GroupView(groupPage(this));
    panes.append(this.groups.element);
    this.rowPanel = rowPanel(this, byID('row-panel'));
    this.demonstrations = new Demonstrations(this, panes, () => this.#demonstrated());
    this.second = this.demonstrations.second;
    this.inspector = new Inspector(byID('inspector'), client,
      (...range) => this.finding.narrow(...range));
  }

  /** What is typed without a pause in between is one step of the browser's history. */
  #typed = debounce((where) => {
    if (where === this.view.where) return;
    const before = this.#whereBefore ?? this.view.where;
    // Without what was typed there is no step that Back could undo.
    if (where === this.#whereBefore) return history.back();
    this.change({ where }, this.#whereBefore === null);
    this.#whereBefore = before;
  }, TYPING);

  /** The predicate before the one that was typed; null if the view's last change was not typed into the search field. */
  #whereBefore = null;

  // MARK: The view

  /** Goes to a view. @param isStep true if the browser's Back button returns from it. */
  go(view, isStep = false) {
    const isOther = view.entity !== this.view?.entity;
    this.#whereBefore = null;
    // What was typed a moment ago belongs to the view before.
    if (isOther || view.where !== this.view?.where) this.#typed.cancel();
    if (view.where !== this.view?.where) this.grid.selection.clear();
    this.view = { ...view, second: this.second.isOpen || view.second ? '1' : '' };
    address.write(this.view, isStep);
    document.title = [`${view.entity}${view.where ? ` where ${view.where}` : ''}`, this.about.database, 'LiveFetch'].filter(Boolean).join(' · ');
    byID('heading').textContent = view.entity || 'LiveFetch';
    const exists = this.schema.entity(view.entity) !== undefined;
    document.querySelector('.query').hidden = !exists;
    if (!exists) this.#missing();
    else this.#show(isOther);
    // A menu is about the table before. What was typed into it counts if that table is shown again.
    if (isOther) closePopover();
  }

  /** Shows the table of the view. @param isOther true if it is another table than before. */
  #show(isOther) {
    const { view } = this;
    if (this.predicate.value !== view.where) this.predicate.value = view.where;
    this.controls.show(view, this.schema);
    this.model.show(this.schema, view.entity, this.counts);
    if (isOther) this.#begin(this.tools.columns.shown, `Loading ${view.entity} …`);
    else this.grid.heading(view.sort);
    this.#follow();
    byID('result').classList.toggle('is-read-only', this.isReadOnly);
    this.groups.follow();
    if (this.view.second && this.isLive) this.second.follow();
    else if (this.second.isOpen) this.second.close();
  }

  /** Shows an empty table, with nothing of the one before, until its rows are there. */
  #begin(columns, text) {
    this.grid.begin(columns, this.view.sort);
    replace(this.summary, text && h('span', {}, text));
    this.#note(null);
    this.welcome.show(null);
    this.inspector.clear();
  }

  /** Goes to every object of an entity. */
  goTo(entity) {
    this.go(address.blank(this.schema, entity), true);
  }

  /** Shows that the table of the view does not exist, and which ones do. */
  #missing() {
    this.#generation += 1;
    this.live?.close();
    this.live = null;
    if (this.second.isOpen) this.second.close();
    this.groups.follow();
    this.#begin([], null);
    this.model.show(this.schema, null, this.counts);
    showConnection('idle');
    this.#note(missingTableNote(this.view.entity, this.schema, (name) => this.goTo(name)));
  }

  /**
   * The tables may have changed, or the store itself.
   *
   * @param isSchemaChange true if it is the same store.
   */
  async renewed(about, isSchemaChange) {
    if (about.database !== this.about.database) return this.editing.reload();
    this.about = about;
    this.editing.follow(about, isSchemaChange);
    await this.reload();
    // Saves may have been missed, and tables made again.
    this.counts.refresh(this.schema.entities.map(({ name }) => name));
  }

  /** Fetches the model again, and the view with it where its own table is another one now. */
  async reload() {
    const { entity } = this.view;
    const before = JSON.stringify(this.schema.entity(entity));
    this.schema.load(await this.client.model());
    this.rowPanel.modelChanged();
    this.editing.modelChanged();
    const isSame = JSON.stringify(this.schema.entity(entity)) === before;
    if (!isSame || !this.live || this.live.state === 'failed') this.#restart();
    else this.model.show(this.schema, entity, this.counts);
    this.count();
  }

  /** Asks the user for another token after the current one has ended. Simultaneous calls share one dialog. */
  renew() {
    return (this.#renewal ??= this.#renew().finally(() => { this.#renewal = null; }));
  }

  async #renew() {
    showConnection('unauthorized');
    const granted = await signIn('The token is no longer valid.');
    showSession(granted, () => this.editing.leave());
    this.mayWrite = granted.write;
    this.rowPanel.restart();
    this.#restart();
  }

  /** Shows the view from its beginning: the columns may be others. */
  #restart() {
    const { view } = this;
    this.view = null;
    this.go(view.entity === '' ? address.initial(this.schema) : view);
  }

  /** Counts the rows of every table. */
  count() {
    this.counts.load(this.schema.entities);
  }

  /** @param isStep true if Back leads to the previous view. */
  change(patch, isStep = true) {
    const isSame = Object.entries(patch).every(([name, value]) => this.view[name] === value);
    if (!isSame) this.go({ ...this.view, ...patch }, isStep);
  }

  get isReadOnly() {
    return this.schema.entity(this.view.entity)?.readOnly !== false || this.storeIsReadOnly
      || !this.mayWrite || !this.isLive;
  }

  get isLive() {
    return this.#notLive === null;
  }

  get result() {
    return this.live?.current;
  }

  /** Follows the view; the former result stays until the new one arrives. */
  #follow() {
    this.#notLive = this.storeIsReadOnly ? 'the database is served read-only'
      : this.schema.notLiveReason(this.view.entity);
    this.#window = { offset: 0, size: FIRST };
    this.#isOther = true;
    this.grid.element.classList.add('is-stale');
    this.#open();
  }

  /** Opens the fetch of the window. */
  #open() {
    const generation = (this.#generation += 1);
    const former = this.live;
    const isCurrent = () => generation === this.#generation;
    former?.close();
    this.request = address.request(this.view, this.finding.where, this.schema, this.#window);
    const handlers = {
      onSnapshot: (current, snapshot, { bytes }) => {
        if (this.#isOther) this.traffic = new Traffic();
        this.traffic.snapshot(current.count, bytes);
        this.#checkHistory(current.token);
      },
      onDiff: (diff, current, { bytes }) => this.#diff(diff, current, bytes),
      onChange: (current, { cause }) => isCurrent() && cause !== 'diff' && this.#draw(current),
      onState: (state, error) => isCurrent() && this.#connection(state, error),
      onError: (error) => isCurrent() && this.#refused(error) };
    this.live = this.isLive ? this.client.live(this.request, handlers)
      : new PlainFetch(this.client, this.request, handlers);
  }

  /** A token of another history: the tables have changed, or the store. The feed of saves says so where the page may read it. */
  #checkHistory(token) {
    if (this.hasFeed || this.storeIsReadOnly || historyOf(token) === historyOf(this.about.token)) return;
    this.client.about().then((about) => this.renewed(about, false)).catch(() => {});
  }

  // MARK: The window

  #seen(first, last) {
    this.#range = [first, last];
    const text = `rows ${number(first + 1)}–${number(last + 1)}`;
    if (this.#rangeText.textContent !== text) this.#rangeText.textContent = text;
    this.#fetchAround();
  }

  /** Fetches the rows around the visible ones unless they are loaded or requested. */
  #fetchAround = throttle(() => {
    const { layout } = this.grid;
    const { offset, size } = this.#window;
    const held = this.result ? { offset, count: layout.count, total: layout.total,
      size: this.result.truncated ? layout.count : Math.min(size, SIZE) }
      : { offset, count: size, total: layout.total };
    const next = this.live && !this.#isOther ? nextOffset(held, ...this.#range) : null;
    if (next === null) return;
    this.#window = { offset: next, size: Math.min(size, SIZE) };
    this.#open();
  }, WINDOW_PAUSE);

  #connection(state, error) {
    showConnection(state, state === 'plain' ? this.#notLive : error?.message);
    if (state === 'live') this.editing.reached();
  }

  #refused(error) {
    if (this.isLive && error.code === 'not-observable') {
      this.#notLive = error.message.replaceAll('`', '').replace(/\.$/, '');
      byID('result').classList.toggle('is-read-only', this.isReadOnly);
      if (this.second.isOpen) this.second.close();
      this.groups.follow();
      return this.#open();
    }
    if (error.status === 401) return this.renew();
    if (error.code === 'unknown-entity') return this.reload().catch(() => {});
    if (error.code === 'answer-too-large' && this.request.limit > 1) {
      this.#window = { ...this.#window, size: smaller(this.request.limit, this.counts.get(this.view.entity)) };
      return this.#open();
    }
    const again = () => { this.predicate.objection(null); showConnection('connecting'); this.#open(); };
    this.predicate.objection(error, { again, remove: (name) => this.change({ [name]: '' }) });
    showConnection(this.predicate.isUnfinished ? 'unfinished' : isTooSlow(error) ? 'slow' : 'failed');
    this.inspector.show({ request: this.request, result: null, traffic: this.traffic,
      schema: this.schema, isLive: this.isLive });
    if (!this.grid.isEmpty) return;
    replace(this.summary, h('span', {}, 'no result'));
    this.#note(refusedNote(error));
  }

  /** Shows an element in place of the table's rows; null removes it. */
  #note(element) {
    byID('result').querySelector('.empty')?.remove();
    if (element) byID('result').querySelector('.grid-frame').append(element);
  }

  // MARK: Showing

  #diff(diff, current, bytes) {
    this.second.heard(diff.to);
    const entry = this.traffic.diff(diff, bytes, current.count ?? 0);
    const moved = new Set((diff.items?.moved ?? []).map(({ id }) => String(id)));
    this.#draw(current, moved);
    // After the next frame it is on the screen.
    requestAnimationFrame(() => setTimeout(() => {
      this.traffic.painted(entry, performance.now());
      this.inspector.timed();
    }));
  }

  #draw(current, moved) {
    this.predicate.objection(null);
    this.names.take(current.included);
    this.grid.element.classList.remove('is-stale');
    const total = rowCount(this.view, current.total);
    this.grid.show(current, { hasHeaders: this.view.section !== '', moved,
      measure: sortingAttribute(this.schema, this.view),
      window: { before: Math.min(this.#window.offset, total), total },
      isNews: moved !== undefined, isOther: this.#isOther });
    this.#isOther = false;
    const isWhole = this.view.where === '' && !this.view.limit && !this.view.offset;
    if (isWhole) this.counts.set(this.view.entity, current.total);
    this.#drawAround(current);
  }

  #drawAround(current) {
    showSummary(this.summary, { view: this.view, result: current, traffic: this.traffic,
      nameOfEntity: this.view.entity, notLive: this.#notLive,
      range: this.grid.layout.count < this.grid.layout.total && this.#rangeText }, this.#actions());
    this.#note(emptyNote(current, this, { isLive: this.isLive,
      clear: () => this.change({ where: '' }),
      insert: this.editing.canInsert ? () => this.editing.insert() : null }));
    if (this.groups.isOpen) return this.groups.inspect();
    return this.inspector.show({ request: this.request, result: current, traffic: this.traffic,
      schema: this.schema, isLive: this.isLive,
      example: this.isReadOnly ? null : exampleUpdate(this.schema, this.view, this.grid.visible) });
  }

  #actions() {
    const { limit, offset } = this.view;
    const move = (step) =>
      this.change({ offset: String(Math.max(0, Number(offset) + step * Number(limit))) });
    const isWelcome = this.welcome.show(this.isLive && this.demonstrations.buttons(true));
    const insert = this.editing.canInsert && action('plus', `New ${this.view.entity}`, 'New', () => this.editing.insert());
    const buttons = [...(isWelcome ? [] : this.demonstrations.buttons(false)), ...this.tools.buttons(), insert];
    return { next: () => move(1), previous: () => move(-1), refresh: () => this.live.refresh(),
      buttons };
  }

  #demonstrated() {
    this.view = { ...this.view, second: this.second.isOpen ? '1' : '' };
    address.write(this.view, false);
    if (this.result) this.#drawAround(this.result);
  }

  #completionContext() {
    return { schema: this.schema, entity: this.view.entity,
      values: (path) => this.names.textsAt(this.view.entity, this.result, path) };
  }

  /** The key path that a column is sorted by: that of the label where it is a relationship. */
  sortPath({ type, name, destination }) {
    const label = type === 'relationship' ? this.schema.label(destination) : undefined;
    return label ? `${name}.${label}` : name;
  }

  /** While a name of a column is typed it is not searched for. */
  #typedText(where, isDone) {
    if (isDone) return this.#typed.now(where);
    return this.predicate.isCompleting && isSearch(where) ? this.#typed.cancel() : this.#typed(where);
  }

  /** Rows are called by another column. */
  renamed() {
    this.names.forget();
    this.refill();
  }

  // MARK: Saving

  /** Shows what is staged. */
  refill() {
    this.grid.refill();
    this.rowPanel.refill();
  }

  saved(token, sentAt) {
    this.traffic.saved(token, sentAt);
    this.inspector.timed();
  }
}
