// The arguments of placeholders and variables.

/// The value of a placeholder (`%@`, `%K`, `%ld`, `%f`) or of a variable (`$name`).
public enum PredicateArgument: Sendable, Hashable {
  /// Text of a query string, converted to the type that it is compared with.
  case text(String)
  /// A typed value of a JSON body.
  case json(JSON)
  /// A parameter of a plan; the value is bound when the plan is executed.
  case parameter(PlanParameter)

  /// Converts a JSON value; nil for objects, which are not values.
  public init?(_ json: JSON) {
    if case .object = json { return nil }
    self = .json(json)
  }

  /// The elements of an array, or of a text that contains one; nil for anything else.
  var elements: [JSON]? {
    switch self {
    case .json(.array(let elements)): return elements
    case .text(let text):
      guard text.utf8.first(where: { $0 > 0x20 }) == UInt8(ascii: "["),
        let json = try? JSON(parsing: Array(text.utf8)), case .array(let elements) = json
      else { return nil }
      return elements
    case .json, .parameter: return nil
    }
  }
}
