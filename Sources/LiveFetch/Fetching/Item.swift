// One object of a result as it came: its id and the values that the fetch selected.

/// An object's id and values. A value type: two items are equal when all their values are.
public struct Item: Sendable, Hashable, Identifiable {
  public let id: ObjectID
  /// The entity's name, where a fetch over several of them told it.
  public let entity: String?
  private var members: [JSON.Member]

  /// Reads an item of a snapshot, or an id alone as `as=ids` gives it; nil for all else.
  public init?(json: JSON) {
    if case .object(let members) = json {
      guard let id = json["id"].flatMap(ObjectID.init(json:)) else { return nil }
      self.id = id
      self.members = members
      entity = json["entity"]?.string
    } else {
      guard let id = ObjectID(json: json) else { return nil }
      self.id = id
      members = [JSON.Member(name: "id", value: json)]
      entity = nil
    }
  }

  /// An item of which the id alone is known.
  init(id: ObjectID) {
    self.id = id
    members = [JSON.Member(name: "id", value: id.predicateArgument)]
    entity = nil
  }

  /// The names of its values, in the model's order, `id` first.
  public var names: [String] { members.map(\.name) }

  /// The value called `name`; nil where the fetch did not select it.
  public subscript(name: String) -> JSON? { members.first { $0.name == name }?.value }

  /// The item as the JSON it came as.
  public var json: JSON { .object(members) }

  /// The item but for some values.
  func without(_ names: [String]) -> Item {
    var item = self
    item.members.removeAll { names.contains($0.name) }
    return item
  }

  /// Takes the values of a diff's `changed` over.
  mutating func merge(_ changes: JSON?) {
    guard case .object(let changes)? = changes, !changes.isEmpty else { return }
    let values = Dictionary(changes.map { ($0.name, $0.value) }) { $1 }
    for index in members.indices {
      let name = members[index].name
      if let value = values[name] { members[index] = JSON.Member(name: name, value: value) }
    }
    let known = Set(members.map(\.name))
    members += changes.filter { !known.contains($0.name) }
  }
}
