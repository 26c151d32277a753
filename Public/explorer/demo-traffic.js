// Random edits of rows that show, so that a page alone can see diffs. Only on request.

import { ask } from './dialogs.js';
import { isNumeric } from './format.js';
import { sortsBy, sortTerms } from './sort-terms.js';

const PAUSE = 700;

export class DemoTraffic {
  isRunning = false;
  #client;
  #timer;
  #hasAsked = false;
  #onSaved;

  constructor(client, onSaved) {
    this.#client = client;
    this.#onSaved = onSaved;
  }

  /** @param target gives `{entity, column, items}`: what may be edited now. */
  async toggle(target) {
    clearInterval(this.#timer);
    if (this.isRunning) {
      this.isRunning = false;
      return;
    }
    const { entity, column } = target();
    const question = `About once a second a ${entity} that you see gets the ${column} of another, roughly. `
      + 'These are real saves: everybody who watches sees them, and they stay.';
    this.#hasAsked ||= await ask('Make random edits?', question, 'Make edits');
    if (!this.#hasAsked) return;
    this.isRunning = true;
    this.#timer = setInterval(() => this.#edit(target()), PAUSE);
  }

  async #edit({ entity, column, items }) {
    const [item, other] = [pick(items), pick(items)];
    if (!item) return;
    // Near another one's: it overtakes, and the values stay what such values are.
    const value = near(other[column] ?? 1);
    const sentAt = performance.now();
    try {
      const { token } = await this.#client.update(entity, item.id, { [column]: value },
        { optimistic: false });
      this.#onSaved(token, sentAt);
    } catch {
      // The save was refused, or the row was deleted: the next save changes another row.
    }
  }
}

const pick = (items) => items[Math.floor(Math.random() * items.length)];

function near(value) {
  const moved = value * (0.99 + Math.random() * 0.02);
  return Number.isInteger(value) ? Math.round(moved) : Number(moved.toPrecision(7));
}

/** The numeric attribute by which the view is sorted; null if there is none, or if the table is read-only. */
export function sortingAttribute(schema, view) {
  const { attributes, readOnly } = schema.entity(view.entity);
  if (readOnly) return null;
  const numeric = attributes.filter(({ type, isFixed }) => isNumeric(type) && !isFixed);
  const terms = sortTerms(view.sort);
  return numeric.find(({ name }) => terms.some((term) => sortsBy(term, name)))?.name ?? null;
}

/** An update that would show: a row that is seen gets a value near that of the first one. */
export function exampleUpdate(schema, view, visible) {
  const column = sortingAttribute(schema, view);
  const [first, , third] = visible;
  if (!column || third?.[column] == null) return null;
  return { entity: view.entity, id: third.id, values: { [column]: Math.ceil(first[column] * 1.01) } };
}
