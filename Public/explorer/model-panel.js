// The model at the left: entities to look at, their properties to write into the predicate.

import { h, replace } from './dom.js';
import { number } from './format.js';
import { nameText } from './predicate-text.js';

const glyphs = { string: 'abc', integer: '123', double: '1.5', decimal: '1.5', boolean: 'y/n',
  date: 'date', binary: 'data', uuid: 'uuid', uri: 'uri', json: '{ }' };

/** On a phone the bar has no room for the file's name and the links, so the panel ends with them. */
function drawerFoot() {
  const links = [...document.querySelectorAll('.bar .quiet-link:not([hidden])')].map((link) => link.cloneNode(true));
  links.forEach((link) => link.removeAttribute('id'));
  return h('div', { class: 'drawer-foot' }, h('p', {}, document.getElementById('store').textContent), links);
}

export class ModelPanel {
  #parent;
  #handlers;
  /** The name of the table that is marked. */
  #current;

  /** @param handlers `{onEntity(name), onProperty(path)}`. */
  constructor(parent, handlers) {
    this.#parent = parent;
    this.#handlers = handlers;
  }

  show(schema, current, counts) {
    replace(this.#parent, h('h2', { class: 'panel-title' }, 'Tables'),
      h('ul', { class: 'entities' }, schema.entities.map(
        (entity) => this.#entity(schema, entity, entity.name === current, counts))), drawerFoot());
    if (current !== this.#current) this.#parent.querySelector('[aria-current=true]')?.scrollIntoView({ block: 'nearest' });
    this.#current = current;
  }

  #entity(schema, entity, isCurrent, counts) {
    const marks = [entity.readOnly && 'read only', entity.observable === false && 'not live'];
    const head = h('button', {
      class: 'entity', dataset: { entity: entity.name }, 'aria-current': isCurrent ? 'true' : null,
      onclick: () => this.#handlers.onEntity(entity.name) },
    h('span', { class: 'entity-name' }, entity.name, entity.abstract && h('small', {}, 'abstract')),
    h('span', { class: 'count' }, counts.has(entity.name) ? number(counts.get(entity.name)) : ''));
    const depth = schema.depth(entity);
    const note = marks.filter(Boolean).join(', ');
    return h('li', { class: depth > 0 && `is-sub is-sub-${Math.min(3, depth)}` }, head, note && h('p', { class: 'entity-note' }, note),
      isCurrent && this.#properties(schema, entity));
  }

  #properties(schema, entity) {
    const key = { name: entity.key ?? 'id', type: entity.idType, optional: false };
    const attributes = [...(schema.hasKey(entity.name) ? [key] : []), ...entity.attributes];
    return h('ul', { class: 'properties' },
      attributes.map((attribute) => this.#property(
        nameText(attribute.name), glyphs[attribute.type] ?? attribute.type,
        `${attribute.type}${attribute.optional ? ', may be NULL' : ''}`, attribute.name)),
      entity.relationships.map(({ name, destination, toMany }) => this.#property(
        nameText(name) + (toMany ? '.@count' : '.'), `${toMany ? '⇉' : '→'} ${destination}`,
        `${toMany ? 'to-many' : 'to-one'} relationship`, name)));
  }

  #property(path, glyph, about, name = path) {
    return h('li', {}, h('button', {
      class: 'property', title: `${about}; click to filter by it`,
      onclick: () => this.#handlers.onProperty(path) },
    h('span', {}, name), h('span', { class: 'glyph' }, glyph)));
  }
}
