// Inheritance between the entities of a model file. Results are defined for checked models. In an
// unchecked one, a walk from an entity to its ancestors stops at a cycle.
//
// Costs: n is the number of entities, d the number of an entity's ancestors. Each function but
// `entity(named:)` and `subentities(of:)` walks once to the root, O(n · d).

extension ModelFile {
  /// Returns the entity with this name; nil without one. O(n).
  public func entity(named name: String) -> Entity? { entities.first { $0.name == name } }

  /// Returns the entity and its ancestors, nearest first.
  public func lineage(of name: String) -> [Entity] {
    var lineage: [Entity] = []
    var next: String? = name
    while let name = next, let entity = entity(named: name),
      !lineage.contains(where: { $0.name == name })
    {
      lineage.append(entity)
      next = entity.parent
    }
    return lineage
  }

  /// Returns the root entity, whose table holds the objects of all its subentities.
  public func root(of name: String) -> String { lineage(of: name).last?.name ?? name }

  /// Returns all direct and indirect subentities, in the model's order. O(n² · d).
  public func subentities(of name: String) -> [Entity] {
    entities.filter { entity in
      entity.name != name && lineage(of: entity.name).contains { $0.name == name }
    }
  }

  /// True if `name` is `ancestor` or inherits from it.
  public func isKind(_ name: String, of ancestor: String) -> Bool {
    lineage(of: name).contains { $0.name == ancestor }
  }

  /// Returns the attributes, inherited ones first.
  public func attributes(of name: String) -> [Attribute] {
    lineage(of: name).reversed().flatMap(\.attributes)
  }

  /// Returns the relationships, inherited ones first.
  public func relationships(of name: String) -> [Relationship] {
    lineage(of: name).reversed().flatMap(\.relationships)
  }

  /// Returns an entity's relationship, inherited or its own; nil without one.
  public func relationship(_ name: String, of entity: String) -> Relationship? {
    relationships(of: entity).first { $0.name == name }
  }

  /// Returns the entity that declares a relationship of `entity`; nil without one.
  public func declaringEntity(of relationship: String, in entity: String) -> String? {
    lineage(of: entity).first { $0.relationships.contains { $0.name == relationship } }?.name
  }

  /// Returns the default order of fetches: the entity's own, or its nearest ancestor's.
  public func defaultSort(of name: String) -> [String] {
    lineage(of: name).first { !$0.sort.isEmpty }?.sort ?? []
  }
}
