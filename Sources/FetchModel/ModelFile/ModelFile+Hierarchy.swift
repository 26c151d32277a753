// Who inherits what from whom. Good only for a model that was checked; before that, cycles end where
// they come round.

extension ModelFile {
  public func entity(named name: String) -> Entity? { entities.first { $0.name == name } }

  /// The entity and those it inherits from, nearest first.
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

  /// The entity at the top, whose table holds the objects of all below.
  public func root(of name: String) -> String { lineage(of: name).last?.name ?? name }

  /// Every entity below, at any depth, in the model's order.
  public func subentities(of name: String) -> [Entity] {
    entities.filter { entity in
      entity.name != name && lineage(of: entity.name).contains { $0.name == name }
    }
  }

  /// Whether `name` is `ancestor` or inherits from it.
  public func isKind(_ name: String, of ancestor: String) -> Bool {
    lineage(of: name).contains { $0.name == ancestor }
  }

  /// The attributes, inherited ones first.
  public func attributes(of name: String) -> [Attribute] {
    lineage(of: name).reversed().flatMap(\.attributes)
  }

  /// The relationships, inherited ones first.
  public func relationships(of name: String) -> [Relationship] {
    lineage(of: name).reversed().flatMap(\.relationships)
  }

  public func relationship(_ name: String, of entity: String) -> Relationship? {
    relationships(of: entity).first { $0.name == name }
  }

  /// The entity that declares a relationship which `entity` has.
  public func declarer(of relationship: String, in entity: String) -> String? {
    lineage(of: entity).first { $0.relationships.contains { $0.name == relationship } }?.name
  }

  /// The order of fetches that name none: its own, or the nearest ancestor's.
  public func sort(of name: String) -> [String] {
    lineage(of: name).first { !$0.sort.isEmpty }?.sort ?? []
  }
}
