// A save under way, from the click until every live fetch that shows its entities contains it.

/** Whether a result at `token` contains the save at `target`, as far as the tokens tell. */
export function hasReached(token, target) {
  if (token === undefined) return false;
  if (token === target) return true;
  // Tokens are opaque; this form is looked at only to settle sooner. For another, a fetch asks.
  const [held, wanted] = [token, target].map((text) => /^(.+)-(\d+)-[^-]*$/.exec(text));
  return !!held && !!wanted && held[1] === wanted[1] && Number(held[2]) >= Number(wanted[2]);
}

export class Pending {
  /** The save's token, once it is answered. */
  token = null;
  #entities;
  #settled = new WeakSet();

  constructor(changes) {
    this.changes = changes;
    this.#entities = new Set(changes.map((change) => change.insert ?? change.update ?? change.delete));
  }

  concerns(live) {
    return this.#entities.has(live.request.entity) && !this.#settled.has(live)
      && (live.request.as ?? 'objects') === 'objects';
  }

  settle(live) {
    this.#settled.add(live);
  }

  /** Takes over the ids that the store gave. */
  answer({ token, ids }) {
    this.token = token;
    this.changes = this.changes.map((change) =>
      ids[change.temporaryID] === undefined ? change : { ...change, id: ids[change.temporaryID] });
  }
}
