// Changes of objects: the grid's editors, the dialog for a new object, and what is staged until it
// is saved, in the tray.

import { ask, insertDialog } from './dialogs.js';
import { editor } from './editors.js';
import { show } from './format.js';
import { own } from './json.js';
import { Saving } from './saving.js';
import { SetAside } from './set-aside.js';
import { Staged } from './staged.js';
import { isSameStore, StagedStorage } from './staged-storage.js';
import { Tray } from './tray.js';

const unkept = { text: 'The changes do not fit in what the browser keeps for this tab: a reload loses them.', actions: [] };

export class Editing {
  #page;
  #tray;
  #storage;
  #aside;
  #isReloading = false;
  /** Notes of texts that were typed, are no values, and whose cells are gone. */
  #lost = [];

  /** @param page `{client, about, schema, names, view, isReadOnly, refill(), rowPanel, saved(token, sentAt), renewed(about)}`. */
  constructor(page, element) {
    this.#page = page;
    this.#storage = new StagedStorage(page.about, tabStorage());
    this.#aside = new SetAside(this.#storage, (changes) => {
      this.staged.restore(changes);
      this.#keepKnown();
    });
    this.staged = new Staged(() => this.#changed(), this.#storage);
    this.saving = new Saving(page.client, this.staged, {
      redraw: () => this.#changed(), complain: (...refusal) => this.#tray.complain(...refusal),
      saved: (token, sentAt) => page.saved(token, sentAt), nameOf: (change) => this.#nameOf(change),
      show: (change, name, value) => this.#shown(change, name, value), isElsewhere: () => this.#isElsewhere() });
    addEventListener('beforeunload', (event) => this.#isUnsaved && event.preventDefault());
    this.#tray = new Tray(element, {
      onSave: () => this.saving.save(), onDiscard: () => this.staged.clear(),
      onDrop: (change) => this.staged.drop(change), onOpen: (change) => this.#open(change),
      keyOf: (entity) => page.schema.entity(entity)?.key ?? 'id',
      onInsertAgain: (change) => this.#insertAgain(change), nameOf: (change) => this.#nameOf(change),
      show: (change, name, value) => this.#shown(change, name, value) });
  }

  #changed() {
    this.#page.refill();
    this.#tray.show(this.staged.list, this.saving.isBusy, this.#notes);
  }

  /** An abstract entity has no objects but its subentities'. */
  get canInsert() {
    const { isReadOnly, schema, view } = this.#page;
    return !isReadOnly && !schema.entity(view.entity).abstract;
  }

  insert() {
    if (this.canInsert) this.#insertDialog(this.#page.view.entity, this.#page.client.temporaryID());
  }

  #insertDialog(entity, temporaryID, given) {
    const add = (values) => {
      this.#tray.complain(null);
      this.staged.insert(entity, values, temporaryID);
    };
    insertDialog(entity, this.#page.schema.columns(entity), { add, given, ...this.lookups });
  }

  /** Shows the row of a staged change; one that is new in the dialog that made it. */
  #open({ kind, entity, id, temporaryID, values }) {
    if (kind === 'insert') this.#insertDialog(entity, temporaryID, values);
    else this.#page.rowPanel.open(entity, id);
  }

  /** The handlers of the grid. */
  get handlers() {
    const page = this.#page;
    return {
      staged: (id) => this.staged.of(page.view.entity, id),
      nameOf: (entity, id) => page.names.nameOf(entity, id),
      onRemove: (item) => !page.isReadOnly && this.remove(page.view.entity, item),
      editor: (item, column, { close }) => (page.isReadOnly ? null : this.#editor(item, column, close)) };
  }

  /** Stages the deletion of a row, or takes it back. */
  remove(entity, item) {
    this.staged.toggleDeletion(entity, item, this.#seen(entity, item));
  }

  /** Stages a row that another client deleted as a new one, with its key, its last values and the staged ones. */
  #insertAgain(change) {
    const { client, schema } = this.#page;
    const { id, item } = change;
    const entity = schema.kindOf(change.entity, item);
    const names = schema.fields(entity).filter(({ isFixed, name }) => !isFixed && Object.hasOwn(item, name)).map(({ name }) => name);
    const lists = Object.entries(change.values).filter(([name]) => schema.relationship(entity, name)?.toMany)
      .map(([name, { add = [] }]) => [name, { add }]);
    const values = { id, ...Object.fromEntries(names.map((name) => [name, item[name]])), ...change.values, ...Object.fromEntries(lists) };
    this.#tray.complain(null);
    this.staged.batch(() => {
      this.staged.drop(change);
      this.staged.insert(entity, values, client.temporaryID());
    });
  }

  /** The values that a deletion is based on. */
  #seen(entity, item) {
    const columns = this.#page.schema.columns(entity)
      .filter(({ isID, type, name }) => !isID && !['json', 'binary'].includes(type) && Object.hasOwn(item, name));
    return Object.fromEntries(columns.map(({ name }) => [name, item[name]]));
  }

  /** Shows what an earlier page left, of tables that are there. */
  resume() {
    this.#keepKnown();
    this.#lookAside();
  }

  #keepKnown() {
    this.staged.keepOnly((entity) => this.#page.schema.entity(entity) !== undefined);
    this.modelChanged();
  }

  // MARK: Stores

  /** Adopts another schema, or another store. @param isSchemaChange true if it is the same store. */
  follow(about, isSchemaChange) {
    const text = isSchemaChange ? this.#storage.read() : null;
    if (text !== null) this.#storage.write(null);
    this.#storage.follow(about);
    if (text !== null) this.#storage.write(text);
    this.staged.readAgain();
    this.#lookAside();
  }

  /** Loads the page again, which keeps what is staged. */
  reload() {
    this.#isReloading = this.#storage.isKept;
    location.reload();
  }

  /** True if closing the tab loses something, or may: what is being saved may be refused. Stages the text of an open cell first. */
  get #isUnsaved() {
    if (this.#isReloading) return false;
    document.activeElement?.blur();
    const isFilled = (dialog) => !dialog.dispatchEvent(new Event('cancel', { cancelable: true }));
    return this.saving.isBusy || this.staged.count > 0 || !this.#storage.isKept || document.querySelector('input.is-wrong, textarea.is-wrong') !== null
      || [...document.querySelectorAll('dialog.insert')].some(isFilled);
  }

  /** Forgets what is staged, before another user comes; resolves to whether the user agrees. */
  async leave() {
    const isAgreed = !(this.#isUnsaved || this.#aside.notes.length > 0)
      || await ask('Sign out?', 'The changes that are not saved are discarded.', 'Discard and sign out');
    if (!isAgreed) return false;
    this.#isReloading = true;
    this.staged.clear();
    this.#storage.clear();
    return true;
  }

  async #isElsewhere() {
    const about = await this.#page.client.about().catch(() => this.#storage.about);
    if (isSameStore(about, this.#storage.about)) return false;
    await this.#page.renewed(about);
    return true;
  }

  #lookAside() {
    if (this.#aside.look() || this.staged.count > 0) this.#changed();
  }

  get #notes() {
    return [...this.#lost, ...this.#aside.notes, ...(this.#storage.isKept ? [] : [unkept])];
  }

  /** Shows a typed text that is no value of its column, after its cell is gone. */
  keepText(entity, id, { name }, text) {
    this.#keep(`Not staged: “${text}” in ${name} of ${entity} ${id} is no value of this column.`);
  }

  /** The model is another one: what is staged for columns that are gone is seen, and not saved. */
  modelChanged() {
    const { schema } = this.#page;
    const isKnown = (entity, name) => schema.entity(entity) === undefined || ['id', 'entity'].includes(name)
      || (schema.attribute(entity, name) ?? schema.relationship(entity, name)) !== undefined;
    for (const { entity, id, name, value } of this.staged.takeUnknown(isKnown)) {
      this.#keep(`Not staged: ${value === null ? 'NULL' : `“${show(value)}”`} in ${name} of ${id === undefined ? `a new ${entity}` : `${entity} ${id}`}, which has no such column now.`);
    }
  }

  #keep(text) {
    const note = { text, actions: [['Discard', () => {
        this.#lost = this.#lost.filter((each) => each !== note);
        this.#changed();
      }]] };
    this.#lost.push(note);
    this.#changed();
  }

  /** The server answers again. */
  reached() {
    if (this.#tray.forgetOutage()) this.#changed();
  }

  #editor(item, column, close) {
    const { entity } = this.#page.view;
    const staged = this.staged.of(entity, item.id)?.values ?? {};
    const value = own(Object.hasOwn(staged, column.name) ? staged : item, column.name);
    return editor(column, value, {
      done: (next, step) => { close(step); this.staged.set(entity, item, column.name, next); },
      cancel: (step = 0) => close(step), lost: (text) => text && this.keepText(entity, item.id, column, text), ...this.lookups });
  }

  /** Finds and names related rows. */
  get lookups() {
    const { names } = this.#page;
    return {
      search: (...args) => names.search(...args), nameOf: (...args) => names.nameOf(...args) };
  }

  #shown(change, name, value) {
    const { schema, names } = this.#page;
    const relationship = schema.relationship(change.entity, name);
    if (relationship?.toMany) return this.#shownList(relationship, value);
    if (relationship) return names.nameOf(relationship.destination, value) ?? `${relationship.destination} ${value}`;
    return show(value, schema.attribute(change.entity, name)?.type);
  }

  /** Rows that are added to a relationship and removed from it: `+ red, − blue`. */
  #shownList({ destination }, value) {
    const { names } = this.#page;
    const name = (id) => names.nameOf(destination, id) ?? `${destination} ${id}`;
    const { add = [], remove = [] } = value ?? {};
    return [...add.map((id) => `+ ${name(id)}`), ...remove.map((id) => `− ${name(id)}`)].join(', ');
  }

  #nameOf({ entity, item, values, id }) {
    const { schema } = this.#page;
    const key = id ?? own(values, 'id');
    return schema.title(entity, item ?? {}) || schema.title(entity, values ?? {}) || (key === undefined ? entity : `${entity} ${key}`);
  }
}

/** A browser that keeps nothing is no error. */
function tabStorage() {
  try { return sessionStorage; } catch { return null; }
}
