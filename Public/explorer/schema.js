// The model as the page asks it: entities, key paths, what to call an object.

import { beginning } from './format.js';
import { own } from './json.js';
import { isGuess, labelsOf } from './labels.js';

const prefix = 'livefetch.label.';

/** The answer of `GET /v1/model`, made easy to ask. */
export class Schema {
  #storage;

  /** @param storage keeps which columns name rows: `{read(name), write(name, text)}`. */
  constructor(model, storage) {
    this.#storage = storage;
    this.load(model);
  }

  /** Replaces the model after the tables have changed. */
  load(model) {
    this.entities = inherited(model.entities);
    this.byName = new Map(model.entities.map((entity) => [entity.name, entity]));
    for (const { attributes, relationships } of model.entities) {
      for (const property of [...attributes, ...relationships]) property.isFixed = this.#isFixed(property);
    }
  }

  /** True if an existing row keeps the value: it is calculated, or part of the key of the row or of related ones. */
  #isFixed({ readOnly, keyPart, toMany, destination, inverse }) {
    return readOnly === true || keyPart === true
      || (toMany === true && this.relationship(destination, inverse)?.keyPart === true);
  }

  entity(name) {
    return this.byName.get(name);
  }

  /** True if the server serves a sample of `livefetch demo`. */
  isSample = false;

  /** The reason why rows of this entity cannot be followed; null if they can. */
  notLiveReason(name) {
    const { observable, attributes } = this.entity(name);
    if (observable !== false) return null;
    if (this.#isView(name)) return `${name} is a view`;
    const unfollowed = attributes.find((attribute) => /^(true|false)$/i.test(attribute.name));
    return unfollowed ? `${name} has a column called ${unfollowed.name}` : `${name} has no primary key`;
  }

  #isView(name) {
    const { observable, readOnly, attributes } = this.entity(name);
    return observable === false && readOnly && attributes.every((attribute) => attribute.readOnly);
  }

  /** The aggregate that counts the rows of an entity. A property called `@count` hides the one of that name. */
  countText(entity) {
    const { attributes, relationships } = this.entity(entity);
    return [...attributes, ...relationships].some(({ name }) => name === '@count') ? '@count.id' : '@count';
  }

  /** The number of entities that it inherits from. */
  depth({ parent }) {
    return parent ? 1 + this.depth(this.entity(parent) ?? {}) : 0;
  }

  attribute(entity, name) {
    return this.entity(entity)?.attributes.find((attribute) => attribute.name === name);
  }

  relationship(entity, name) {
    return this.entity(entity)?.relationships.find((relationship) => relationship.name === name);
  }

  /** The to-one relationships, which an item contains as well as its attributes. */
  toOne(entity) {
    return this.entity(entity).relationships.filter((relationship) => !relationship.toMany);
  }

  /** The names of the to-one relationships that a fetch expands: at most as many as the server takes. */
  expanded(entity) {
    return this.toOne(entity).slice(0, 64).map(({ name }) => name);
  }

  toMany(entity) {
    return this.entity(entity).relationships.filter((relationship) => relationship.toMany);
  }

  /** The name of a row; empty where it has no text. */
  title(entity, item) {
    return beginning(this.labels(entity).map((name) => own(item, name))
      .filter((text) => text !== null && text !== undefined && text !== '').join(' '));
  }

  /** The name of a row where others refer to it: with its key where the name may be that of many rows. */
  relatedTitle(entity, item, id) {
    const title = this.title(entity, item);
    if (!title || this.hasChosenLabel(entity) || !isGuess(this.entity(entity))) return title;
    return `${title} (${id})`;
  }

  /** True if the ids of the rows are in the database. In tables without a primary key, and views without a column `id`, they are not. */
  hasKey(entity) {
    const { observable, key, idType } = this.entity(entity);
    return observable !== false || (this.#isView(entity) && (key !== undefined || idType !== 'string'));
  }

  /** The key's column, where there is one; `label` is the name that it has in the database. */
  #keys(entity) {
    const { idType, key, keyRequired } = this.entity(entity);
    return this.hasKey(entity) ? [{ name: 'id', label: key, type: idType, readOnly: true, isFixed: true, isID: true, isNeeded: keyRequired === true }] : [];
  }

  /** Everything that a row has but its to-many relationships, in the model's order, the key first. */
  fields(entity) {
    return [...this.#keys(entity), ...this.entity(entity).attributes, ...this.#related(entity)];
  }

  /**
   * To-one relationships as columns; `idType` is the type of the related rows' keys. If these are composite, the foreign
   * key's columns are attributes beside the relationship: it `hasColumns`.
   */
  #related(entity) {
    return this.toOne(entity).map((relationship) => {
      const related = this.entity(relationship.destination);
      const hasColumns = [...related?.attributes ?? [], ...related?.relationships ?? []].some(({ keyPart }) => keyPart === true);
      return { ...relationship, type: 'relationship', idType: related?.idType, hasColumns };
    });
  }

  /** The attributes that people know a row by: those that were chosen, else those of the model. */
  labels(entity) {
    const chosen = this.#storage?.read(`${prefix}${entity}`);
    if (chosen && this.attribute(entity, chosen)) return [chosen];
    const known = this.entity(entity);
    return known ? labelsOf(known) : [];
  }

  /** The first of them; undefined if there is none. */
  label(entity) {
    return this.labels(entity)[0];
  }

  /** Chooses the attribute that names the rows of a table; null for that of the model. */
  chooseLabel(entity, name) {
    this.#storage?.write(`${prefix}${entity}`, name);
  }

  hasChosenLabel(entity) {
    return Boolean(this.#storage?.read(`${prefix}${entity}`));
  }

  /** The target of a key path: `{attribute}`, `{relationship, entity}` or nothing. A name may have dots, then it `isDotted`; shorter names go first. */
  resolve(entity, path) {
    const names = path.split('.');
    const ends = names.map((_, index) => index + 1);
    const end = ends.find((count) => this.#property(entity, names.slice(0, count).join('.')));
    const found = end && { ...this.#property(entity, names.slice(0, end).join('.')), isDotted: end > 1 };
    if (!found || end === names.length) return found;
    const rest = found.entity && this.resolve(found.entity, names.slice(end).join('.'));
    return rest && { ...rest, isDotted: rest.isDotted || found.isDotted };
  }

  #property(entity, name) {
    const attribute = name === 'id' ? { name: 'id', type: this.entity(entity).idType } : this.attribute(entity, name);
    const relationship = this.relationship(entity, name);
    return attribute || relationship ? { attribute, relationship, entity: relationship?.destination } : undefined;
  }

  /** The entity, those that it inherits from, and those that inherit from it. */
  family(name) {
    const { parent } = this.entity(name);
    const above = parent ? this.#above(parent) : [];
    const below = (each) => [each, ...(this.entity(each)?.subentities ?? []).flatMap(below)];
    return [...above, ...below(name)];
  }

  /** The names of the entities whose rows saves have changed, and of views, which saves do not name. @param saves those of `/v1/changes`. */
  changedBy(saves) {
    const named = saves.flatMap(({ inserted, updated, deleted }) => [inserted, updated, deleted].flatMap(Object.keys));
    const views = this.entities.filter(({ observable }) => observable === false).map(({ name }) => name);
    return new Set([...named.filter((name) => this.entity(name)).flatMap((name) => this.family(name)), ...views]);
  }

  #above(name) {
    const { parent } = this.entity(name) ?? {};
    return parent ? [...this.#above(parent), name] : [name];
  }

  /** Of which entity an object is, where it may be one that inherits. */
  kind(entity) {
    const hasSubentities = this.entity(entity).subentities?.length > 0;
    return hasSubentities ? [{ name: 'entity', type: 'string', readOnly: true, isFixed: true }] : [];
  }

  /** The entity of an object among those that inherit; `entity` may be the name of a column as well. */
  kindOf(entity, item) {
    return this.kind(entity).length > 0 ? own(item, 'entity') ?? entity : entity;
  }

  /** Key paths to attributes over to-one relationships, at most `depth` steps. */
  paths(entity, depth = 1) {
    const own = [...this.entity(entity).attributes, ...this.kind(entity)]
      .map(({ name, type }) => ({ path: name, type }));
    if (depth === 0) return own;
    const related = this.toOne(entity).flatMap((relationship) =>
      this.paths(relationship.destination, depth - 1).map(
        ({ path, type }) => ({ path: `${relationship.name}.${path}`, type })));
    return [...own, ...related];
  }

  /**
   * The columns of a table of this entity's items: what it is called, what it belongs to, the others in
   * the order of the database, and the id last.
   */
  columns(entity) {
    const labels = this.labels(entity);
    const attributes = this.entity(entity).attributes.map((attribute) => ({ ...attribute }));
    const first = labels.map((label) => attributes.find(({ name }) => name === label));
    const others = attributes.filter(({ name }) => !labels.includes(name));
    const related = this.#related(entity);
    return [...first, ...this.kind(entity), ...related.slice(0, 1), ...others, ...related.slice(1), ...this.#keys(entity)];
  }
}

/** Entities in the model's order, each with those that inherit from it behind it. */
function inherited(entities) {
  const below = (name) => entities.filter(({ parent }) => parent === name)
    .flatMap((entity) => [entity, ...below(entity.name)]);
  return below(undefined);
}
