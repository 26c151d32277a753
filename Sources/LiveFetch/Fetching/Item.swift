// One object of a result: its id and the selected values.

/// An object's id and values. Two items are equal if all values are.
public struct Item: Sendable, Hashable, Identifiable {
  /// The object's id.
  public let id: ObjectID
  /// The entity's name, present if the fetch includes subentities.
  public let entity: String?
  private var members: [JSON.Member]

  /// Reads an item of a snapshot, or an id of `as=ids`; nil for anything else.
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

  /// An item that consists of its id only.
  init(id: ObjectID) {
    self.id = id
    members = [JSON.Member(name: "id", value: id.predicateArgument)]
    entity = nil
  }

  /// An item with these values, without the id among them.
  init(id: ObjectID, values: [JSON.Member]) {
    self.id = id
    members = [JSON.Member(name: "id", value: id.predicateArgument)] + values
    entity = nil
  }

  /// The names of its values, in the model's order, beginning with `id`.
  public var names: [String] { members.map(\.name) }

  /// The value of a selected property; nil if it was not selected.
  public subscript(name: String) -> JSON? { members.first { $0.name == name }?.value }

  /// The item as received.
  public var json: JSON { .object(members) }

  /// The item without some values.
  func without(_ names: [String]) -> Item {
    var item = self
    item.members.removeAll { names.contains($0.name) }
    return item
  }

  /// Applies the `changed` member of a diff.
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
