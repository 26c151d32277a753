// A column's type → how its strings are written in CSV and TSV, so that `livefetch import` reads the
// same values.

import FetchModel

/// How a column's strings are written in CSV and TSV.
enum ColumnKind {
  case plain
  /// A string is written as JSON, with JSON's quotes.
  case json
  /// A column without a declared type: strings are in quotes, numbers are not.
  case untyped

  private init(type: String?, isUntyped: Bool) {
    self = isUntyped ? .untyped : type == AttributeType.json.rawValue ? .json : .plain
  }

  /// Returns the kinds of a plan's values, by their keys.
  static func kinds(of plan: FetchPlan, in model: Model) -> [String: ColumnKind] {
    var kinds: [String: ColumnKind] = [:]
    for value in plan.selection {
      guard case .path(let path) = value.source, case .attribute(let index) = path.target else {
        continue
      }
      let attribute = model.entities[model.walk(path).end].attributes[index]
      kinds[value.key] = ColumnKind(type: attribute.type.rawValue, isUntyped: attribute.isUntyped)
    }
    return kinds
  }

  /// The kind of the values at a key path.
  ///
  /// - Parameter model: the response to `/v1/model`.
  init(of keyPath: String, entity: String, in model: JSON) {
    let entity = Self.member(entity, of: model["entities"])
    let attribute = Self.member(keyPath, of: entity?["attributes"])
    if attribute == nil, let dot = keyPath.firstIndex(of: "."),
      let relationship = Self.member(String(keyPath[..<dot]), of: entity?["relationships"]),
      let destination = relationship["destination"]?.string
    {
      let rest = String(keyPath[keyPath.index(after: dot)...])
      self.init(of: rest, entity: destination, in: model)
    } else {
      self.init(
        type: attribute?["type"]?.string, isUntyped: attribute?["untyped"] == .boolean(true))
    }
  }

  /// Returns the columns of the selected values, or of all attributes and to-one relationships.
  ///
  /// - Parameters:
  ///   - select: The selected values, separated by commas; nil for the default.
  ///   - model: The response to `/v1/model`.
  static func columns(of entityName: String, select: String?, in model: JSON) -> [String] {
    let entity = member(entityName, of: model["entities"])
    let selected = select?.split(separator: ",").map { String($0.drop { $0 == " " }) }
    let properties = [entity?["attributes"], entity?["relationships"]].flatMap {
      $0?.elements ?? []
    }
    let names =
      selected
      ?? properties.filter { $0["toMany"] != .boolean(true) }.compactMap { $0["name"]?.string }
    let kind = entity?["subentities"] == nil || names.contains("entity") ? [] : ["entity"]
    return ["id"] + kind + names.filter { $0 != "id" }
  }

  static func member(_ name: String, of list: JSON?) -> JSON? {
    list?.elements.first { $0["name"]?.string == name }
  }
}
