// The panel beside the table: one row with all its values in full, the rows related to it, and its
// history. It follows the row by a fetch of its own, so that the row need not be in the table.

import { h, replace } from './dom.js';
import { action } from './actions.js';
import { isSame, own } from './json.js';
import { PlainFetch } from './plain-fetch.js';
import { RelatedList } from './related-list.js';
import { RowField } from './row-field.js';
import { RowHistory } from './row-history.js';
import { rowLike } from './row-key.js';

export class RowPanel {
  #parent;
  #page;
  #live = null;
  /** The row that is shown: `{entity, id, like}`, where rows may have the same id with its values; null while the panel is closed. */
  #row = null;
  #item = null;
  /** The model of its table, as text. */
  #model;
  /** The rows from which links led here. */
  #trail = [];
  #fields = [];
  #lists = [];
  #history;
  #head = h('header', { class: 'row-panel-head' });
  #body = h('div', { class: 'row-panel-body' });

  /**
   * @param page `{client, schema, names, storeIsReadOnly, mayWrite, editing, go(entity, where), step(by),
   * closed()}`; `step` goes to the next row of the table.
   */
  constructor(parent, page) {
    this.#parent = parent;
    this.#page = page;
    replace(parent, this.#head, this.#body);
    parent.addEventListener('keydown', (event) => event.key === 'Escape' && this.close());
  }

  get isOpen() {
    return this.#row !== null;
  }

  shows(entity, id) {
    return this.#row?.entity === entity && String(this.#row.id) === String(id);
  }

  /** Shows a row. @param options `isLink`: whether the row that was shown before led to it; `item`: its values, where they are known. */
  open(entity, id, { isLink = false, item } = {}) {
    const like = this.#page.schema.entity(entity)?.observable === false ? item : undefined;
    if (this.shows(entity, id) && isSame(like, this.#row.like)) return;
    this.#trail = isLink ? [...this.#trail, this.#row] : [];
    this.#begin({ entity, id, like });
  }

  close() {
    if (!this.isOpen) return;
    this.#end();
    this.#row = null;
    this.#parent.hidden = true;
    this.#page.closed();
  }

  /** Follows the row again: the token is another one now. */
  restart() {
    if (this.isOpen) this.#begin(this.#row);
  }

  /** Shows the row with its present columns; a row of a table that is gone is no longer shown. */
  modelChanged() {
    if (!this.isOpen || this.#model === this.#modelNow) return;
    if (this.#modelNow === undefined) this.close();
    else this.restart();
  }

  get #modelNow() {
    return JSON.stringify(this.#page.schema.entity(this.#row.entity));
  }

  /** Shows what is staged. */
  refill() {
    if (this.#item) this.#draw();
  }

  #begin(row) {
    this.#end();
    const { entity, id } = this.#row = row;
    this.#model = this.#modelNow;
    this.#parent.hidden = false;
    this.#follow(entity, id);
    this.#drawHead();
    replace(this.#body, h('p', { class: 'quiet' }, 'Loading …'));
    this.#body.scrollTop = 0;
  }

  /** Stages what is being typed before its field goes; what is no value is seen below the table. */
  #leave() {
    if (this.#body.contains(document.activeElement)) document.activeElement.blur();
    for (const { refused, column } of this.#fields) if (refused) this.#page.editing.keepText(this.#row.entity, this.#row.id, column, refused);
    this.#fields = [];
  }

  #end() {
    this.#leave();
    this.#live?.close();
    this.#lists.forEach((list) => list.close());
    this.#history?.close();
    [this.#live, this.#item, this.#fields, this.#lists] = [null, null, [], []];
  }

  // MARK: The row

  #follow(entity, id) {
    const { client, schema } = this.#page;
    const request = { entity, where: 'SELF == %@', arguments: [id],
      expand: schema.expanded(entity) };
    const row = this.#row;
    const isCurrent = () => this.#row === row;
    const handlers = { onChange: (current) => isCurrent() && this.#changed(current),
      onError: (error) => isCurrent() && this.#refused(error) };
    this.#live = this.#isLive(entity) ? client.live(request, handlers)
      : new PlainFetch(client, request, handlers);
  }

  #isLive(entity) {
    return !this.#page.storeIsReadOnly && this.#page.schema.notLiveReason(entity) === null;
  }

  #changed(current) {
    const { entity, id } = this.#row;
    // The result may hold rows that are being inserted as well.
    const item = rowLike(current.sections[0]?.items ?? [], id, this.#row.like);
    if (!item) return this.#gone();
    // A row that inherits has properties that its parent entity does not.
    const kind = this.#page.schema.kindOf(entity, item);
    if (kind !== entity) return this.#begin({ entity: kind, id });
    this.#page.names.take(current.included, 'row');
    const isFirst = this.#item === null;
    this.#item = item;
    if (isFirst) this.#build();
    this.#draw();
    return this.#history?.changed();
  }

  #gone() {
    this.#leave();
    this.#item = null;
    replace(this.#body, h('p', { class: 'quiet' }, 'This row does not exist; it may have been deleted.'));
    this.#drawHead();
  }

  #refused(error) {
    replace(this.#body, h('p', { class: 'complaint', role: 'alert' }, error.message));
  }

  #build() {
    const { schema } = this.#page;
    const { entity, id } = this.#row;
    const lookups = this.#page.editing.lookups;
    const open = (name, other) => this.open(name, other, { isLink: true });
    this.#fields = schema.fields(entity).map((column) => new RowField(column, { ...lookups, open,
      filter: (condition) => this.#page.filter(entity, condition), stored: async (name) => (await this.#stored(entity, id, name)).blob(),
      isText: async (name) => /^text\/plain/.test((await this.#stored(entity, id, name, 'HEAD')).headers.get('Content-Type')),
      commit: (item, value) => this.#page.editing.staged.set(entity, item, column.name, value) }));
    this.#lists = schema.toMany(entity).map((relationship) => new RelatedList(relationship, { ...lookups, open,
      ...this.#listOptions(entity, id, relationship) }));
    this.#history = new RowHistory(this.#page, entity, id);
    replace(this.#body, this.#fields.map(({ element }) => element),
      this.#lists.map(({ element }) => element), this.#isLive(entity) && this.#history.element);
  }

  /** The server's answer with a value as it is stored; rejects where the id may be that of another row. */
  async #stored(entity, id, name, method) {
    if (this.#row.like && this.#page.schema.hasKey(entity)) throw new Error(`Several rows of ${entity} may have this id.`);
    const path = `/v1/objects/${[entity, id, name].map(encodeURIComponent).join('/')}`;
    return this.#page.client.transport.send({ path, method });
  }

  #listOptions(entity, id, relationship) {
    const { client, names, schema, editing, go } = this.#page;
    return { client, names, schema, id, go, isLive: this.#isLive(relationship.destination),
      commit: (value) => editing.staged.set(entity, this.#item, relationship.name, value) };
  }

  // MARK: Showing

  #draw() {
    const { entity, id } = this.#row;
    const staged = this.#page.editing.staged.of(entity, id);
    const isReadOnly = this.#isReadOnly;
    for (const field of this.#fields) field.show(this.#item, staged?.values, isReadOnly);
    for (const list of this.#lists) list.show(own(staged?.values, list.name), isReadOnly);
    this.#parent.classList.toggle('is-removed', staged?.isDeleted === true);
    this.#drawHead(staged?.isDeleted);
  }

  get #isReadOnly() {
    const { schema, storeIsReadOnly, mayWrite } = this.#page;
    return storeIsReadOnly || !mayWrite || schema.entity(this.#row.entity)?.readOnly !== false;
  }

  #drawHead(isDeleted = false) {
    const { entity, id } = this.#row;
    const { schema, editing, step } = this.#page;
    const name = this.#item ? schema.title(entity, this.#item) : '';
    const icon = (text, label, onclick) =>
      h('button', { class: 'icon-button', 'aria-label': label, title: label, onclick }, text);
    const former = this.#trail.at(-1);
    const goBack = () => {
      this.#trail.pop();
      this.#begin(former);
    };
    replace(this.#head, h('div', { class: 'row-panel-title' },
      former && icon('←', `Back to ${former.entity} ${former.id}`, goBack),
      h('h2', {}, h('span', { class: 'row-panel-name' }, name || `${entity} ${id}`), h('small', {}, `${entity} ${id}`)),
      icon('↑', 'Previous row', () => step(-1)), icon('↓', 'Next row', () => step(1)),
      icon('×', 'Close the row', () => this.close())),
    !this.#isReadOnly && this.#item && h('div', { class: 'row-panel-actions' },
      action('minus', isDeleted ? 'Keep the row' : 'Delete the row', isDeleted ? 'Keep' : 'Delete',
        () => editing.remove(entity, this.#item), { isPressed: isDeleted })));
  }
}
