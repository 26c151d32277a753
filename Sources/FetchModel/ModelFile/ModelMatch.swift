// Two versions of a model → what in the new one was what in the old: the same name, or the one that
// a renaming identifier says.

/// What became of what between two versions of a model.
public struct ModelMatch: Sendable {
  public let old: ModelFile
  public let new: ModelFile
  private let oldEntities: [String: String]

  public init(from old: ModelFile, to new: ModelFile) {
    self.old = old
    self.new = new
    oldEntities = Dictionary(
      new.entities.compactMap { entity in
        Self.match(entity.name, entity.renamingIdentifier, old.entities) {
          ($0.name, $0.renamingIdentifier)
        }.map { (entity.name, $0.name) }
      }, uniquingKeysWith: { first, _ in first })
  }

  private static func match<Part>(
    _ name: String, _ identifier: String?, _ parts: [Part],
    _ names: (Part) -> (name: String, identifier: String?)
  ) -> Part? {
    if let identifier {
      let renamed = parts.first {
        names($0).identifier == identifier || names($0).name == identifier
      }
      if let renamed { return renamed }
    }
    return parts.first { names($0).name == name }
  }

  /// What the entity called `name` now was called.
  public func oldEntity(of name: String) -> String? { oldEntities[name] }

  /// What the entity called `name` then is called.
  public func newEntity(of name: String) -> String? {
    new.entities.first { oldEntities[$0.name] == name }?.name
  }

  /// The attribute that one of an entity was, inherited ones among them.
  public func oldAttribute(_ attribute: ModelFile.Attribute, of entity: String)
    -> ModelFile.Attribute?
  {
    oldEntities[entity].flatMap { old in
      Self.match(attribute.name, attribute.renamingIdentifier, self.old.attributes(of: old)) {
        ($0.name, $0.renamingIdentifier)
      }
    }
  }

  /// The relationship that one of an entity was, inherited ones among them.
  public func oldRelationship(_ relationship: ModelFile.Relationship, of entity: String)
    -> ModelFile.Relationship?
  {
    oldEntities[entity].flatMap { old in
      Self.match(
        relationship.name, relationship.renamingIdentifier, self.old.relationships(of: old)
      ) { ($0.name, $0.renamingIdentifier) }
    }
  }
}
