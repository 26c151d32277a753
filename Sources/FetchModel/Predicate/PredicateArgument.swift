// What fills the placeholders and variables of a predicate.

/// A value for `%@` and kin, or for `$name`.
public enum PredicateArgument: Sendable, Hashable {
  /// Text of a query string: it becomes whatever it is compared with.
  case text(String)
  case null
  case boolean(Bool)
  case integer(Int64)
  case double(Double)
  case string(String)
  case array([PredicateArgument])

  /// The argument that a JSON value is; nil for objects and numbers no double can hold.
  public init?(_ json: JSON) {
    switch json {
    case .null: self = .null
    case .boolean(let value): self = .boolean(value)
    case .string(let value): self = .string(value)
    case .number:
      if let integer = json.integer {
        self = .integer(integer)
      } else if let double = json.double {
        self = .double(double)
      } else {
        return nil
      }
    case .array(let elements):
      let arguments = elements.map { PredicateArgument($0) }
      guard !arguments.contains(nil) else { return nil }
      self = .array(arguments.compactMap { $0 })
    case .object: return nil
    }
  }

  /// The elements of an array, given as one or as the text of a JSON array; nil for all else.
  var elements: [PredicateArgument]? {
    switch self {
    case .array(let elements): return elements
    case .text(let text):
      guard text.utf8.first(where: { $0 > 0x20 }) == UInt8(ascii: "["),
        let json = try? JSON(parsing: Array(text.utf8)),
        case .array(let elements)? = PredicateArgument(json)
      else { return nil }
      return elements
    default: return nil
    }
  }
}
