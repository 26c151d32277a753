// The rows of a to-many relationship in the row panel: live, with buttons that add and remove.

import { h, replace } from './dom.js';
import { number } from './format.js';
import { PlainFetch } from './plain-fetch.js';
import { equals } from './predicate-text.js';
import { searchButton } from './related-editor.js';

/** The most rows that are listed; the others are in the table. */
const MOST = 20;

export class RelatedList {
  #relationship;
  #options;
  #live;
  #result = null;
  /** The staged changes: `{add: [id], remove: [id]}`. */
  #staged = { add: [], remove: [] };
  #isReadOnly = true;
  #head = h('p', { class: 'row-label' });
  #list = h('ul', { class: 'related-list' });
  #foot = h('div', { class: 'related-foot' });

  /**
   * @param options `{client, names, schema, id, isLive, search, nameOf}`; `open(entity, id)` goes to
   * a row, `go(view)` to a table, `commit({add, remove})` stages.
   */
  constructor(relationship, options) {
    this.#relationship = relationship;
    this.#options = options;
    this.element = h('div', { class: 'row-field', dataset: { property: relationship.name } },
      this.#head, this.#list, this.#foot);
    this.#follow();
  }

  get name() {
    return this.#relationship.name;
  }

  close() {
    this.#live?.close();
    this.#live = null;
  }

  show(staged, isReadOnly) {
    this.#staged = { add: [], remove: [], ...staged };
    this.#isReadOnly = isReadOnly || this.#relationship.isFixed;
    this.element.classList.toggle('is-staged', staged !== undefined);
    this.#draw();
  }

  #follow() {
    const { client, schema, id, isLive } = this.#options;
    const { destination, inverse } = this.#relationship;
    if (!inverse) return;
    const isMany = schema.relationship(destination, inverse)?.toMany;
    // Only their names are shown: other values may be large.
    const labels = schema.labels(destination);
    const request = { entity: destination, where: `${isMany ? 'ANY ' : ''}%K == %@`, arguments: [inverse, id],
      ...(labels.length > 0 && { select: labels, sort: labels.slice(0, 1) }), limit: MOST, count: 'exact' };
    const handlers = { onChange: (current) => { this.#result = current; this.#draw(); },
      onError: (error) => replace(this.#foot, h('p', { class: 'complaint' }, error.message)) };
    this.#live = isLive ? client.live(request, handlers) : new PlainFetch(client, request, handlers);
  }

  #draw() {
    const { destination } = this.#relationship;
    const items = this.#result?.sections[0]?.items ?? [];
    const total = this.#result?.total ?? 0;
    replace(this.#head, this.name, h('small', {}, `⇉ ${destination}${this.#result ? ` · ${number(total)}` : ''}`));
    const known = items.map((item) => this.#line(item.id, this.#options.schema.relatedTitle(destination, item, item.id)));
    const added = this.#staged.add.filter((id) => !items.some((item) => String(item.id) === String(id)))
      .map((id) => this.#line(id, this.#options.nameOf(destination, id)));
    replace(this.#list, known, added);
    if (this.#foot.querySelector('.editor')) return;
    const hadFocus = this.#foot.contains(document.activeElement);
    replace(this.#foot, total > 0 && h('button', { class: 'text-button', type: 'button', onclick: () => this.#showTable() },
      total > items.length ? `All ${number(total)} in the table` : 'Show in the table'),
    !this.#isReadOnly && h('span', { class: 'related-adder' }, this.#adder()));
    if (hadFocus && !this.#foot.contains(document.activeElement)) this.#foot.querySelector('.related-adder button')?.focus();
  }

  #line(id, name) {
    const { destination } = this.#relationship;
    const text = name || `${destination} ${id}`;
    const { add, remove } = this.#staged;
    const has = (list) => list.some((other) => String(other) === String(id));
    const state = has(add) ? 'is-added' : has(remove) ? 'is-removed' : '';
    return h('li', { class: state },
      h('button', { class: 'text-button', type: 'button', title: `Show ${destination} ${id}`,
        onclick: () => this.#options.open(destination, id) }, text),
      !this.#isReadOnly && h('button', { class: 'icon-button', type: 'button',
        'aria-label': state === '' ? `Remove ${text}` : `Undo for ${text}`,
        onclick: () => this.#toggle(id, state) }, state === '' ? '×' : '↺'));
  }

  /** Removes a row, or takes back what is staged for it. */
  #toggle(id, state) {
    const without = (list) => list.filter((other) => String(other) !== String(id));
    const { add, remove } = this.#staged;
    this.#commit({ add: without(add), remove: state === '' ? [...remove, id] : without(remove) });
  }

  #commit({ add, remove }) {
    const isEmpty = add.length === 0 && remove.length === 0;
    this.#options.commit(isEmpty ? undefined : { add, remove });
  }

  #adder() {
    const { destination } = this.#relationship;
    const { search, nameOf } = this.#options;
    const button = h('button', { class: 'button small', type: 'button' }, `Add ${destination}`);
    return searchButton(button, { name: this.name, destination, optional: false }, () => null, { search, nameOf, done: (id) => this.#add(id) });
  }

  #add(id) {
    const { add, remove } = this.#staged;
    const isThere = this.#result?.sections[0]?.items.some((item) => String(item.id) === String(id));
    const isStaged = add.some((other) => String(other) === String(id));
    this.#commit({ add: isThere || isStaged ? add : [...add, id],
      remove: remove.filter((other) => String(other) !== String(id)) });
  }

  #showTable() {
    const { schema, id, go } = this.#options;
    const { destination, inverse } = this.#relationship;
    const { toMany, destination: own } = schema.relationship(destination, inverse);
    go(destination, `${toMany ? 'ANY ' : ''}${equals({ name: inverse, type: schema.entity(own).idType }, id)}`);
  }
}
