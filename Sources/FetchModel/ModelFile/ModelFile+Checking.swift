// ModelFile → everything in it that cannot be: names that mean nothing or two things, inverses that
// do not fit, rules that contradict each other.

extension ModelFile {
  /// Everything that is wrong with what the names mean to each other.
  var problems: [ModelFileProblem] {
    var check = ModelCheck(self)
    check.run()
    return check.problems
  }
}

private struct ModelCheck {
  let model: ModelFile
  let hierarchy: ClassHierarchy
  private(set) var problems: [ModelFileProblem] = []

  init(_ model: ModelFile) {
    self.model = model
    hierarchy = ClassHierarchy(model.classes)
  }

  private mutating func report(_ place: String, _ reason: String) {
    problems.append(ModelFileProblem(place, reason))
  }

  mutating func run() {
    if model.entities.isEmpty { report("entities", "a model has at least one") }
    checkNames(model.entities.map(\.name), "entities", isType: true)
    checkFolded(model.entities.map(\.name), "entities")
    checkNames(model.classes.map(\.name), "classes", isType: true)
    checkNames(model.fetchTemplates.map(\.name), "fetchTemplates", isType: true)
    for entity in model.entities { check(entity) }
    for found in model.classes { check(found) }
    for template in model.fetchTemplates { check(template) }
  }

  // MARK: Names

  /// What properties may not be called: items and predicates mean something else by it.
  private static let reserved: Set<String> = ["id", "entity", "self"]

  private mutating func checkNames(_ names: [String], _ place: String, isType: Bool = false) {
    var seen: Set<String> = []
    for name in names {
      if !seen.insert(name).inserted { report("\(place)/\(name)", "the name stands twice") }
      if !Self.isName(name) {
        report(
          "\(place)/\(name)", "a name is letters, digits and _, and does not begin with a digit")
      } else if !isType, Self.reserved.contains(name.lowercased()) || Self.isOurs(name) {
        report("\(place)/\(name)", "the name is reserved")
      } else if isType, Self.isOurs(name) || name.lowercased().hasPrefix("sqlite_") {
        report("\(place)/\(name)", "the name is reserved")
      }
    }
  }

  /// Tables are told apart without regard to case.
  private mutating func checkFolded(_ names: [String], _ place: String) {
    var seen: [String: String] = [:]
    for name in names {
      if let other = seen[name.lowercased()], other != name {
        report("\(place)/\(name)", "differs from `\(other)` in case alone")
      }
      seen[name.lowercased()] = name
    }
  }

  private static func isOurs(_ name: String) -> Bool { name.lowercased().hasPrefix("livefetch_") }

  private static func isName(_ name: String) -> Bool {
    guard let first = name.unicodeScalars.first, first.properties.numericType == nil else {
      return false
    }
    return name.unicodeScalars.allSatisfy {
      $0 == "_" || $0.properties.isAlphabetic || $0.properties.numericType == .decimal
        || $0.properties.generalCategory == .nonspacingMark
    }
  }

  // MARK: Entities

  private mutating func check(_ entity: ModelFile.Entity) {
    let place = "entities/\(entity.name)"
    if let parent = entity.parent {
      if model.entity(named: parent) == nil {
        report("\(place)/parent", "there is no entity `\(parent)`")
        return
      }
      if model.lineage(of: parent).contains(where: { $0.name == entity.name }) {
        report("\(place)/parent", "`\(entity.name)` would inherit from itself")
        return
      }
    }
    checkPropertyNames(of: entity, place)
    for attribute in entity.attributes {
      check(attribute, of: entity, "\(place)/attributes/\(attribute.name)")
    }
    for relationship in entity.relationships {
      check(relationship, of: entity, "\(place)/relationships/\(relationship.name)")
    }
    checkIndexes(of: entity, place)
    checkSort(entity.sort, of: entity.name, "\(place)/sort")
  }

  private mutating func checkPropertyNames(of entity: ModelFile.Entity, _ place: String) {
    checkNames(entity.attributes.map(\.name), "\(place)/attributes")
    checkNames(entity.relationships.map(\.name), "\(place)/relationships")
    let inherited =
      entity.parent.map {
        model.attributes(of: $0).map(\.name) + model.relationships(of: $0).map(\.name)
      } ?? []
    var seen = Set(inherited.map { $0.lowercased() })
    for name in entity.attributes.map(\.name) + entity.relationships.map(\.name)
    where !seen.insert(name.lowercased()).inserted {
      let isInherited = inherited.contains { $0.lowercased() == name.lowercased() }
      report(
        "\(place)/\(name)",
        isInherited ? "is inherited already" : "another property has this name")
    }
  }

  private mutating func checkIndexes(of entity: ModelFile.Entity, _ place: String) {
    var seen: Set<String> = []
    for index in entity.fetchIndexes {
      let place = "\(place)/fetchIndexes/\(index.name)"
      if !seen.insert(index.name).inserted { report(place, "the name stands twice") }
      if index.elements.isEmpty { report(place, "needs elements") }
      for element in index.elements {
        checkColumn(element.property, of: entity.name, "\(place)/elements")
      }
    }
    for (number, names) in entity.uniquenessConstraints.enumerated() {
      let place = "\(place)/uniquenessConstraints/\(number)"
      if names.isEmpty { report(place, "needs properties") }
      for name in names { checkColumn(name, of: entity.name, place) }
    }
  }

  /// An attribute or a to-one relationship: what a row holds.
  private mutating func checkColumn(_ name: String, of entity: String, _ place: String) {
    let attribute = model.attributes(of: entity).first { $0.name == name }
    let relationship = model.relationship(name, of: entity)
    if attribute?.isTransient == true {
      report(place, "`\(name)` is transient")
    } else if relationship?.isToMany == true {
      report(place, "`\(name)` is to-many")
    } else if attribute == nil, relationship == nil {
      report(place, "\(entity) has no property `\(name)`\(hint(name, entity))")
    }
  }

  private func hint(_ name: String, _ entity: String) -> String {
    let names =
      model.attributes(of: entity).map(\.name)
      + model.relationships(of: entity).map(\.name)
    return nearestName(to: name, among: names).map { "; did you mean `\($0)`?" } ?? ""
  }

  private mutating func checkSort(_ sort: [String], of entity: String, _ place: String) {
    for text in sort {
      let path = text.split(separator: ":", maxSplits: 1).first.map(String.init) ?? ""
      let names = (path.hasPrefix("-") ? String(path.dropFirst()) : path)
        .split(separator: ".", omittingEmptySubsequences: false).map(String.init)
      if let reason = problem(inToOnePath: names, of: entity) { report(place, reason) }
    }
  }

  /// Why a key path does not lead over to-one relationships to one value.
  private func problem(inToOnePath names: [String], of entity: String) -> String? {
    var entity = entity
    for (index, name) in names.enumerated() {
      let isLast = index == names.count - 1
      if let relationship = model.relationship(name, of: entity) {
        if relationship.isToMany { return "`\(name)` is to-many" }
        entity = relationship.destination
      } else if name == "id" || model.attributes(of: entity).contains(where: { $0.name == name }) {
        // Behind a transformable attribute stand its fields.
        let isTransformable =
          model.attributes(of: entity).first { $0.name == name }?.type == .transformable
        if !isLast, !isTransformable { return "nothing stands behind the attribute `\(name)`" }
        return nil
      } else {
        return "\(entity) has no property `\(name)`\(hint(name, entity))"
      }
    }
    return nil
  }
}

// MARK: - Attributes

extension ModelCheck {
  private mutating func check(
    _ attribute: ModelFile.Attribute, of entity: ModelFile.Entity, _ place: String
  ) {
    checkDefault(attribute, place)
    checkBounds(attribute, place)
    checkTransformer(attribute, place)
    checkDerivation(attribute, of: entity, place)
  }

  private mutating func checkDefault(_ attribute: ModelFile.Attribute, _ place: String) {
    guard let value = attribute.defaultValue else { return }
    if attribute.type == .transformable {
      if let reason = hierarchy.problem(in: value, of: attribute) {
        report("\(place)/default", reason)
      }
      return
    }
    guard let typed = Value(value, as: attribute.storedType) else {
      return report(
        "\(place)/default",
        "\(attribute.type.rawValue) takes \(attribute.storedType.expectation), not \(value.kind)")
    }
    if let violation = attribute.violation(of: typed) {
      report("\(place)/default", "the default \(violation.predicate)")
    }
  }

  private mutating func checkBounds(_ attribute: ModelFile.Attribute, _ place: String) {
    let isOrdered =
      switch attribute.type {
      case .boolean, .binary, .uuid, .uri, .transformable, .string: false
      default: true
      }
    for (name, bound) in [("minimum", attribute.minimum), ("maximum", attribute.maximum)] {
      guard let bound else { continue }
      if !isOrdered {
        report("\(place)/\(name)", "\(attribute.type.rawValue) has no order to bound")
      } else if Value(bound, as: attribute.storedType) == nil {
        report(
          "\(place)/\(name)",
          "takes \(attribute.storedType.expectation), not \(bound.kind)")
      }
    }
    if isOrdered, let maximum = attribute.maximum,
      let most = Value(maximum, as: attribute.storedType)
    {
      var lower = ModelFile.Attribute(name: attribute.name, type: attribute.type)
      lower.minimum = attribute.minimum
      if lower.violation(of: most)?.code == .tooSmall {
        report("\(place)/maximum", "is less than the minimum")
      }
    }
    checkLengths(attribute, place)
  }

  private mutating func checkLengths(_ attribute: ModelFile.Attribute, _ place: String) {
    let hasLength = [.string, .uri, .binary].contains(attribute.type)
    if !hasLength, attribute.minimumLength != nil || attribute.maximumLength != nil {
      report("\(place)/minimumLength", "\(attribute.type.rawValue) has no length")
    }
    if let least = attribute.minimumLength, let most = attribute.maximumLength, least > most {
      report("\(place)/maximumLength", "is less than the minimum")
    }
    guard let pattern = attribute.pattern else { return }
    guard [.string, .uri].contains(attribute.type) else {
      return report("\(place)/regex", "is matched with texts alone")
    }
    do {
      _ = try RegularExpression(pattern)
    } catch {
      report("\(place)/regex", "\(error.reason) at character \(error.position + 1)")
    }
  }

  private mutating func checkTransformer(_ attribute: ModelFile.Attribute, _ place: String) {
    guard attribute.type == .transformable else {
      if attribute.className != nil { report("\(place)/class", "is for Transformable alone") }
      if attribute.transformer != nil {
        report("\(place)/transformer", "is for Transformable alone")
      }
      return
    }
    if let name = attribute.className, hierarchy[name] == nil {
      report("\(place)/class", "there is no class `\(name)`")
    }
    if ["Color", "UUID"].contains(attribute.transformer), attribute.className != nil {
      report("\(place)/class", "\(attribute.transformer ?? "") has no classes")
    }
  }

  private mutating func checkDerivation(
    _ attribute: ModelFile.Attribute, of entity: ModelFile.Entity, _ place: String
  ) {
    guard let derivation = attribute.derivation else { return }
    let place = "\(place)/derivation"
    switch derivation {
    case .now:
      if attribute.type != .date { report(place, "now() is a Date") }
    case .text(_, let source):
      let found = model.attributes(of: entity.name).first { $0.name == source }
      if found?.type != .string || attribute.type != .string {
        report(place, "`\(source)` and the derived attribute have to be a String")
      }
      if found?.derivation != nil { report(place, "`\(source)` is derived itself") }
    case .path(let names):
      if let reason = problem(inToOnePath: names, of: entity.name) { report(place, reason) }
    case .count(let name), .sum(let name, _):
      guard let relationship = model.relationship(name, of: entity.name),
        relationship.isToMany
      else { return report(place, "\(entity.name) has no to-many relationship `\(name)`") }
      guard case .sum(_, let summed) = derivation else { return }
      let found = model.attributes(of: relationship.destination).first { $0.name == summed }
      if found?.storedType.isNumeric != true {
        report(place, "\(relationship.destination) has no number `\(summed)`")
      }
    }
    if !attribute.isOptional, case .path = derivation {
      report(place, "what a key path reads may be nil, so the attribute has to be optional")
    }
  }
}

// MARK: - Relationships

extension ModelCheck {
  private mutating func check(
    _ relationship: ModelFile.Relationship, of entity: ModelFile.Entity, _ place: String
  ) {
    guard model.entity(named: relationship.destination) != nil else {
      return report(
        "\(place)/destination", "there is no entity `\(relationship.destination)`")
    }
    if !relationship.isToMany {
      if relationship.isOrdered { report("\(place)/ordered", "is for to-many alone") }
      if relationship.minimumCount != nil || relationship.maximumCount != nil {
        report("\(place)/minimumCount", "is for to-many alone; use `optional`")
      }
    }
    if let least = relationship.minimumCount, let most = relationship.maximumCount, most > 0,
      least > most
    {
      report("\(place)/maximumCount", "is less than the minimum")
    }
    checkInverse(of: relationship, of: entity, place)
  }

  private mutating func checkInverse(
    of relationship: ModelFile.Relationship, of entity: ModelFile.Entity, _ place: String
  ) {
    guard let name = relationship.inverse else { return }
    let place = "\(place)/inverse"
    guard let inverse = model.relationship(name, of: relationship.destination) else {
      return report(place, "\(relationship.destination) has no relationship `\(name)`")
    }
    let declarer = model.declarer(of: name, in: relationship.destination)
    if declarer != relationship.destination {
      report(
        place,
        "`\(name)` is declared by \(declarer ?? "another entity"), which has to be the destination")
    } else if inverse.inverse != relationship.name || inverse.destination != entity.name {
      report(
        place,
        "`\(relationship.destination).\(name)` does not lead back to `\(entity.name).\(relationship.name)`"
      )
    }
  }
}

// MARK: - Classes and templates

extension ModelCheck {
  private mutating func check(_ found: ModelFile.Class) {
    let place = "classes/\(found.name)"
    if let parent = found.parent {
      guard hierarchy[parent] != nil else {
        return report("\(place)/parent", "there is no class `\(parent)`")
      }
      if hierarchy.lineage(of: parent).contains(where: { $0.name == found.name }) {
        return report("\(place)/parent", "`\(found.name)` would inherit from itself")
      }
    }
    var seen = Set(found.parent.map { hierarchy.fields(of: $0).map(\.name) } ?? [])
    for field in found.fields {
      let place = "\(place)/fields/\(field.name)"
      if !seen.insert(field.name).inserted { report(place, "another field has this name") }
      if !Self.isField(field.name) {
        report(place, "a name is letters, digits and _, and does not begin with a digit")
      }
      if case .object(let name) = field.type, hierarchy[name] == nil {
        report("\(place)/type", "`\(name)` is neither a type nor a declared class")
      }
    }
  }

  private static func isField(_ name: String) -> Bool { isName(name) }

  private mutating func check(_ template: ModelFile.FetchTemplate) {
    let place = "fetchTemplates/\(template.name)"
    guard model.entity(named: template.entity) != nil else {
      return report("\(place)/entity", "there is no entity `\(template.entity)`")
    }
    if let text = template.predicate {
      do throws(PredicateError) {
        _ = try Predicate(parsing: text)
      } catch {
        report("\(place)/predicate", "\(error)")
      }
    }
    checkSort(template.sort, of: template.entity, "\(place)/sort")
  }
}
