// The names of related objects: from those that are included in the result, else fetched once.

import { own } from './json.js';

/** The most rows that a search offers. */
export const MOST = 8;

export class Names {
  #client;
  #schema;
  /** The related objects of each result on show, by the result's name. */
  #included = new Map();
  #found = new Map();
  #texts = new Map();
  onTexts = () => {};

  constructor(client, schema) {
    this.#client = client;
    this.#schema = schema;
  }

  /** Takes over what a result has under `included`, in place of what it had before. */
  take(included = {}, source = 'table') {
    const before = this.#included.get(source) ?? {};
    this.#included.set(source, included);
    // Rows of the result before may still be seen.
    this.#included.set(`${source} before`, before);
  }

  nameOf(entity, id) {
    if (id === null || id === undefined) return undefined;
    const sources = [...this.#included.values()];
    const object = sources.map((included) => own(own(included, entity), id)).find(Boolean);
    return (object && this.#schema.relatedTitle(entity, object, id)) || this.#found.get(`${entity}\u0000${id}`);
  }

  /** Lets go of names that were found: rows are called otherwise now. */
  forget() {
    this.#found.clear();
  }

  /**
   * The row whose key is the text, then those whose name begins with it or has all its words:
   * `[{id, name, key}]`. `key` is set if several rows have the name.
   */
  async search(entity, text) {
    const labels = this.#schema.labels(entity);
    const request = { entity, limit: MOST, sort: labels.length > 0 ? labels : undefined,
      select: labels.length > 0 ? labels : undefined };
    const conditions = text === '' ? [{}] : labels.length > 0 ? [begins(labels, text), contains(labels, text)] : [];
    const results = await Promise.all([this.#withKey(entity, text.trim(), request),
      ...conditions.map((condition) => this.#client.fetch({ ...request, ...condition }))]);
    const items = results.flatMap(({ sections }) => sections.flatMap((section) => section.items));
    const found = [...new Map(items.map((item) => [String(item.id), item])).values()].slice(0, MOST)
      .map((item) => ({ id: item.id, name: this.#schema.relatedTitle(entity, item, item.id) || String(item.id) }));
    for (const { id, name } of found) this.#found.set(`${entity}\u0000${id}`, name);
    const isAmong = (name) => found.filter((each) => each.name === name).length > 1;
    return found.map((each) => ({ ...each, key: each.name !== String(each.id)
      && (isAmong(each.name) || String(each.id) === text.trim()) ? each.id : undefined }));
  }

  /** The row with a key; none where the text cannot be one. */
  async #withKey(entity, text, request) {
    const isInteger = this.#schema.entity(entity).idType === 'integer';
    if (text === '' || (isInteger && !/^-?\d{1,19}$/.test(text))) return { sections: [] };
    const condition = isInteger ? { where: `SELF == ${text}` } : { where: 'SELF == %@', arguments: [text] };
    return this.#client.fetch({ ...request, ...condition }).catch(() => ({ sections: [] }));
  }

  /** Texts of an attribute anywhere: none at first, `onTexts` is called when they have come. */
  #ask(entity, attribute) {
    const key = `${entity}\u0000${attribute}`;
    if (this.#texts.has(key)) return this.#texts.get(key);
    this.#texts.set(key, []);
    const request = { entity, select: [attribute], sort: [attribute], limit: 2000 };
    this.#client.fetch(request).then(({ sections }) => {
      const values = sections.flatMap(({ items }) => items.map((item) => item[attribute]));
      const texts = [...new Set(values)].filter((value) => typeof value === 'string');
      this.#texts.set(key, texts);
      this.onTexts();
    }, () => {});
    return [];
  }

  /** Texts at a key path in the loaded objects, the most frequent first. */
  textsAt(entity, result, path) {
    const [first, second, ...deeper] = path.split('.');
    const relationship = this.#schema.relationship(entity, first);
    if (deeper.length > 0) return [];
    if (relationship && second) return this.#ask(relationship.destination, second);
    if (!result?.sections || result.entity !== entity) return this.#ask(entity, first);
    const counts = new Map();
    for (const item of result.sections.flatMap(({ items }) => items)) {
      const value = item[first];
      if (typeof value === 'string') counts.set(value, (counts.get(value) ?? 0) + 1);
    }
    return [...counts].sort((a, b) => b[1] - a[1]).slice(0, 200).map(([value]) => value);
  }
}

/** Conditions name the attributes by arguments: a name need not be one that a predicate can hold. */
const anywhere = (labels, operator, text) => ({
  where: `(${labels.map(() => `%K ${operator}[cd] %@`).join(' OR ')})`, arguments: labels.flatMap((label) => [label, text]) });

const begins = (labels, text) => anywhere(labels, 'BEGINSWITH', text);

/** Every word of the text is in one of the attributes. */
function contains(labels, text) {
  const words = labels.length === 1 ? [text] : text.split(/\s+/).filter(Boolean);
  const conditions = words.map((word) => anywhere(labels, 'CONTAINS', word));
  return { where: conditions.map(({ where }) => where).join(' AND ') || 'TRUEPREDICATE',
    arguments: conditions.flatMap((condition) => condition.arguments) };
}
