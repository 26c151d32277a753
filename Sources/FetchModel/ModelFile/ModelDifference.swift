// Two versions of a model → their differences, one sentence each.

/// The differences between two versions of a model.
public struct ModelDifference: Sendable, Hashable {
  /// The kind of a change.
  public enum Kind: String, Sendable, Hashable { case added, removed, renamed, changed }

  /// A change of one part of the model.
  public struct Change: Sendable, Hashable {
    /// The kind of change.
    public let kind: Kind
    /// `City.population`, `City`, `class Money`, `fetch template Big` or `access`.
    public let subject: String
    /// A phrase that describes the difference; empty if the kind is sufficient.
    public let detail: String
  }

  /// The changes, in the new model's order; removed parts follow the others of their kind.
  public private(set) var changes: [Change] = []

  /// Compares two versions.
  public init(from old: ModelFile, to new: ModelFile) {
    let match = ModelMatch(from: old, to: new)
    for entity in new.entities { compare(entity, match) }
    for entity in old.entities where match.newEntity(of: entity.name) == nil {
      add(.removed, entity.name)
    }
    compareNamed(from: old.classes, to: new.classes, name: \.name, kind: "class")
    compareNamed(
      from: old.fetchTemplates, to: new.fetchTemplates, name: \.name, kind: "fetch template")
    let (then, now) = (old.allowsByDefault, new.allowsByDefault)
    if then != now {
      let before = Self.text(then.map { .boolean($0) })
      add(.changed, "access", "default: \(before) → \(Self.text(now.map { .boolean($0) }))")
    }
  }

  private mutating func add(_ kind: Kind, _ subject: String, _ detail: String = "") {
    changes.append(Change(kind: kind, subject: subject, detail: detail))
  }

  private mutating func compare(_ entity: ModelFile.Entity, _ match: ModelMatch) {
    guard let name = match.oldEntity(of: entity.name), let old = match.old.entity(named: name)
    else { return add(.added, entity.name) }
    if name != entity.name { add(.renamed, entity.name, "was \(name)") }
    compareEntity(from: old, to: entity, match)
    for attribute in entity.attributes {
      compare(
        "\(entity.name).\(attribute.name)", from: match.oldAttribute(attribute, of: entity.name),
        to: attribute, name: \.name, json: \.json)
    }
    for relationship in entity.relationships {
      compare(
        "\(entity.name).\(relationship.name)",
        from: match.oldRelationship(relationship, of: entity.name), to: relationship, name: \.name,
        json: \.json)
    }
    addRemoved(from: old, to: entity, match)
  }

  private mutating func compareEntity(
    from old: ModelFile.Entity, to new: ModelFile.Entity, _ match: ModelMatch
  ) {
    // A parent that has been added differs from none.
    if new.parent.map({ match.oldEntity(of: $0) }) != old.parent.map(Optional.some) {
      add(
        .changed, new.name,
        "inherits from \(new.parent ?? "nothing"), not \(old.parent ?? "nothing")")
    }
    if old.isAbstract != new.isAbstract {
      add(.changed, new.name, new.isAbstract ? "is abstract now" : "is abstract no more")
    }
    if old.fetchIndexes != new.fetchIndexes { add(.changed, new.name, "fetch indexes") }
    if old.uniquenessConstraints != new.uniquenessConstraints {
      add(.changed, new.name, "uniqueness constraints")
    }
    if old.sort != new.sort { add(.changed, new.name, "default order") }
    for action in AccessAction.allCases where old.access[action] != new.access[action] {
      let (then, now) = (old.access[action]?.json, new.access[action]?.json)
      add(
        .changed, new.name, "\(action.rawValue) rule: \(Self.text(then)) → \(Self.text(now))")
    }
  }

  private mutating func compare<Part>(
    _ subject: String, from old: Part?, to new: Part, name: (Part) -> String,
    json: (Part) -> JSON
  ) {
    guard let old else { return add(.added, subject) }
    if name(old) != name(new) { add(.renamed, subject, "was \(name(old))") }
    let (before, after) = (json(old), json(new))
    guard case .object(let oldMembers) = before, case .object(let newMembers) = after else {
      return
    }
    var compared: Set<String> = ["name", "renamingIdentifier"]
    for member in (oldMembers + newMembers).map(\.name) where compared.insert(member).inserted {
      let (then, now) = (before[member], after[member])
      if then != now {
        add(.changed, subject, "\(member): \(Self.text(then)) → \(Self.text(now))")
      }
    }
  }

  private static func text(_ json: JSON?) -> String { json?.text ?? "unset" }

  private mutating func addRemoved(
    from old: ModelFile.Entity, to new: ModelFile.Entity, _ match: ModelMatch
  ) {
    // A property that moved within the hierarchy still exists.
    let successors = [new.name] + match.new.subentities(of: new.name).map(\.name)
    let attributes = successors.flatMap { successor in
      match.new.attributes(of: successor).map { match.oldAttribute($0, of: successor)?.name }
    }
    let relationships = successors.flatMap { successor in
      match.new.relationships(of: successor).map { match.oldRelationship($0, of: successor)?.name }
    }
    for name in old.attributes.map(\.name) where !attributes.contains(name) {
      add(.removed, "\(old.name).\(name)")
    }
    for name in old.relationships.map(\.name) where !relationships.contains(name) {
      add(.removed, "\(old.name).\(name)")
    }
  }

  private mutating func compareNamed<Part: Hashable>(
    from old: [Part], to new: [Part], name: (Part) -> String, kind: String
  ) {
    for part in new {
      let before = old.first { name($0) == name(part) }
      guard before != part else { continue }
      add(before == nil ? .added : .changed, "\(kind) \(name(part))")
    }
    for part in old where !new.contains(where: { name($0) == name(part) }) {
      add(.removed, "\(kind) \(name(part))")
    }
  }
}

extension ModelDifference: CustomStringConvertible {
  /// One line for each change: `changed City.population: minimum: unset → 0`.
  public var description: String {
    changes.map { change in
      "\(change.kind.rawValue) \(change.subject)"
        + (change.detail.isEmpty ? "" : ": \(change.detail)")
    }.joined(separator: "\n")
  }
}
