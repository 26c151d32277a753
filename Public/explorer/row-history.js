// The saves that changed one row, newest first, from the history that `/v1/changes` gives.

import { h, replace } from './dom.js';
import { number } from './format.js';
import { own } from './json.js';

/** The saves of one answer. */
const PAGE = 1000;
const SHOWN = 100;

const when = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium', hour12: false });

export class RowHistory {
  #page;
  #entity;
  #id;
  #abort = new AbortController();
  #isOpen = false;
  #isReading = false;
  #isStale = false;
  #since = null;
  #read = 0;
  #entries = [];
  #body = h('div', { class: 'row-history' });

  /** @param page `{client, schema}`. */
  constructor(page, entity, id) {
    this.#page = page;
    this.#entity = entity;
    this.#id = String(id);
    this.element = h('details', { class: 'row-field', ontoggle: ({ target }) => this.#toggled(target.open) },
      h('summary', {}, 'History'), this.#body);
  }

  close() {
    this.#abort.abort();
  }

  /** The row has changed: reads what is new where the history is shown. */
  changed() {
    this.#isStale = true;
    if (this.#isOpen) this.#follow();
  }

  #toggled(isOpen) {
    this.#isOpen = isOpen;
    if (isOpen) this.#follow();
  }

  async #follow() {
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      do {
        this.#isStale = false;
        await this.#readOn();
      } while (this.#isStale);
      this.#draw();
    } catch (error) {
      if (!this.#abort.signal.aborted) replace(this.#body, h('p', { class: 'quiet' }, error.message));
    } finally {
      this.#isReading = false;
    }
  }

  async #readOn() {
    while (this.#isOpen) {
      const since = this.#since === null ? '' : `&since=${encodeURIComponent(this.#since)}&wait=0`;
      const { data } = await this.#page.client.transport.json({
        path: `/v1/changes?limit=${PAGE}${since}`, signal: this.#abort.signal });
      this.#since = data.to;
      this.#read += data.saves.length;
      this.#entries = [...this.#entries, ...data.saves.flatMap((save) => this.#own(save))].slice(-SHOWN);
      if (data.saves.length === 0) return;
      this.#draw(`${number(this.#read)} saves read …`);
    }
  }

  /** The change that a save made to this row, as a list of at most one. */
  #own({ at, inserted, updated, deleted }) {
    const names = this.#page.schema.family(this.#entity);
    const isOwn = (id) => String(id) === this.#id;
    const has = (lists) => names.some((name) => own(lists, name)?.some(isOwn));
    const update = names.flatMap((name) => own(updated, name) ?? []).find(({ id }) => isOwn(id));
    if (has(inserted)) return [{ at, text: 'inserted' }];
    if (has(deleted)) return [{ at, text: 'deleted' }];
    return update ? [{ at, text: update.properties.join(', ') || 'changed' }] : [];
  }

  /** @param progress the text while it is read on. */
  #draw(progress) {
    const newest = this.#entries.toReversed();
    const text = progress ?? (newest.length === 0 && `No change of this row in the last ${number(this.#read)} saves.`);
    replace(this.#body, text && h('p', { class: 'quiet' }, text), newest.length > 0 && h('ul', {}, newest.map(({ at, text: change }) => h('li', {},
      h('time', { datetime: at }, when.format(new Date(at))), h('span', {}, change)))));
  }
}
