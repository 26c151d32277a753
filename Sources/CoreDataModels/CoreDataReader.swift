// The elements of a `contents` file → the parts of a model, and a remark for everything that is left
// out or changed.

import FetchModel

/// Reads elements and reports unknown ones.
struct CoreDataReader {
  private(set) var remarks: [ModelFileProblem] = []
  private let entityNames: Set<String>
  /// The new names of properties whose names items use for something else, by the old ones.
  private let newNames: [String: String]

  init(_ root: XMLElement) {
    let entities = root.children.filter { $0.name == "entity" }
    entityNames = Set(entities.compactMap { $0["name"] })
    let names = entities.flatMap(\.children)
      .filter { $0.name == "attribute" || $0.name == "relationship" }.compactMap { $0["name"] }
    let reserved = names.filter { ["id", "entity", "self"].contains($0.lowercased()) }
    newNames = Dictionary(reserved.map { ($0, $0 + "_") }, uniquingKeysWith: { first, _ in first })
  }

  mutating func model(_ root: XMLElement) -> ModelFile {
    var model = ModelFile()
    model.version = root["userDefinedModelVersionIdentifier"].flatMap { $0.isEmpty ? nil : $0 }
    reportAttributes(
      of: root, at: "model",
      except: [
        "type", "documentVersion", "lastSavedToolsVersion", "systemVersion", "minimumToolsVersion",
        "sourceLanguage", "userDefinedModelVersionIdentifier",
      ])
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

  // MARK: Reports

  mutating func remark(_ place: String, _ reason: String) {
    remarks.append(ModelFileProblem(place, reason))
  }

  /// Reports the attributes of an element that are not `known`.
  mutating func reportAttributes(
    of element: XMLElement, at place: String, except known: Set<String>
  ) {
    let meaningless: Set = [
      "syncable", "codeGenerationType", "representedClassName", "customClassName",
      "elementID", "usesScalarValueType", "versionHashModifier", "spotlightIndexingEnabled",
      "attributeValueScalarType", "customModuleName", "storedInTruthFile", "indexed",
      "preserveAfterDeletion", "preservesValueInHistoryOnDeletion",
      "coreSpotlightDisplayNameExpression",
    ]
    for (name, value) in element.attributes where !known.contains(name) {
      remark(
        place,
        meaningless.contains(name)
          ? "`\(name)` (\(value)) has no meaning here" : "`\(name)` (\(value)) is not supported")
    }
  }

  /// Reports the children of an element that are not called `known`.
  mutating func reportChildren(
    of element: XMLElement, at place: String, except known: String? = nil
  ) {
    for child in element.children where child.name != known {
      remark(
        place,
        child.name == "userInfo"
          ? "user info has no meaning here" : "`\(child.name)` is not supported")
    }
  }

  /// Returns the value of an attribute; reports text that `read` does not accept.
  mutating func value<Wanted>(
    _ name: String, of element: XMLElement, at place: String, _ read: (String) -> Wanted?
  ) -> Wanted? {
    guard let text = element[name] else { return nil }
    let value = read(text)
    if value == nil { remark(place, "`\(name)` (\(text)) is not valid: left out") }
    return value
  }

  /// The same for a whole number that is not negative.
  mutating func count(_ name: String, of element: XMLElement, at place: String) -> Int? {
    value(name, of: element, at: place) { text in
      Int(text).flatMap { (0...Int(Int32.max)).contains($0) ? $0 : nil }
    }
  }

  // MARK: Names

  private func newName(_ name: String) -> String { newNames[name] ?? name }

  /// Returns the name of a property here; reports one that differs.
  mutating func name(of property: XMLElement, in entity: String) -> String {
    let name = property["name"] ?? ""
    let newName = newName(name)
    if newName != name { remark("\(entity).\(name)", "is called `\(newName)` here") }
    return newName
  }

  /// Returns a derivation expression with the names of properties here. Every name in it is one.
  mutating func renamed(_ derivation: Derivation, at place: String) -> Derivation {
    let renamed: Derivation =
      switch derivation {
      case .text(let function, let name): .text(function, attribute: newName(name))
      case .path(let names): .path(names.map(newName))
      case .count(let relationship): .count(relationship: newName(relationship))
      case .sum(let relationship, let attribute):
        .sum(relationship: newName(relationship), attribute: newName(attribute))
      case .now: .now
      }
    if renamed != derivation { remark(place, "the derivation is `\(renamed.text)` here") }
    return renamed
  }

  /// Returns a predicate with the names of properties here.
  private mutating func renamed(predicate: String, at place: String) -> String {
    let renamed = Predicate.renaming(newNames, in: predicate)
    if renamed != predicate { remark(place, "the predicate is `\(renamed)` here") }
    return renamed
  }

  // MARK: Entities

  private mutating func entity(_ element: XMLElement) -> ModelFile.Entity {
    var entity = ModelFile.Entity(name: element["name"] ?? "")
    let place = entity.name
    entity.parent = element["parentEntity"]
    entity.isAbstract = element["isAbstract"] == "YES"
    entity.renamingIdentifier = element["elementID"]
    reportAttributes(
      of: element, at: place, except: ["name", "parentEntity", "isAbstract", "elementID"])
    for child in element.children {
      switch child.name {
      case "attribute": if let read = attribute(child, place) { entity.attributes.append(read) }
      case "relationship":
        if let read = relationship(child, place) { entity.relationships.append(read) }
      case "fetchIndex": if let index = index(child, place) { entity.fetchIndexes.append(index) }
      case "uniquenessConstraints": entity.uniquenessConstraints = constraints(child, place)
      case "userInfo": remark(place, "user info has no meaning here")
      case let name: remark(place, "`\(name)` is not supported")
      }
    }
    return entity
  }

  private mutating func relationship(
    _ element: XMLElement, _ entity: String
  ) -> ModelFile.Relationship? {
    let name = name(of: element, in: entity)
    let place = "\(entity).\(name)"
    guard let destination = element["destinationEntity"] else {
      remark(place, "has no destination: left out")
      return nil
    }
    var relationship = ModelFile.Relationship(name: name, destination: destination)
    relationship.isToMany = element["toMany"] == "YES"
    relationship.isOrdered = element["ordered"] == "YES"
    relationship.isOptional = element["optional"] == "YES"
    relationship.inverse = element["inverseName"].map(newName)
    relationship.deleteRule =
      value("deletionRule", of: element, at: place) { ModelFile.DeleteRule(rawValue: $0) }
      ?? .nullify
    readCounts(of: &relationship, element, place)
    relationship.renamingIdentifier = element["elementID"]
    reportChildren(of: element, at: place)
    reportAttributes(
      of: element, at: place,
      except: [
        "name", "destinationEntity", "toMany", "ordered", "optional", "inverseName",
        "inverseEntity", "deletionRule", "minCount", "maxCount", "elementID",
      ])
    return relationship
  }

  private mutating func readCounts(
    of relationship: inout ModelFile.Relationship, _ element: XMLElement, _ place: String
  ) {
    let least = count("minCount", of: element, at: place)
    let most = count("maxCount", of: element, at: place)
    guard relationship.isToMany else { return }
    relationship.minimumCount = least
    // Core Data writes 0 for no maximum.
    relationship.maximumCount = most == 0 ? nil : most
  }

  // MARK: Indexes, constraints, templates

  private mutating func index(_ element: XMLElement, _ entity: String) -> ModelFile.FetchIndex? {
    var index = ModelFile.FetchIndex(name: element["name"] ?? "")
    let place = "\(entity), index \(index.name)"
    index.elements = element.children.filter { $0.name == "fetchIndexElement" }
      .compactMap { indexElement($0, place) }
    if element["partialIndexPredicate"] != nil {
      remark(place, "a partial index is not supported: read as an index of all rows")
    }
    reportChildren(of: element, at: place, except: "fetchIndexElement")
    reportAttributes(of: element, at: place, except: ["name", "partialIndexPredicate"])
    return index.elements.isEmpty ? nil : index
  }

  private mutating func indexElement(
    _ element: XMLElement, _ place: String
  ) -> ModelFile.FetchIndex.Element? {
    guard let property = element["property"], element["expressionType"] == nil else {
      remark(place, "only properties are supported as elements")
      return nil
    }
    if element["type"] == "RTree" {
      remark(place, "R-tree indexes are not supported: read as ordinary indexes")
    }
    var read = ModelFile.FetchIndex.Element(property: newName(property))
    read.isDescending = element["order"] == "descending"
    reportChildren(of: element, at: place)
    reportAttributes(of: element, at: place, except: ["property", "type", "order"])
    return read
  }

  private mutating func constraints(_ element: XMLElement, _ entity: String) -> [[String]] {
    let place = "\(entity), uniqueness constraints"
    reportAttributes(of: element, at: place, except: [])
    reportChildren(of: element, at: place, except: "uniquenessConstraint")
    var constraints: [[String]] = []
    for constraint in element.children where constraint.name == "uniquenessConstraint" {
      reportAttributes(of: constraint, at: place, except: [])
      reportChildren(of: constraint, at: place, except: "constraint")
      let names = constraint.children.filter { $0.name == "constraint" }
        .compactMap { $0["value"].map(newName) }
      if !names.isEmpty { constraints.append(names) }
    }
    return constraints
  }

  private mutating func template(_ element: XMLElement) -> ModelFile.FetchTemplate? {
    let name = element["name"] ?? ""
    let place = "fetch request \(name)"
    guard let entity = element["entity"], entityNames.contains(entity) else {
      remark(place, "has no entity of this model: left out")
      return nil
    }
    var template = ModelFile.FetchTemplate(name: name, entity: entity)
    if let predicate = element["predicateString"], !predicate.isEmpty {
      template.predicate = renamed(predicate: predicate, at: place)
    }
    let limit = count("fetchLimit", of: element, at: place)
    // Core Data writes 0 for no limit.
    template.limit = limit == 0 ? nil : limit
    template.includesSubentities = element["includeSubentities"] != "NO"
    reportChildren(of: element, at: place)
    reportAttributes(
      of: element, at: place,
      except: ["name", "entity", "predicateString", "fetchLimit", "includeSubentities"])
    return template
  }
}
