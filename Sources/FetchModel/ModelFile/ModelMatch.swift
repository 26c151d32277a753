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
        Self.match(entity, among: new.entities, old.entities) { ($0.name, $0.renamingIdentifier) }
          .map { (entity.name, $0.name) }
      }, uniquingKeysWith: { first, _ in first })
  }

  /// What one of `siblings` was. A part that another one says it was is nobody's by its name alone.
  private static func match<Part>(
    _ part: Part, among siblings: [Part], _ parts: [Part],
    _ names: (Part) -> (name: String, identifier: String?)
  ) -> Part? {
    let (name, identifier) = names(part)
    if let renamed = identifier.flatMap({ renamed($0, parts, names) }) { return renamed }
    guard let same = parts.first(where: { names($0).name == name }) else { return nil }
    let isClaimed = siblings.contains { sibling in
      let other = names(sibling)
      guard other.name != name, let claim = other.identifier else { return false }
      return renamed(claim, parts, names).map { names($0).name } == name
    }
    return isClaimed ? nil : same
  }

  /// What an identifier names: what has the same one, or is called like it.
  private static func renamed<Part>(
    _ identifier: String, _ parts: [Part], _ names: (Part) -> (name: String, identifier: String?)
  ) -> Part? {
    parts.first { names($0).identifier == identifier }
      ?? parts.first { names($0).name == identifier }
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
      Self.match(
        attribute, among: new.attributes(of: entity), self.old.attributes(of: old)
      ) { ($0.name, $0.renamingIdentifier) }
    }
  }

  /// The relationship that one of an entity was, inherited ones among them.
  public func oldRelationship(_ relationship: ModelFile.Relationship, of entity: String)
    -> ModelFile.Relationship?
  {
    oldEntities[entity].flatMap { old in
      Self.match(
        relationship, among: new.relationships(of: entity), self.old.relationships(of: old)
      ) { ($0.name, $0.renamingIdentifier) }
    }
  }
}
