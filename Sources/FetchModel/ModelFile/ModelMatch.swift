// Two versions of a model → the old counterpart of each part of the new one: the part with the same
// name, or the one that a renaming identifier names.

/// The correspondence between two versions of a model.
public struct ModelMatch: Sendable {
  /// The version from which a migration starts.
  public let old: ModelFile
  /// The version to which a migration leads.
  public let new: ModelFile
  private let oldEntities: [String: String]

  /// Matches two versions. O(entities²).
  public init(from old: ModelFile, to new: ModelFile) {
    self.old = old
    self.new = new
    oldEntities = Dictionary(
      new.entities.compactMap { entity in
        Self.match(entity, among: new.entities, old.entities) { ($0.name, $0.renamingIdentifier) }
          .map { (entity.name, $0.name) }
      }, uniquingKeysWith: { first, _ in first })
  }

  /// Returns the old counterpart of a part. An old part that another part claims by its renaming
  /// identifier is not matched by name.
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

  /// Returns the part that has this identifier or this name.
  private static func renamed<Part>(
    _ identifier: String, _ parts: [Part], _ names: (Part) -> (name: String, identifier: String?)
  ) -> Part? {
    parts.first { names($0).identifier == identifier }
      ?? parts.first { names($0).name == identifier }
  }

  /// Returns the old name of the entity that is now called `name`.
  public func oldEntity(of name: String) -> String? { oldEntities[name] }

  /// Returns the new name of the entity that was called `name`.
  public func newEntity(of name: String) -> String? {
    new.entities.first { oldEntities[$0.name] == name }?.name
  }

  /// Returns the old counterpart of an entity's attribute, own or inherited.
  public func oldAttribute(_ attribute: ModelFile.Attribute, of entity: String)
    -> ModelFile.Attribute?
  {
    oldEntities[entity].flatMap { old in
      Self.match(
        attribute, among: new.attributes(of: entity), self.old.attributes(of: old)
      ) { ($0.name, $0.renamingIdentifier) }
    }
  }

  /// Returns the old counterpart of an entity's relationship, own or inherited.
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
