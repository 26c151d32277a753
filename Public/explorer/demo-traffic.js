// Random edits of rows that show, so that a page alone can see diffs. Only on request.

import { ask } from './dialogs.js';
import { isNumeric } from './format.js';

const PAUSE = 900;

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
    const question = `A few times a second, a random ${entity} that you see gets another ${column}. `
      + 'These are real saves: everybody who watches sees them, and they stay.';
    this.#hasAsked ||= await ask('Make random edits?', question, 'Make edits');
    if (!this.#hasAsked) return;
    this.isRunning = true;
    this.#timer = setInterval(() => this.#edit(target()), PAUSE);
  }

  async #edit({ entity, column, items }) {
    const item = items[Math.floor(Math.random() * items.length)];
    if (!item) return;
    const value = Math.max(1, Math.round((item[column] ?? 1) * (0.85 + Math.random() * 0.32)));
    const sentAt = performance.now();
    try {
      const { token } = await this.#client.update(entity, item.id, { [column]: value },
        { optimistic: false });
      this.#onSaved(token, sentAt);
    } catch {
      // Refused or gone meanwhile: the next one is another row.
    }
  }
}

/** The attribute whose edits show best: the one that sorts, else any number. */
export function liveliest(schema, view) {
  const { attributes, readOnly } = schema.entity(view.entity);
  if (readOnly) return null;
  const numeric = attributes.filter(({ type, readOnly: fixed }) => isNumeric(type) && !fixed);
  const sorting = view.sort.split(',').map((term) => term.replace(/^-/, '').split(':')[0]);
  return numeric.find(({ name }) => sorting.includes(name))?.name ?? null;
}
