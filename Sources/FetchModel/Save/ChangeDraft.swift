// An element of a save's `changes` with valid form, before names are resolved.

/// An unresolved change.
public struct ChangeDraft: Sendable {
  /// The kind of a change.
  public enum Kind: String, Sendable {
    case insert, update, replace, delete

    /// The name with its article.
    var phrase: String { (self == .insert || self == .update ? "an " : "a ") + rawValue }
  }

  /// The target object, before the type of its id is known.
  enum Target: Sendable {
    case id(ObjectID)
    case json(JSON)
  }

  let kind: Kind
  let entity: String
  var temporaryID: String?
  let target: Target?
  let values: [JSON.Member]
  var base: [JSON.Member]?
  /// The members that select a batch's objects: `where`, `arguments`, `variables`.
  var condition: [JSON.Member]?
  let precondition: Precondition

  init(
    kind: Kind, entity: String, target: Target?, values: [JSON.Member],
    precondition: Precondition
  ) {
    self.kind = kind
    self.entity = entity
    self.target = target
    self.values = values
    self.precondition = precondition
  }

  init(_ json: JSON, index: Int) throws(SaveError) {
    let place = "change \(index)"
    guard case .object(let members) = json else {
      throw .malformed("\(place) is not an object")
    }
    (kind, entity) = try Self.kindAndEntity(json, place)
    condition = Self.condition(members, kind)
    try Self.checkNames(members, kind, isBatch: condition != nil, place)
    guard kind == .insert || condition != nil || json["id"] != nil else {
      throw .malformed("\(place): \(kind.phrase) needs an `id`")
    }
    target = json["id"].map { .json($0) }
    values = try Self.values(json["values"], kind, place)
    temporaryID = try Self.temporaryID(json["temporaryID"], place)
    base = try Self.base(json, place)
    precondition = try Self.precondition(json["ifMatch"], place)
  }

  private static func kindAndEntity(
    _ json: JSON, _ place: String
  ) throws(SaveError) -> (Kind, String) {
    let kinds = [Kind.insert, .update, .delete].filter { json[$0.rawValue] != nil }
    guard kinds.count == 1, let entity = json[kinds[0].rawValue]?.string else {
      throw .malformed("\(place) names an entity under one of `insert`, `update`, `delete`")
    }
    return (kinds[0], entity)
  }

  private static func checkNames(
    _ members: [JSON.Member], _ kind: Kind, isBatch: Bool, _ place: String
  ) throws(SaveError) {
    let allowed = isBatch ? batchNames(kind) : memberNames(kind)
    guard let unknown = members.first(where: { !allowed.contains($0.name) }) else { return }
    throw .malformed("\(place): \(kind.phrase) has no member `\(unknown.name)`")
  }

  private static func values(
    _ json: JSON?, _ kind: Kind, _ place: String
  ) throws(SaveError) -> [JSON.Member] {
    guard let values = json.map(\.members) ?? [], kind != .update || json != nil else {
      throw .malformed("\(place): `values` is an object")
    }
    return values
  }

  private static func temporaryID(
    _ json: JSON?, _ place: String
  ) throws(SaveError) -> String? {
    guard let json else { return nil }
    guard let text = json.string, !text.isEmpty else {
      throw .malformed("\(place): `temporaryID` is a text")
    }
    return text
  }

  private static func base(_ json: JSON, _ place: String) throws(SaveError) -> [JSON.Member]? {
    guard let base = json["base"] else { return nil }
    guard json["ifMatch"] == nil else {
      throw .malformed("\(place): give `ifMatch` or `base`, not both")
    }
    guard let members = base.members else {
      throw .malformed("\(place): `base` is an object")
    }
    return members
  }

  private static func memberNames(_ kind: Kind) -> Set<String> {
    switch kind {
    case .insert: ["insert", "temporaryID", "values"]
    case .update: ["update", "id", "values", "ifMatch", "base"]
    case .replace, .delete: ["delete", "id", "ifMatch", "base"]
    }
  }

  /// Returns the members that select the objects of a change without an id; nil if it has one.
  private static func condition(_ members: [JSON.Member], _ kind: Kind) -> [JSON.Member]? {
    guard kind == .update || kind == .delete, members.contains(where: { $0.name == "where" }) else {
      return nil
    }
    return members.filter { conditionNames.contains($0.name) }
  }

  private static let conditionNames: Set = ["where", "arguments", "variables"]

  private static func batchNames(_ kind: Kind) -> Set<String> {
    conditionNames.union(kind == .update ? ["update", "values"] : ["delete"])
  }

  private static func precondition(
    _ json: JSON?, _ place: String
  ) throws(SaveError) -> Precondition {
    guard let json else { return .none }
    guard let text = json.string, let tags = Precondition(ifMatch: text) else {
      throw .malformed("\(place): `ifMatch` is an ETag in double quotes, or `*`")
    }
    return tags
  }
}
