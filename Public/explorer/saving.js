// Staged changes → one save, and what becomes of its refusal.

import { conflictDialog } from './dialogs.js';
import { own } from './json.js';
import { listOf, saveChanges } from './staged.js';

/** True for an error of a change whose row does not exist. */
export const isGone = ({ code, property }) => !property && ['no-such-object', 'unknown-id'].includes(code);

/** A conflict of one property, or of an object as a whole, as lines of three values. */
export function sides({ property, stored, given }, change) {
  const names = property ? [property] : Object.keys(change.values ?? {});
  const at = (side, name) => (property ? side : own(side, name));
  return names.map((name) => ({ property: name, seen: own(change.seen ?? change.base, name), stored: at(stored, name),
    given: change.kind === 'delete' ? 'delete the row' : at(given, name) ?? own(change.values, name) }));
}

export class Saving {
  isBusy = false;
  #client;
  #staged;
  #page;

  /**
   * @param page `{redraw(), complain(error, others, list), saved(token, sentAt), nameOf(change), show(change, name, value), isElsewhere()}`;
   * `isElsewhere` resolves to true if another store is served now, for which nothing is staged.
   */
  constructor(client, staged, page) {
    this.#client = client;
    this.#staged = staged;
    this.#page = page;
  }

  /** @param chosen the staged changes to save; all where it is left out. */
  async save(chosen) {
    if (this.isBusy || this.#staged.count === 0) return;
    this.isBusy = true;
    try {
      if (!await this.#page.isElsewhere()) await this.#send(chosen ?? this.#staged.list);
    } finally {
      this.isBusy = false;
      this.#page.redraw();
    }
  }

  async #send(chosen) {
    const taken = this.#staged.take(chosen);
    const list = listOf(taken);
    const changes = saveChanges(list);
    const sentAt = performance.now();
    try {
      const { token, ids = {} } = await this.#client.save(changes, { idempotencyKey: this.#staged.keyOf(changes) });
      this.#staged.saved(taken, ids);
      this.#page.saved(token, sentAt);
      this.#page.complain(null);
    } catch (error) {
      this.#staged.restore(taken);
      await this.#refused(error, list);
    }
  }

  #refused(error, list) {
    const done = (error.errors ?? []).filter((each) => isGone(each) && list[each.change]?.kind === 'delete').map(({ change }) => change);
    if (done.length > 0) return this.#sendWithout(done, list);
    const conflicts = (error.errors ?? []).filter(({ code }) => code === 'changed');
    if (![409, 412].includes(error.status) || conflicts.length === 0) {
      return this.#page.complain(error, this.#others(error, list), list);
    }
    this.#page.complain(null);
    const rows = conflicts.flatMap((conflict) => this.#sides(conflict, list[conflict.change]));
    conflictDialog(rows, {
      show: ({ change, property: name }, value) => this.#page.show(change, name, value),
      resolve: (chosen) => this.#resolve(chosen),
      discard: () => rows.forEach(({ change }) => this.#staged.drop(change)) });
  }

  /** Somebody else has deleted what these changes of the list delete: the others are saved. */
  async #sendWithout(done, list) {
    this.#staged.batch(() => done.forEach((index) => this.#staged.drop(list[index])));
    const others = list.filter((_, index) => !done.includes(index));
    if (others.length > 0) await this.#send(others);
    else this.#page.complain(null);
  }

  /** Saves the changes that a refusal does not name; null if it names none, or all. */
  #others({ errors = [] }, list) {
    const refused = new Set(errors.map(({ change }) => change));
    const others = list.filter((_, index) => !refused.has(index));
    if (others.length === 0 || others.length === list.length) return null;
    return { count: others.length, save: () => this.save(others) };
  }

  #sides(conflict, change) {
    return sides(conflict, change).map((side) => ({ change, title: this.#page.nameOf(change), ...side }));
  }

  #resolve(chosen) {
    const changes = new Set(chosen.map(({ change }) => change));
    for (const change of changes) {
      const conflicts = chosen.filter((conflict) => conflict.change === change);
      const stored = Object.fromEntries(conflicts.map(({ property, stored: value }) => [property, value]));
      const mine = conflicts.filter(({ keepsMine }) => keepsMine).map(({ property }) => property);
      this.#staged.rebase(change, stored, new Set(mine));
    }
    this.save();
  }
}
