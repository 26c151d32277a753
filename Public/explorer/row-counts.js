// How many rows each table has, as the list of tables shows it.

export class RowCounts {
  #client;
  #counts = new Map();
  #onChange;

  /** @param onChange called with nothing after a count has changed. */
  constructor(client, onChange) {
    this.#client = client;
    this.#onChange = onChange;
  }

  get(entity) {
    return this.#counts.get(entity);
  }

  has(entity) {
    return this.#counts.has(entity);
  }

  set(entity, count) {
    if (this.#counts.get(entity) === count) return;
    this.#counts.set(entity, count);
    this.#onChange();
  }

  /** Counts the rows of the entities that have not been counted. */
  load(entities) {
    for (const { name } of entities.filter((entity) => !this.has(entity.name))) {
      this.#client.fetch({ entity: name, as: 'count' }).then(({ total }) => this.set(name, total), () => {});
    }
  }
}
