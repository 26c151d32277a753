// Which entity of a model is a to-do list: a text, and a yes or no.

/** The entities whose rows can be edited by a text: `{entity, text, done, needed}`, names; `done` may be missing. */
export function namedEntities(entities) {
  return entities.filter(({ readOnly }) => !readOnly).map((entity) => ({
    entity: entity.name,
    text: attribute(entity, 'string', /^(title|text|name|task|what|summary)$/i),
    done: attribute(entity, 'boolean', /done|complete|finished|checked/i),
    needed: entity.attributes.filter((each) => !each.optional && !each.default).map(({ name }) => name),
  })).filter(({ text }) => text);
}

/** The one of them that is a to-do list; undefined where none is. */
export function todoEntity(entities) {
  const lists = namedEntities(entities).filter(({ done }) => done);
  return lists.find(({ entity }) => /to_?do|task/i.test(entity)) ?? lists[0];
}

function attribute({ attributes }, type, name) {
  return attributes.find((each) => each.type === type && name.test(each.name))?.name;
}
