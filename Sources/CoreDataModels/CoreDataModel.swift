// The `contents` of an `.xcdatamodel` → a model, and a report of everything that is unsupported or
// has no meaning here. Nothing is dropped without a report.

import FetchModel

/// A model read from Core Data's file format.
public struct CoreDataModel: Sendable {
  /// The model, checked.
  public let model: ModelFile
  /// Everything that was left out or changed, each with its location.
  public let remarks: [ModelFileProblem]

  /// Reads the text of a `contents` file. O(length).
  ///
  /// - Throws: Every problem, if the text is not a valid model.
  public init(contents text: [UInt8]) throws(ModelFileError) {
    let root: XMLElement
    do {
      root = try XMLElement.parse(text)
    } catch {
      throw ModelFileError([ModelFileProblem("line \(error.line)", error.reason)])
    }
    guard root.name == "model" else {
      throw ModelFileError([ModelFileProblem("", "the root is `\(root.name)`, not `model`")])
    }
    var reader = CoreDataReader()
    let read = reader.model(root)
    // Checks the model by the rules of LiveFetch's own files.
    model = try ModelFile(read.json)
    remarks = reader.remarks
  }
}

/// Reads elements and reports unknown ones.
private struct CoreDataReader {
  private(set) var remarks: [ModelFileProblem] = []
  private var entityNames: Set<String> = []

  private mutating func remark(_ place: String, _ reason: String) {
    remarks.append(ModelFileProblem(place, reason))
  }

  /// Reports the unknown attributes of an element.
  private mutating func check(_ element: XMLElement, _ place: String, _ known: Set<String>) {
    let silent: Set = [
      "syncable", "codeGenerationType", "representedClassName", "customClassName",
      "elementID", "usesScalarValueType", "versionHashModifier", "spotlightIndexingEnabled",
      "attributeValueScalarType", "customModuleName", "storedInTruthFile", "indexed",
      "preserveAfterDeletion", "preservesValueInHistoryOnDeletion",
      "coreSpotlightDisplayNameExpression",
    ]
    for (name, value) in element.attributes where !known.contains(name) {
      remark(
        place,
        silent.contains(name)
          ? "`\(name)` (\(value)) has no meaning here" : "`\(name)` (\(value)) is not supported")
    }
  }

  private mutating func checkChildren(of element: XMLElement, _ place: String) {
    for child in element.children {
      remark(
        place,
        child.name == "userInfo"
          ? "user info has no meaning here" : "`\(child.name)` is not supported")
    }
  }

  mutating func model(_ root: XMLElement) -> ModelFile {
    var model = ModelFile()
    model.version = root["userDefinedModelVersionIdentifier"].flatMap { $0.isEmpty ? nil : $0 }
    check(
      root, "model",
      [
        "type", "documentVersion", "lastSavedToolsVersion", "systemVersion", "minimumToolsVersion",
        "sourceLanguage", "userDefinedModelVersionIdentifier",
      ])
    entityNames = Set(root.children.filter { $0.name == "entity" }.compactMap { $0["name"] })
    for child in root.children {
      switch child.name {
      case "entity": model.entities.append(entity(child))
      case "fetchRequest":
        if let template = template(child) { model.fetchTemplates.append(template) }
      case "elements": continue
      case "configuration":
        remark("configuration \(child["name"] ?? "")", "configurations have no meaning here")
      case let name: remark(name, "is not supported")
      }
    }
    return model
  }

  /// Returns a property's name; appends `_` to a name that items use for something else.
  private static func served(_ name: String) -> String {
    ["id", "entity", "self"].contains(name.lowercased()) ? name + "_" : name
  }

  private mutating func served(_ name: String, _ entity: String) -> String {
    let served = Self.served(name)
    if served != name { remark("\(entity).\(name)", "is called `\(served)` here") }
    return served
  }

  // MARK: Entities

  private mutating func entity(_ element: XMLElement) -> ModelFile.Entity {
    var entity = ModelFile.Entity(name: element["name"] ?? "")
    let place = entity.name
    entity.parent = element["parentEntity"]
    entity.isAbstract = element["isAbstract"] == "YES"
    entity.renamingIdentifier = element["elementID"]
    check(element, place, ["name", "parentEntity", "isAbstract", "elementID"])
    for child in element.children {
      switch child.name {
      case "attribute": if let read = attribute(child, place) { entity.attributes.append(read) }
      case "relationship":
        if let read = relationship(child, place) { entity.relationships.append(read) }
      case "fetchIndex": if let index = index(child, place) { entity.fetchIndexes.append(index) }
      case "uniquenessConstraints": entity.uniquenessConstraints = constraints(child)
      case "userInfo": remark(place, "user info has no meaning here")
      case let name: remark(place, "`\(name)` is not supported")
      }
    }
    return entity
  }

  private mutating func attribute(
    _ element: XMLElement, _ entity: String
  ) -> ModelFile.Attribute? {
    let name = served(element["name"] ?? "", entity)
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
    readRules(of: &attribute, element)
    if element["derived"] == "YES", let text = element["derivationExpression"] {
      attribute.derivation = Derivation(text)
      if attribute.derivation == nil { remark(place, "the derivation `\(text)` is not supported") }
    }
    if type == .transformable { readTransformer(of: &attribute, element, place) }
    checkChildren(of: element, place)
    if element["allowsExternalBinaryDataStorage"] == "YES" {
      remark(place, "external storage is not supported: values are kept in the store")
    }
    check(
      element, place,
      [
        "name", "attributeType", "optional", "transient", "elementID", "defaultValueString",
        "defaultDateTimeInterval", "minValueString", "maxValueString", "minDateTimeInterval",
        "maxDateTimeInterval", "regularExpressionString", "derived", "derivationExpression",
        "valueTransformerName", "allowsExternalBinaryDataStorage", "customClassName",
      ])
    return attribute
  }

  private mutating func readRules(of attribute: inout ModelFile.Attribute, _ element: XMLElement) {
    attribute.defaultValue =
      element["defaultDateTimeInterval"].flatMap(Self.date)
      ?? element["defaultValueString"].flatMap { Self.value($0, attribute) }
    let (least, most) = (element["minValueString"], element["maxValueString"])
    if attribute.type == .string {
      attribute.minimumLength = least.flatMap { Int($0) }
      attribute.maximumLength = most.flatMap { Int($0) }
    } else {
      attribute.minimum =
        element["minDateTimeInterval"].flatMap(Self.date)
        ?? least.flatMap { Self.value($0, attribute) }
      attribute.maximum =
        element["maxDateTimeInterval"].flatMap(Self.date)
        ?? most.flatMap { Self.value($0, attribute) }
    }
    attribute.pattern = element["regularExpressionString"].flatMap { $0.isEmpty ? nil : $0 }
  }

  private static func value(_ text: String, _ attribute: ModelFile.Attribute) -> JSON? {
    switch attribute.storedType {
    case .integer, .double, .decimal:
      (try? JSON(parsing: Array(text.utf8))) ?? Double(text).map { .number("\($0)") }
    case .boolean: .boolean(text == "YES" || text == "1")
    case .string, .uri, .uuid, .date: .string(text)
    case .binary, .json: nil
    }
  }

  /// Core Data counts seconds from 2001.
  private static func date(_ text: String) -> JSON? {
    Double(text).flatMap { Instant(secondsSince1970: $0 + 978_307_200) }.map { .string($0.iso8601) }
  }

  private mutating func readTransformer(
    of attribute: inout ModelFile.Attribute, _ element: XMLElement, _ place: String
  ) {
    if let transformer = element["valueTransformerName"],
      ModelFile.builtInTransformers.contains(transformer)
    {
      attribute.transformer = transformer
    } else if let transformer = element["valueTransformerName"] {
      remark(place, "the transformer `\(transformer)` is read as JSON")
    }
    if let name = element["customClassName"] {
      remark(place, "the class `\(name)` is not declared here: any JSON is taken")
    }
    attribute.defaultValue = nil
  }

  // MARK: Relationships, indexes, templates

  private mutating func relationship(
    _ element: XMLElement, _ entity: String
  ) -> ModelFile.Relationship? {
    let name = served(element["name"] ?? "", entity)
    let place = "\(entity).\(name)"
    guard let destination = element["destinationEntity"] else {
      remark(place, "has no destination: left out")
      return nil
    }
    var relationship = ModelFile.Relationship(name: name, destination: destination)
    relationship.isToMany = element["toMany"] == "YES"
    relationship.isOrdered = element["ordered"] == "YES"
    relationship.isOptional = element["optional"] == "YES"
    relationship.inverse = element["inverseName"].map(Self.served)
    relationship.deleteRule =
      element["deletionRule"].flatMap(ModelFile.DeleteRule.init(rawValue:)) ?? .nullify
    if relationship.isToMany {
      relationship.minimumCount = element["minCount"].flatMap { Int($0) }
      relationship.maximumCount = element["maxCount"].flatMap { Int($0) }
    }
    relationship.renamingIdentifier = element["elementID"]
    checkChildren(of: element, place)
    check(
      element, place,
      [
        "name", "destinationEntity", "toMany", "ordered", "optional", "inverseName",
        "inverseEntity", "deletionRule", "minCount", "maxCount", "elementID",
      ])
    return relationship
  }

  private mutating func index(_ element: XMLElement, _ entity: String) -> ModelFile.FetchIndex? {
    var index = ModelFile.FetchIndex(name: element["name"] ?? "")
    let place = "\(entity), index \(index.name)"
    for child in element.children where child.name == "fetchIndexElement" {
      guard let property = child["property"], child["expressionType"] == nil else {
        remark(place, "only properties are supported as elements")
        continue
      }
      if child["type"] == "RTree" {
        remark(place, "R-tree indexes are not supported: read as others")
      }
      var read = ModelFile.FetchIndex.Element(property: Self.served(property))
      read.isDescending = child["order"] == "descending"
      index.elements.append(read)
    }
    if element["partialIndexPredicate"] != nil {
      remark(place, "a partial index is not supported: read as a whole one")
    }
    return index.elements.isEmpty ? nil : index
  }

  private func constraints(_ element: XMLElement) -> [[String]] {
    element.children.filter { $0.name == "uniquenessConstraint" }.map { constraint in
      constraint.children.compactMap { $0["value"].map(Self.served) }
    }.filter { !$0.isEmpty }
  }

  private mutating func template(_ element: XMLElement) -> ModelFile.FetchTemplate? {
    let name = element["name"] ?? ""
    guard let entity = element["entity"], entityNames.contains(entity) else {
      remark("fetch request \(name)", "has no entity of this model: left out")
      return nil
    }
    var template = ModelFile.FetchTemplate(name: name, entity: entity)
    template.predicate = element["predicateString"].flatMap { $0.isEmpty ? nil : $0 }
    template.limit = element["fetchLimit"].flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }
    template.includesSubentities = element["includeSubentities"] != "NO"
    check(
      element, "fetch request \(name)",
      ["name", "entity", "predicateString", "fetchLimit", "includeSubentities"])
    return template
  }
}
