// Another client beside the table: a connection of its own, by long-poll, with the same objects in
// another shape. What one of them saves, both see.

import { connect } from '../livefetch.js';
import { sortingAttribute } from './demo-traffic.js';
import { h } from './dom.js';
import { bytes, isNumeric, milliseconds } from './format.js';
import { Grid } from './grid.js';
import { sortsBy, sortTerms, sortText } from './sort-terms.js';

const MOST = 500;

export class SecondClient {
  #parent;
  #page;
  #pane = null;
  #live = null;
  #client = null;
  #status = h('span', { class: 'second-status' });
  /** The times at which the first client received each token. */
  #heard = new Map();

  /** @param page `{schema, names, view, where, token(), onClose()}`. */
  constructor(parent, page) {
    this.#parent = parent;
    this.#page = page;
  }

  get isOpen() {
    return this.#pane !== null;
  }

  toggle() {
    if (this.isOpen) this.close();
    else this.follow();
  }

  close() {
    this.#live?.close();
    this.#pane?.remove();
    this.grid?.close();
    [this.#live, this.#pane, this.grid] = [null, null, null];
  }

  /** Follows the page's view; creates the pane if there is none. */
  follow() {
    const { schema, view } = this.#page;
    const request = shape(schema, view, this.#page.where);
    if (!this.isOpen) this.#open();
    this.#live?.close();
    this.#client ??= connect('', { stream: false, token: this.#page.token });
    this.grid.begin(columns(schema, view.entity, request.sort), sortText(request.sort));
    this.#status.textContent = 'by long-poll';
    let isOther = true;
    this.#live = this.#client.live(request, {
      onSnapshot: (current) => this.#page.names.take(current.included, 'second'),
      onDiff: (diff, current, info) => this.#diff(diff, current, info),
      onChange: (current, { cause }) => {
        if (cause !== 'diff') this.#draw(current, { isOther });
        isOther = false;
      },
      onState: (state) => { this.#pane.dataset.state = state; } });
  }

  /** The first client has received a token. */
  heard(token) {
    this.#heard.set(token, performance.now());
    if (this.#heard.size > 40) this.#heard.delete(this.#heard.keys().next().value);
  }

  #open() {
    this.#pane = h('section', { class: 'second', 'aria-label': 'Second client' },
      h('header', { class: 'second-head' }, h('h2', {}, 'Second client'), this.#status,
        h('button', { class: 'icon-button', 'aria-label': 'Close the second client',
          onclick: () => { this.close(); this.#page.onClose(); } }, '×')));
    this.grid = new Grid(this.#pane, {
      staged: () => undefined, nameOf: (...args) => this.#page.names.nameOf(...args),
      onRemove() {}, onSort() {}, editor: () => null });
    this.#parent.append(this.#pane);
  }

  #diff(diff, current, info) {
    const moved = new Set((diff.items?.moved ?? []).map(({ id }) => String(id)));
    this.#draw(current, { moved, isNews: true });
    const first = this.#heard.get(diff.to);
    const after = first === undefined ? '' : `, ${milliseconds(Math.max(0, performance.now() - first))} later`;
    this.#status.textContent = `by long-poll: ${bytes(info.bytes)}${after}`;
  }

  #draw(current, how) {
    this.grid.show(current, { hasHeaders: false, measure: measure(this.#live?.request ?? {}), ...how });
  }
}

const measure = ({ sort }) => sort?.[0].replace(/^-/, '');

/** The same objects without sections, ranked by the number whose edits show best. */
function shape(schema, view, where) {
  const number = sortingAttribute(schema, view)
    ?? schema.entity(view.entity).attributes.find(({ type }) => isNumeric(type))?.name;
  const terms = number ? [`-${number}`] : sortTerms(view.sort);
  const sort = terms.length > 0 ? terms : [schema.label(view.entity) ?? 'id'];
  return { entity: view.entity, where, sort, limit: MOST };
}

/** The label and the column that ranks the rows. */
function columns(schema, entity, sort) {
  const all = schema.columns(entity);
  const ranked = all.slice(1).find(({ name }) => sort.some((term) => sortsBy(term, name)));
  return [all[0], ranked ?? all[1]].filter(Boolean).map((column) => ({ ...column, isFixed: true }));
}
