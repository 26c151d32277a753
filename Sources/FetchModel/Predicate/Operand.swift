// A value during resolution: its kind, and the kinds that it may be compared with.

/// A resolved expression with its type and its place in the text.
struct Operand {
  enum Kind: Hashable {
    case null
    /// Text of a query string, which takes the type of the operand that it is compared with.
    case untyped
    case number(isInteger: Bool)
    case boolean
    case text, date, binary
    /// An object of the entity at this index, compared by its id.
    case object(Int)
  }

  var expression: ResolvedExpression
  var kind: Kind
  var range: SourceRange
  /// True if a relationship leads to the object; false if its id names it.
  var isRelationship = false

  var constant: Value? { expression.constant }
}

extension Operand {
  init(_ value: Value, _ kind: Kind, at range: SourceRange) {
    self.init(expression: .constant(value), kind: kind, range: range)
  }

  init(_ literal: Literal, at range: SourceRange) {
    switch literal {
    case .null: self.init(.null, .null, at: range)
    case .boolean(let value): self.init(.boolean(value), .boolean, at: range)
    case .integer(let value): self.init(.integer(value), .number(isInteger: true), at: range)
    case .double(let value): self.init(.double(value), .number(isInteger: false), at: range)
    case .string(let value): self.init(.string(value), .text, at: range)
    }
  }

  /// A JSON value that is no array; nil for arrays and objects. A number beyond the largest double is
  /// infinity, as in predicate text.
  init?(_ json: JSON, at range: SourceRange) {
    switch json {
    case .null: self.init(Literal.null, at: range)
    case .boolean(let value): self.init(Literal.boolean(value), at: range)
    case .string(let value): self.init(Literal.string(value), at: range)
    case .number(let text):
      if let integer = Value.untypedInteger(text) {
        self.init(Literal.integer(integer), at: range)
      } else if let double = Double(text) {
        self.init(Literal.double(double), at: range)
      } else {
        return nil
      }
    case .array, .object: return nil
    }
  }

  /// The kind of a parameter's values.
  static func kind(of parameter: PlanParameter) -> Kind {
    switch parameter.kind {
    case .integer: .number(isInteger: true)
    case .double: .number(isInteger: false)
    case .text: .text
    }
  }

  /// The kind of an attribute's values.
  static func kind(of type: AttributeType) -> Kind {
    switch type {
    case .integer: .number(isInteger: true)
    case .double, .decimal: .number(isInteger: false)
    case .boolean: .boolean
    case .string, .uuid, .uri, .json: .text
    case .date: .date
    case .binary: .binary
    }
  }
}

// MARK: - Conversion

extension Operand {
  /// This operand as a value that compares with `kind`; nil if the types do not fit.
  ///
  /// Only constants change. `entities` are those of the model.
  func converted(to kind: Kind, entities: [Entity]) -> ResolvedExpression? {
    if self.kind == kind || self.kind == .null || kind == .null { return expression }
    if constant == .null { return expression }
    if case .object = kind, case .parameter(let parameter) = expression, fits(kind, entities) {
      return .parameter(parameter.asID)
    }
    if let constant { return Self.convert(constant, to: kind, entities).map { .constant($0) } }
    return fits(kind, entities) ? expression : nil
  }

  /// A text of a query string that is compared with nil is a text; other operands as they are.
  func asText(against other: Operand) -> Operand {
    guard kind == .untyped, other.kind == .null, let constant else { return self }
    return Operand(constant, .text, at: range)
  }

  private func fits(_ other: Kind, _ entities: [Entity]) -> Bool {
    switch (kind, other) {
    case (_, .untyped): true
    case (.number, .number), (.number, .boolean), (.boolean, .number): true
    case (.object(let entity), .number), (.number, .object(let entity)):
      entities[entity].idType.isNumeric
    case (.object(let entity), .text), (.text, .object(let entity)):
      Self.kind(of: entities[entity].idType) == .text
    default: false
    }
  }

  private static func convert(
    _ value: Value, to kind: Kind, _ entities: [Entity]
  ) -> Value? {
    switch (kind, value) {
    case (.untyped, _): value
    case (.text, .string): value
    case (.number, .integer), (.number, .double), (.number, .boolean): value
    case (.number, .string(let text)): infinity(text)
    case (.boolean, .integer(0)): .boolean(false)
    case (.boolean, .integer(1)): .boolean(true)
    case (.boolean, .integer), (.boolean, .double), (.boolean, .boolean): value
    case (.date, .string(let text)): Instant(iso8601: text).map { .date($0) }
    case (.date, .date): value
    case (.binary, .string(let text)): [UInt8](base64: text, .standard).map { .binary($0) }
    case (.object(let entity), _): id(value, entities[entity])
    case (.text, .id(.text(let id))): .string(id)
    case (.number, .id(.integer(let id))): .integer(id)
    default: nil
    }
  }

  /// An id as a value that compares with ids of an entity: ids of its own type, numbers also as
  /// text, UUIDs in upper and lower case.
  private static func id(_ value: Value, _ entity: Entity) -> Value? {
    let isText = kind(of: entity.idType) == .text
    switch value {
    case .integer(let id): return isText ? nil : .id(.integer(id))
    case .double: return isText ? nil : value
    case .string(let id):
      return isText ? entity.objectID(id).map { .id($0) } : numericID(id, entity)
    case .id(.integer): return isText ? nil : value
    case .id(.text): return isText ? value : nil
    default: return nil
    }
  }

  /// The number whose only spelling as an id `text` is, as in a path; nil for other text, also for `1.0`:
  /// that id is 1. A key of SQLite that is declared as an integer or a decimal may hold a fraction, or
  /// a text that is no number.
  private static func numericID(_ text: String, _ entity: Entity) -> Value? {
    if let integer = Int64(text) {
      return integer.description == text ? .id(.integer(integer)) : nil
    }
    guard let double = Double(text), !double.isNaN else {
      let isID = entity.mayHaveTextIDs && NumericText(text) == .notNumeric
      return isID ? .id(.text(text)) : nil
    }
    return Int64(exactly: double) == nil && double.description == text ? .double(double) : nil
  }

  /// The value of a query string's text as `kind`; nil if the text is not a value of that kind.
  static func value(
    ofText text: String, as kind: Kind, entities: [Entity]
  ) -> Value? {
    switch kind {
    case .number: number(text)
    case .boolean: boolean(text) ?? number(text)
    case .null, .untyped, .text, .date, .binary, .object:
      convert(.string(text), to: kind, entities)
    }
  }

  static func number(_ text: String) -> Value? {
    if let integer = Int64(text) { return .integer(integer) }
    if let infinity = infinity(text) { return infinity }
    // A number beyond the largest double is infinity, as in predicate text; `inf` and `nan` are none.
    guard let double = Double(decimal: text), double.isFinite || text.last?.isNumber == true else {
      return nil
    }
    return .double(double)
  }

  /// The value of the texts that snapshots write for infinities.
  private static func infinity(_ text: String) -> Value? {
    switch text {
    case "Infinity": .double(.infinity)
    case "-Infinity": .double(-.infinity)
    default: nil
    }
  }

  private static func boolean(_ text: String) -> Value? {
    switch text.lowercased() {
    case "yes", "true", "1": .boolean(true)
    case "no", "false", "0": .boolean(false)
    default: nil
    }
  }
}

// MARK: - Messages

extension Operand.Kind {
  /// True if its values are numbers, or dates counted in seconds.
  var isNumeric: Bool {
    switch self {
    case .number, .date: true
    default: false
    }
  }

  var phrase: String {
    switch self {
    case .null: "nil"
    case .untyped: "a value"
    case .number: "a number"
    case .boolean: "a boolean"
    case .text: "text"
    case .date: "a date"
    case .binary: "binary data"
    case .object: "an object's id"
    }
  }
}
