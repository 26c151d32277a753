// A model → the `contents` of an `.xcdatamodel`, and a report of everything that Core Data's format
// cannot express. Reading the file again gives the same model except for the reported parts.

import FetchModel

/// A model in Core Data's file format.
public struct CoreDataContents: Sendable {
  /// The text of the `contents` file.
  public let text: [UInt8]
  /// Everything that was left out, each with its location.
  public let remarks: [ModelFileProblem]

  /// Writes a model. O(parts).
  public init(_ model: ModelFile) {
    var writer = CoreDataWriter()
    writer.write(model)
    text = Array(writer.text.utf8)
    remarks = writer.remarks
  }
}

private struct CoreDataWriter {
  private(set) var text = ""
  private(set) var remarks: [ModelFileProblem] = []
  private var depth = 0

  private typealias Attributes = KeyValuePairs<String, String?>

  private mutating func remark(_ place: String, _ reason: String) {
    remarks.append(ModelFileProblem(place, reason))
  }

  // MARK: XML

  private mutating func element(
    _ name: String, _ attributes: Attributes, _ content: (inout Self) -> Void
  ) {
    open(name, attributes, end: ">")
    depth += 1
    content(&self)
    depth -= 1
    text += String(repeating: "    ", count: depth) + "</\(name)>\n"
  }

  private mutating func element(_ name: String, _ attributes: Attributes) {
    open(name, attributes, end: "/>")
  }

  private mutating func open(_ name: String, _ attributes: Attributes, end: String) {
    text += String(repeating: "    ", count: depth) + "<\(name)"
    for (name, value) in attributes {
      if let value { text += " \(name)=\"\(Self.escaped(value))\"" }
    }
    text += end + "\n"
  }

  private static func escaped(_ value: String) -> String {
    var text = ""
    for scalar in value.unicodeScalars {
      switch scalar {
      case "&": text += "&amp;"
      case "<": text += "&lt;"
      case ">": text += "&gt;"
      case "\"": text += "&quot;"
      case "\n", "\r", "\t": text += "&#\(scalar.value);"
      default: text.unicodeScalars.append(scalar)
      }
    }
    return text
  }

  private static let withoutRules =
    "Core Data has no access rules: left out. A model that is made of this file allows everything"

  private static func yes(_ flag: Bool) -> String? { flag ? "YES" : nil }

  // MARK: The model

  mutating func write(_ model: ModelFile) {
    text = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n"
    for found in model.classes {
      remark("classes/\(found.name)", "classes of values are code in Core Data: left out")
    }
    if model.allowsByDefault != nil { remark("access", Self.withoutRules) }
    element(
      "model",
      [
        "type": "com.apple.IDECoreDataModeler.DataModel", "documentVersion": "1.0",
        "userDefinedModelVersionIdentifier": model.version ?? "",
      ]
    ) { writer in
      for entity in model.entities { writer.write(entity) }
      for template in model.fetchTemplates { writer.write(template) }
    }
  }

  private mutating func write(_ entity: ModelFile.Entity) {
    let place = "entities/\(entity.name)"
    if !entity.sort.isEmpty { remark("\(place)/sort", "Core Data has no default order: left out") }
    if !entity.access.isEmpty { remark("\(place)/access", Self.withoutRules) }
    for attribute in entity.attributes {
      for (name, rule) in [("hidden", attribute.hidden), ("readOnly", attribute.readOnly)]
      where rule != nil {
        remark("\(place)/attributes/\(attribute.name)/\(name)", Self.withoutRules)
      }
    }
    element(
      "entity",
      [
        "name": entity.name, "isAbstract": Self.yes(entity.isAbstract),
        "parentEntity": entity.parent, "elementID": entity.renamingIdentifier,
      ]
    ) { writer in
      for attribute in entity.attributes {
        writer.write(attribute, "\(place)/attributes/\(attribute.name)")
      }
      for relationship in entity.relationships { writer.write(relationship) }
      for index in entity.fetchIndexes { writer.write(index) }
      writer.write(entity.uniquenessConstraints)
    }
  }

  private mutating func write(_ index: ModelFile.FetchIndex) {
    element("fetchIndex", ["name": index.name]) { writer in
      for part in index.elements {
        writer.element(
          "fetchIndexElement",
          [
            "property": part.property, "type": "Binary",
            "order": part.isDescending ? "descending" : "ascending",
          ])
      }
    }
  }

  private mutating func write(_ constraints: [[String]]) {
    guard !constraints.isEmpty else { return }
    element("uniquenessConstraints", [:]) { writer in
      for names in constraints {
        writer.element("uniquenessConstraint", [:]) { writer in
          for name in names { writer.element("constraint", ["value": name]) }
        }
      }
    }
  }

  private mutating func write(_ relationship: ModelFile.Relationship) {
    let isToMany = relationship.isToMany
    element(
      "relationship",
      [
        "name": relationship.name, "optional": Self.yes(relationship.isOptional),
        "toMany": Self.yes(isToMany), "minCount": relationship.minimumCount?.description,
        "maxCount": isToMany ? relationship.maximumCount?.description : "1",
        "deletionRule": relationship.deleteRule.rawValue,
        "ordered": Self.yes(relationship.isOrdered),
        "destinationEntity": relationship.destination, "inverseName": relationship.inverse,
        "inverseEntity": relationship.inverse == nil ? nil : relationship.destination,
        "elementID": relationship.renamingIdentifier,
      ])
  }

  private mutating func write(_ template: ModelFile.FetchTemplate) {
    if !template.sort.isEmpty {
      remark(
        "fetchTemplates/\(template.name)/sort", "Core Data's templates have no order: left out")
    }
    element(
      "fetchRequest",
      [
        "name": template.name, "entity": template.entity, "predicateString": template.predicate,
        "fetchLimit": template.limit?.description,
        "includeSubentities": template.includesSubentities ? nil : "NO",
      ])
  }

  // MARK: Attributes

  private mutating func write(_ attribute: ModelFile.Attribute, _ place: String) {
    let (least, most) = bounds(of: attribute, place)
    let isDate = attribute.type == .date
    let initial = defaultValue(of: attribute, place)
    element(
      "attribute",
      [
        "name": attribute.name, "optional": Self.yes(attribute.isOptional),
        "transient": Self.yes(attribute.isTransient), "attributeType": attribute.type.rawValue,
        "minValueString": isDate ? nil : least, "minDateTimeInterval": isDate ? least : nil,
        "maxValueString": isDate ? nil : most, "maxDateTimeInterval": isDate ? most : nil,
        "defaultValueString": isDate ? nil : initial,
        "defaultDateTimeInterval": isDate ? initial : nil,
        "regularExpressionString": attribute.pattern,
        "derived": Self.yes(attribute.derivation != nil),
        "derivationExpression": attribute.derivation?.text,
        "valueTransformerName": attribute.transformer, "customClassName": attribute.className,
        "elementID": attribute.renamingIdentifier,
      ])
  }

  private mutating func bounds(
    of attribute: ModelFile.Attribute, _ place: String
  ) -> (least: String?, most: String?) {
    if attribute.type == .string {
      return (attribute.minimumLength?.description, attribute.maximumLength?.description)
    }
    if attribute.minimumLength != nil || attribute.maximumLength != nil {
      remark(
        place, "Core Data bounds the length of a String alone, not of a \(attribute.type.rawValue)")
    }
    return (
      attribute.minimum.flatMap { Self.text($0, attribute) },
      attribute.maximum.flatMap { Self.text($0, attribute) }
    )
  }

  private mutating func defaultValue(
    of attribute: ModelFile.Attribute, _ place: String
  ) -> String? {
    guard let value = attribute.defaultValue else { return nil }
    let text = Self.text(value, attribute)
    if text == nil {
      remark(
        "\(place)/default", "Core Data's editor has no default of a \(attribute.type.rawValue)")
    }
    return text
  }

  /// Returns a value in Core Data's notation; nil if it has none for the type.
  private static func text(_ json: JSON, _ attribute: ModelFile.Attribute) -> String? {
    switch attribute.type {
    case .binary, .transformable: return nil
    case .date:
      guard case .date(let date)? = Value(json, as: .date) else { return nil }
      let seconds = date.seconds &- Int64(Instant.referenceDate)
      return date.nanoseconds == 0
        ? seconds.description : (Double(seconds) + Double(date.nanoseconds) / 1e9).description
    case .boolean: return json == .boolean(true) ? "YES" : "NO"
    default:
      if case .number(let digits) = json { return digits }
      return json.string
    }
  }
}
