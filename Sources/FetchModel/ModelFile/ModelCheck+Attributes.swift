// Checks that the rules of an attribute contradict neither its type nor each other.

import Patterns

extension ModelCheck {
  mutating func check(
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
    if case .string(let text) = typed, text.unicodeScalars.contains("\0") {
      report("\(place)/default", "a default may not hold the character U+0000")
    }
    for violation in attribute.violations(of: typed) {
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
      } else if let value = Value(bound, as: attribute.storedType) {
        checkRange(value, attribute.type, "\(place)/\(name)")
      } else {
        report(
          "\(place)/\(name)",
          "takes \(attribute.storedType.expectation), not \(bound.kind)")
      }
    }
    // Validates the maximum as a value, with the minimum as the only rule.
    if isOrdered, let maximum = attribute.maximum,
      let most = Value(maximum, as: attribute.storedType)
    {
      var lower = ModelFile.Attribute(name: attribute.name, type: attribute.type)
      lower.minimum = attribute.minimum
      if lower.violations(of: most).contains(where: { $0.code == .tooSmall }) {
        report("\(place)/maximum", "is less than the minimum")
      }
    }
    checkLengths(attribute, place)
  }

  /// Reports a bound that is no value of the type.
  private mutating func checkRange(
    _ bound: Value, _ type: ModelFile.AttributeType, _ place: String
  ) {
    guard !isStored, !ModelFile.Attribute(name: "", type: type).violations(of: bound).isEmpty else {
      return
    }
    report(place, "is no value of \(type.rawValue)")
  }

  private mutating func checkLengths(_ attribute: ModelFile.Attribute, _ place: String) {
    let hasLength = [.string, .uri, .binary].contains(attribute.type)
    let lengths = [
      ("minimumLength", attribute.minimumLength), ("maximumLength", attribute.maximumLength),
    ]
    for (name, length) in lengths where !hasLength && length != nil {
      report("\(place)/\(name)", "\(attribute.type.rawValue) has no length")
    }
    if let least = attribute.minimumLength, let most = attribute.maximumLength, least > most {
      report("\(place)/maximumLength", "is less than the minimum")
    }
    guard let pattern = attribute.pattern else { return }
    guard [.string, .uri].contains(attribute.type) else {
      return report("\(place)/regex", "is for String and URI alone")
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
      if let type = type(at: names, of: entity.name) { checkType(attribute, holds: type, place) }
    case .count(let name), .sum(let name, _):
      guard let relationship = model.relationship(name, of: entity.name),
        relationship.isToMany
      else { return report(place, "\(entity.name) has no to-many relationship `\(name)`") }
      guard case .sum(_, let summed) = derivation else {
        checkType(attribute, holds: .integer64, place)
        break
      }
      checkSum(of: summed, relationship.destination, attribute, place)
    }
    if isDerivedFromItself(attribute.name, of: entity.name) {
      report(place, "it is derived from itself")
    }
    if !attribute.isOptional, case .path = derivation {
      report(place, "a key path may lead to nil, so the attribute has to be optional")
    }
  }
}

// MARK: - Types of derivations

extension ModelCheck {
  /// Checks that the summed attribute is a number, of a type that the derived attribute holds.
  private mutating func checkSum(
    of name: String, _ destination: String, _ attribute: ModelFile.Attribute, _ place: String
  ) {
    let found = model.attributes(of: destination).first { $0.name == name }
    guard let found, found.storedType.isNumeric else {
      return report(place, "\(destination) has no number `\(name)`")
    }
    let isFractional = [.decimal, .double, .float].contains(found.type)
    checkType(attribute, holds: isFractional ? found.type : .integer64, place)
  }

  private mutating func checkType(
    _ attribute: ModelFile.Attribute, holds type: ModelFile.AttributeType, _ place: String
  ) {
    guard !isStored, !attribute.type.holds(type) else { return }
    report(
      place,
      "it results in \(type.rawValue), and the attribute's type is \(attribute.type.rawValue)")
  }

  /// Returns the type of the attribute at the end of a key path; nil for an object, an id, and a field
  /// of a transformable attribute.
  private func type(at names: [String], of entity: String) -> ModelFile.AttributeType? {
    var entity = entity
    for name in names.dropLast() {
      guard let relationship = model.relationship(name, of: entity) else { return nil }
      entity = relationship.destination
    }
    return model.attributes(of: entity).first { $0.name == names.last }?.type
  }
}

extension ModelFile.AttributeType {
  /// True if a derived attribute of this type may have the values of another type.
  fileprivate func holds(_ other: Self) -> Bool {
    switch self {
    case .integer16, .integer32, .integer64:
      [.integer16, .integer32, .integer64, .boolean].contains(other)
    case .decimal, .double, .float:
      [.integer16, .integer32, .integer64, .decimal, .double, .float, .boolean].contains(other)
    case .string: ![.boolean, .date, .binary, .transformable].contains(other)
    case .uri: [.uri, .string].contains(other)
    case .boolean, .date, .binary, .uuid, .transformable: self == other
    }
  }
}

// MARK: - Derivations of derivations

extension ModelCheck {
  /// True if an attribute's derivation leads back to the attribute through other derivations.
  private func isDerivedFromItself(_ attribute: String, of entity: String) -> Bool {
    guard let start = model.declaredAttribute(attribute, of: entity) else { return false }
    var seen: Set<ModelFile.DeclaredAttribute> = []
    var next = model.source(of: start)
    while let attribute = next, attribute != start, seen.insert(attribute).inserted {
      next = model.source(of: attribute)
    }
    return next == start
  }
}
