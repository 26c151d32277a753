// One object of a result: its id and the selected values.

import FetchModel

/// An object's id and values. Two items are equal if their ids and all their values are.
public struct Item: Sendable, Hashable, Identifiable {
  /// The object's id.
  public let id: ObjectID
  /// The selected values.
  private(set) var values: ItemValues

  /// Reads an item of a snapshot, or an id of `as=ids`; nil for anything else.
  public init?(json: JSON) {
    var members: [JSON.Member] = []
    if case .object(let found) = json { members = found.filter { $0.name != "id" } }
    guard let id = ObjectID(json: json["id"] ?? json) else { return nil }
    self.init(id: id, values: ItemValues(members))
  }

  /// An item with these values, without the id among them.
  init(id: ObjectID, values: ItemValues = ItemValues([])) {
    (self.id, self.values) = (id, values)
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(id) }

  /// The entity's name, present if the fetch includes subentities.
  var entity: String? { values["entity"]?.string }

  /// The names of its values, in the model's order, beginning with `id`.
  public var names: [String] { ["id"] + values.names }

  /// The value of a selected property; nil if it was not selected.
  public subscript(name: String) -> JSON? { name == "id" ? id.predicateArgument : values[name] }

  /// The item as received.
  public var json: JSON {
    .object([JSON.Member(name: "id", value: id.predicateArgument)] + values.members)
  }

  /// The item without some values.
  func without(_ names: [String]) -> Item {
    var item = self
    item.values = values.filter { !names.contains($0.key) }
    return item
  }

  /// Applies the `changed` member of a diff.
  mutating func merge(_ changes: JSON?) {
    for change in changes?.members ?? [] { values[change.name] = change.value }
  }
}
