// Which columns of a table are shown, in which order and how wide: remembered by this browser for
// each table.

import { own } from './json.js';

const prefix = 'livefetch.columns.';
const NARROWEST = 48;
const WIDEST = 2000;

/** Reads and writes texts by name; does nothing where the browser allows no storage. */
export const browserStorage = {
  read(name) {
    try { return localStorage.getItem(name); } catch { return null; }
  },
  write(name, text) {
    try {
      if (text === null) localStorage.removeItem(name);
      else localStorage.setItem(name, text);
    } catch { /* Storage is forbidden or full: after a reload, the change is lost. */ }
  } };

/** The settings of a table whose columns are as the server sends them. */
const UNCHANGED = Object.freeze({ order: [], hidden: [], widths: {} });

export class ColumnSettings {
  #storage;
  #settings = new Map();

  constructor(storage = browserStorage) {
    this.#storage = storage;
  }

  /** The columns to show, in their order, each with its `width` in pixels where one was chosen. All of them if every one is hidden. */
  arrange(entity, columns) {
    const { order, hidden, widths } = this.#of(entity);
    const place = (name) => (order.includes(name) ? order.indexOf(name) : Infinity);
    const sorted = columns.map((column, index) => ({ column, index })).sort((a, b) =>
      place(a.column.name) - place(b.column.name) || a.index - b.index).map(({ column }) => column);
    const shown = sorted.filter(({ name }) => !hidden.includes(name));
    return (shown.length > 0 ? shown : sorted).map((column) => ({ ...column, width: own(widths, column.name) }));
  }

  isHidden(entity, name) {
    return this.#of(entity).hidden.includes(name);
  }

  isChanged(entity) {
    return this.#of(entity) !== UNCHANGED;
  }

  setHidden(entity, name, isHidden) {
    const settings = this.#of(entity);
    const hidden = settings.hidden.filter((other) => other !== name);
    this.#put(entity, { ...settings, hidden: isHidden ? [...hidden, name] : hidden });
  }

  setWidth(entity, name, width) {
    const settings = this.#of(entity);
    const rounded = Math.round(Math.max(NARROWEST, Math.min(WIDEST, width)));
    this.#put(entity, { ...settings, widths: { ...settings.widths, [name]: rounded } });
  }

  /**
   * Moves a column.
   *
   * @param columns the names of the columns that are shown, in their order.
   * @param index where it is among them afterwards.
   */
  move(entity, columns, name, index) {
    const rest = columns.filter((other) => other !== name);
    const at = Math.max(0, Math.min(rest.length, index));
    const settings = this.#of(entity);
    const others = settings.order.filter((other) => !columns.includes(other));
    this.#put(entity, { ...settings, order: [...rest.toSpliced(at, 0, name), ...others] });
  }

  reset(entity) {
    this.#settings.delete(entity);
    this.#storage.write(prefix + entity, null);
  }

  #of(entity) {
    if (!this.#settings.has(entity)) this.#settings.set(entity, this.#read(entity));
    return this.#settings.get(entity);
  }

  #read(entity) {
    try {
      const { order, hidden, widths } = JSON.parse(this.#storage.read(prefix + entity));
      const whole = Object.entries(widths).filter(([, width]) => Number.isInteger(width));
      return { order: [...order], hidden: [...hidden], widths: Object.fromEntries(whole) };
    } catch {
      return UNCHANGED;
    }
  }

  #put(entity, settings) {
    this.#settings.set(entity, settings);
    this.#storage.write(prefix + entity, JSON.stringify(settings));
  }
}
