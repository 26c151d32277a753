// A `ModelFile` → every error in it: unknown or ambiguous names, inverses that do not match, rules
// that contradict each other.

extension ModelFile {
  /// Returns all errors in the meaning of the model's names and rules.
  ///
  /// - Parameter isStored: true for the model of a store, which an earlier version may have accepted
  ///   with derived attributes of other types.
  func problems(isStored: Bool = false) -> [ModelFileProblem] {
    var check = ModelCheck(self)
    check.isStored = isStored
    check.run()
    return check.problems
  }

  /// Checks a model that was built in code. Reading a model already checks it.
  ///
  /// - Throws: Every problem, each with its location.
  public func check() throws(ModelFileError) {
    let problems = problems()
    guard problems.isEmpty else { throw ModelFileError(problems) }
  }

  /// True if an entity may have this name.
  public static func canName(entity name: String) -> Bool {
    let folded = name.lowercased()
    return ModelCheck.isName(name) && !folded.hasPrefix("livefetch_")
      && !folded.hasPrefix("sqlite_")
  }

  /// True if a property may have this name.
  public static func canName(property name: String) -> Bool {
    ModelCheck.isName(name) && !ModelCheck.reserved.contains(name.lowercased())
      && !name.lowercased().hasPrefix("livefetch_")
  }
}

struct ModelCheck {
  let model: ModelFile
  let hierarchy: ClassHierarchy
  /// True to accept derived attributes of other types than their derivations.
  var isStored = false
  var problems: [ModelFileProblem] = []

  init(_ model: ModelFile) {
    self.model = model
    hierarchy = ClassHierarchy(model.classes)
  }

  mutating func report(_ place: String, _ reason: String) {
    problems.append(ModelFileProblem(place, reason))
  }

  mutating func run() {
    if model.entities.isEmpty { report("entities", "a model has at least one") }
    checkNames(model.entities.map(\.name), "entities", isType: true)
    checkFolded(model.entities.map(\.name), "entities")
    for entity in model.entities
    where !isStored && ["new", "old"].contains(entity.name.lowercased()) {
      report("entities/\(entity.name)", "the name is reserved: in triggers it is that of a row")
    }
    checkNames(model.classes.map(\.name), "classes", isType: true)
    checkNames(model.fetchTemplates.map(\.name), "fetchTemplates", isType: true)
    for entity in model.entities { check(entity) }
    for found in model.classes { check(found) }
    for template in model.fetchTemplates { check(template) }
  }

  // MARK: Names

  /// Names that properties must not have, because items and predicates use them.
  static let reserved: Set<String> = ["id", "entity", "self"]

  mutating func checkNames(_ names: [String], _ place: String, isType: Bool = false) {
    var seen: Set<String> = []
    for name in names {
      if !seen.insert(name).inserted { report("\(place)/\(name)", "the name is not unique") }
      if !Self.isName(name) {
        report(
          "\(place)/\(name)", "a name is letters, digits and _, and does not begin with a digit")
      } else if !(isType ? ModelFile.canName(entity: name) : ModelFile.canName(property: name)) {
        report("\(place)/\(name)", "the name is reserved")
      }
    }
  }

  /// Table names are compared without case.
  private mutating func checkFolded(_ names: [String], _ place: String) {
    var seen: [String: String] = [:]
    for name in names {
      if let other = seen[name.lowercased()], other != name {
        report("\(place)/\(name)", "differs from `\(other)` in case alone")
      }
      seen[name.lowercased()] = name
    }
  }

  static func isName(_ name: String) -> Bool {
    guard let first = name.unicodeScalars.first, first.properties.numericType == nil else {
      return false
    }
    return name.unicodeScalars.allSatisfy {
      $0 == "_" || $0.properties.isAlphabetic || $0.properties.numericType == .decimal
        || $0.properties.generalCategory == .nonspacingMark
    }
  }

  // MARK: Entities

  mutating func check(_ entity: ModelFile.Entity) {
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
      if !seen.insert(index.name).inserted { report(place, "the name is not unique") }
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

  /// Checks an attribute or a to-one relationship, which a row stores.
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

  func hint(_ name: String, _ entity: String) -> String {
    let names =
      model.attributes(of: entity).map(\.name)
      + model.relationships(of: entity).map(\.name)
    return nearestName(to: name, among: names).map { "; did you mean `\($0)`?" } ?? ""
  }

  mutating func checkSort(_ sort: [String], of entity: String, _ place: String) {
    if sort.count > FetchRequest.maxSortTerms {
      report(place, "takes at most \(FetchRequest.maxSortTerms) key paths")
    }
    for text in sort {
      let path = text.split(separator: ":", maxSplits: 1).first.map(String.init) ?? ""
      let names = (path.hasPrefix("-") ? String(path.dropFirst()) : path)
        .split(separator: ".", omittingEmptySubsequences: false).map(String.init)
      if let reason = problem(inToOnePath: names, of: entity) { report(place, reason) }
    }
  }

  /// Returns the reason why a key path does not lead over to-one relationships to one value; nil if
  /// it does.
  func problem(inToOnePath names: [String], of entity: String) -> String? {
    var entity = entity
    for (index, name) in names.enumerated() {
      let isLast = index == names.count - 1
      if let relationship = model.relationship(name, of: entity) {
        if relationship.isToMany { return "`\(name)` is to-many" }
        entity = relationship.destination
      } else if name == "id" || model.attributes(of: entity).contains(where: { $0.name == name }) {
        // After a transformable attribute the names of its fields may follow.
        let isTransformable =
          model.attributes(of: entity).first { $0.name == name }?.type == .transformable
        if !isLast, !isTransformable { return "no name may follow the attribute `\(name)`" }
        return nil
      } else {
        return "\(entity) has no property `\(name)`\(hint(name, entity))"
      }
    }
    return nil
  }
}
