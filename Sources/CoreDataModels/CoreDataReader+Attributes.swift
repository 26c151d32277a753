// An `attribute` element → an attribute of a model, with its rules and default.

import FetchModel

extension CoreDataReader {
  mutating func attribute(_ element: XMLElement, _ entity: String) -> ModelFile.Attribute? {
    let name = name(of: element, in: entity)
    let place = "\(entity).\(name)"
    let typeName = element["attributeType"] ?? ""
    guard let type = ModelFile.AttributeType(rawValue: typeName) else {
      remark(
        place,
        typeName == "Composite"
          ? "composite attributes are not supported: left out"
          : "the type `\(typeName)` is not supported: left out")
      return nil
    }
    var attribute = ModelFile.Attribute(name: name, type: type)
    attribute.isOptional = element["optional"] == "YES"
    attribute.isTransient = element["transient"] == "YES"
    attribute.renamingIdentifier = element["elementID"]
    readRules(of: &attribute, element, place)
    readDerivation(of: &attribute, element, place)
    readTransformer(of: &attribute, element, place)
    if element["allowsExternalBinaryDataStorage"] == "YES" {
      remark(place, "external storage is not supported: values are kept in the store")
    }
    reportChildren(of: element, at: place)
    reportAttributes(of: element, at: place, except: Self.attributeNames(of: type))
    return attribute
  }

  /// The attributes of the element of an attribute of a type.
  private static func attributeNames(of type: ModelFile.AttributeType) -> Set<String> {
    var names: Set = [
      "name", "attributeType", "optional", "transient", "elementID", "defaultValueString",
      "minValueString", "maxValueString", "regularExpressionString", "derived",
      "derivationExpression", "allowsExternalBinaryDataStorage",
    ]
    if type == .date {
      names.formUnion(["defaultDateTimeInterval", "minDateTimeInterval", "maxDateTimeInterval"])
    }
    if type == .transformable { names.formUnion(["valueTransformerName", "customClassName"]) }
    return names
  }

  private mutating func readDerivation(
    of attribute: inout ModelFile.Attribute, _ element: XMLElement, _ place: String
  ) {
    let isDerived = element["derived"] == "YES"
    guard isDerived || element["derivationExpression"] != nil else { return }
    let text = element["derivationExpression"] ?? ""
    guard isDerived, let derivation = Derivation(text) else {
      return remark(place, "the derivation `\(text)` is not supported")
    }
    attribute.derivation = renamed(derivation, at: place)
  }

  private mutating func readTransformer(
    of attribute: inout ModelFile.Attribute, _ element: XMLElement, _ place: String
  ) {
    guard attribute.type == .transformable else { return }
    if let transformer = element["valueTransformerName"],
      ModelFile.builtInTransformers.contains(transformer)
    {
      attribute.transformer = transformer
    } else if let transformer = element["valueTransformerName"] {
      remark(place, "the values of transformer `\(transformer)` are stored as JSON")
    }
    if let name = element["customClassName"] {
      remark(place, "the class `\(name)` is not declared here: any JSON is accepted")
    }
  }

  // MARK: Rules

  private mutating func readRules(
    of attribute: inout ModelFile.Attribute, _ element: XMLElement, _ place: String
  ) {
    attribute.defaultValue = typedValue("default", of: attribute, element, place)
    if attribute.type == .string {
      attribute.minimumLength = count("minValueString", of: element, at: place)
      attribute.maximumLength = count("maxValueString", of: element, at: place)
    } else {
      attribute.minimum = typedValue("min", of: attribute, element, place)
      attribute.maximum = typedValue("max", of: attribute, element, place)
    }
    attribute.pattern = element["regularExpressionString"].flatMap { $0.isEmpty ? nil : $0 }
  }

  /// Returns the default, the minimum or the maximum of an attribute.
  ///
  /// - Parameter prefix: The first word of the XML attribute's name: `default`, `min` or `max`.
  private mutating func typedValue(
    _ prefix: String, of attribute: ModelFile.Attribute, _ element: XMLElement, _ place: String
  ) -> JSON? {
    if attribute.type == .date, element["\(prefix)DateTimeInterval"] != nil {
      return value("\(prefix)DateTimeInterval", of: element, at: place, Self.date)
    }
    return value("\(prefix)ValueString", of: element, at: place) { text in
      let json = Self.json(text, attribute.storedType)
      return json.flatMap { Value($0, as: attribute.storedType) == nil ? nil : $0 }
    }
  }

  private static func json(_ text: String, _ type: AttributeType) -> JSON? {
    switch type {
    case .integer, .double, .decimal: number(text)
    case .boolean:
      switch text {
      case "YES", "1": .boolean(true)
      case "NO", "0": .boolean(false)
      default: nil
      }
    case .string, .uri, .uuid, .date: .string(text)
    case .binary, .json: nil
    }
  }

  /// Returns a number with the digits of the text where JSON has the same notation.
  private static func number(_ text: String) -> JSON? {
    if let integer = Int64(text) { return .number("\(integer)") }
    if let json = try? JSON(parsing: Array(text.utf8)), case .number = json { return json }
    return Double(text).flatMap { $0.isFinite ? .number("\($0)") : nil }
  }

  /// Core Data counts seconds from 2001.
  private static func date(_ text: String) -> JSON? {
    Double(text).flatMap { Instant(secondsSince1970: $0 + Instant.referenceDate) }
      .map { .string($0.iso8601) }
  }
}
