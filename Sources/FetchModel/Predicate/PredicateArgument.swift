// What fills the placeholders and variables of a predicate.

/// A value for `%@` and kin, or for `$name`.
public enum PredicateArgument: Sendable, Hashable {
  /// Text of a query string: it becomes whatever it is compared with.
  case text(String)
  /// A value of a JSON body, which has a type of its own.
  case json(JSON)

  /// The argument that a JSON value is; nil for objects, which are no values.
  public init?(_ json: JSON) {
    if case .object = json { return nil }
    self = .json(json)
  }

  /// The elements of an array, given as one or as the text of one; nil for all else.
  var elements: [JSON]? {
    switch self {
    case .json(.array(let elements)): return elements
    case .text(let text):
      guard text.utf8.first(where: { $0 > 0x20 }) == UInt8(ascii: "["),
        let json = try? JSON(parsing: Array(text.utf8)), case .array(let elements) = json
      else { return nil }
      return elements
    case .json: return nil
    }
  }
}
