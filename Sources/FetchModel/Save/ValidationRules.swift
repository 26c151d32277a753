// The model file's rules in prepared form: compiled patterns, typed defaults, class lookups.
// Created once for all saves.

import Patterns

/// The rules of a model file for values.
struct ValidationRules: Sendable {
  let classes: ClassHierarchy
  private let patterns: [String: RegularExpression]

  init(_ model: Model) {
    classes = model.classes
    var patterns: [String: RegularExpression] = [:]
    for attribute in model.entities.lazy.flatMap(\.attributes) {
      guard let pattern = attribute.declaration?.pattern, patterns[pattern] == nil else { continue }
      patterns[pattern] = try? RegularExpression(pattern)
    }
    self.patterns = patterns
  }

  /// Returns the value of `attribute` that `json` represents, or every rule that it violates.
  func value(_ json: JSON, of attribute: Attribute) -> Result<Value, Violations> {
    if let declaration = attribute.declaration, declaration.type == .transformable {
      if let reason = classes.problem(in: json, of: declaration) {
        return .failure(Violations(.init(code: .invalidValue, predicate: reason)))
      }
    }
    guard let value = Value(json, of: attribute) else {
      if attribute.type == .integer, json.isWholeNumber {
        return .failure(
          Violations(.init(code: .outOfRange, predicate: "holds integers of 64 bits alone")))
      }
      let expectation = attribute.expectation
      let isText = json.string != nil && expectation.hasSuffix("string")
      var found = isText ? "this one" : json.kind
      if json.isBeyondDoubles {
        found += " beyond the largest double"
        if attribute.type == .double { found += "; infinity is the string \"Infinity\"" }
      }
      return .failure(
        Violations(.init(code: .wrongType, predicate: "takes \(expectation), not \(found)")))
    }
    guard let declaration = attribute.declaration else { return .success(value) }
    let violations = declaration.violations(
      of: value, expression: declaration.pattern.flatMap { patterns[$0] })
    guard violations.isEmpty else { return .failure(Violations(all: violations)) }
    return .success(value.asHeld(by: declaration.type))
  }

  /// Returns the default for an insert; nil without one.
  func defaultValue(of attribute: Attribute) -> Value? {
    guard let declaration = attribute.declaration, let json = declaration.defaultValue else {
      return nil
    }
    return Value(json, as: attribute.type)?.asHeld(by: declaration.type)
  }
}

/// The rules that one value violates; at least one.
struct Violations: Error {
  let all: [ModelFile.Attribute.Violation]

  init(all: [ModelFile.Attribute.Violation]) { self.all = all }

  init(_ violation: ModelFile.Attribute.Violation) { all = [violation] }
}

extension Value {
  /// A Float has 32 bits.
  func asHeld(by type: ModelFile.AttributeType) -> Value {
    switch (type, self) {
    case (.float, .double(let double)): .double(Double(Float(double)))
    case (.float, .integer(let integer)): .double(Double(Float(integer)))
    default: self
    }
  }
}

// MARK: - Derived from the object's own values

extension ValidationRules {
  /// Returns the values of attributes derived from text attributes of the same object, for those
  /// whose source is among `values`.
  func derivedValues(of entity: Entity, from values: [PropertyValue]) -> [PropertyValue] {
    var derived: [PropertyValue] = []
    for (index, attribute) in entity.attributes.enumerated() {
      guard case .text(let function, let source)? = attribute.declaration?.derivation,
        let place = entity.attributes.firstIndex(where: { $0.name == source })
      else { continue }
      for case .attribute(place, let value) in values.lazy.map(\.content) {
        derived.append(PropertyValue(.attribute(index, value.made(over: function))))
      }
    }
    return derived
  }
}

extension Value {
  fileprivate func made(over function: Derivation.TextFunction) -> Value {
    guard case .string(let text) = self else { return self }
    return switch function {
    case .canonical: .string(Folding.fold(text, [.caseInsensitive, .diacriticInsensitive]))
    case .uppercase: .string(text.uppercased())
    case .lowercase: .string(text.lowercasedText)
    }
  }
}
