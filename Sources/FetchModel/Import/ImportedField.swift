// A value of an imported file, and the errors that refuse a row or an import.

/// A value as the file contains it.
public enum ImportedField {
  /// The record has no such field. An insert uses the column's default; an update keeps the value.
  case missing
  /// An empty field.
  case null
  /// Unvalidated UTF-8. The buffer is valid during the call that receives it.
  case text(UnsafeBufferPointer<UInt8>)
  /// The same, in the quotes of CSV: in a column without a type a text, whatever it looks like.
  case quoted(UnsafeBufferPointer<UInt8>)
  /// A value of a JSON file.
  case json(JSON)
}

/// The reason why a row was not imported.
public struct RowRefusal: Error, Sendable, Hashable {
  /// The invalid property; nil for the whole row.
  public let property: String?
  /// A sentence for the user.
  public let detail: String
  /// True if a relationship refers to an object that does not exist. A later row may insert it.
  public let isMissingObject: Bool

  /// Makes a row refusal.
  public init(property: String? = nil, detail: String, isMissingObject: Bool = false) {
    self.property = property
    self.detail = detail
    self.isMissingObject = isMissingObject
  }

  /// A row that the database accepted but did not write.
  package static func leftOut(isInsert: Bool) -> RowRefusal {
    RowRefusal(
      detail: "the database \(isInsert ? "inserted" : "updated") no row (a trigger leaves it out)")
  }
}

/// The reason why an import could not begin.
public enum ImportError: Error, Sendable, Hashable {
  case store(StoreError)
  case unknownEntity(name: String, hint: String?)
  /// The entity is a view or a join table.
  case readOnlyEntity(name: String)
  case unknownProperty(name: String, hint: String?)
  /// The property is a generated column.
  case notWritable(property: String)
  /// Two fields of a row set the same property.
  case repeatedProperty(String)
  /// No unique index and no primary key covers exactly these properties.
  case keyNotUnique([String])
  /// The key contains a property that the file does not have.
  case keyNotGiven(String)

  /// The error of an import whose preparation threw `error`.
  package init(_ error: any Error) {
    switch error {
    case let error as ImportError: self = error
    case let error as StoreError: self = .store(error)
    default: self = .store(.failed("\(error)"))
    }
  }
}

extension ImportedField {
  /// The value as the JSON that a save of a column without a type takes: a field that looks like a
  /// number is one unless it is in quotes. nil for a missing field, and for text that is not UTF-8.
  package var untypedJSON: JSON? {
    switch self {
    case .missing: return nil
    case .null: return .null
    case .json(let json): return json
    case .quoted(let utf8): return utf8.isUTF8 ? .string(utf8.string) : nil
    case .text(let utf8):
      guard utf8.isUTF8 else { return nil }
      let text = utf8.string
      return TypeGuess.isPlainNumber(text) ? .number(text) : .string(text)
    }
  }
}

extension Attribute {
  /// A phrase for the values that a field of this attribute accepts.
  package var importExpectation: String { isUntyped ? expectation : type.importExpectation }
}

extension AttributeType {
  /// A phrase for the values that a field of this type accepts.
  package var importExpectation: String {
    switch self {
    case .integer: "an integer of 64 bits"
    case .double, .decimal: "a number"
    case .string, .uri: "text in UTF-8"
    case .boolean: "true or false"
    case .date: "an ISO 8601 date"
    case .binary: "base64"
    case .uuid: "a UUID"
    case .json: "JSON"
    }
  }
}

extension ImportedField {
  /// The value for messages: shortened, in quotes.
  package var shown: String {
    switch self {
    case .missing, .null: return "nothing"
    case .text(let utf8), .quoted(let utf8):
      let text = String(decoding: utf8.prefix(40), as: UTF8.self)
      return "'\(text)\(utf8.count > 40 ? "…" : "")'"
    case .json(.number(let text)):
      return String(text.prefix(40)) + (text.utf8.count > 40 ? "…" : "")
    case .json(let json): return json.kind
    }
  }
}
