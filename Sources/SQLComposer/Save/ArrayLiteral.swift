// A JSON array → the text of a PostgreSQL array.
//
//     [1,null,"a b"]     {1,NULL,"a b"}
//     [[1,2],[3,4]]      {{1,2},{3,4}}

import FetchModel

enum ArrayLiteral {
  /// Returns nil for JSON that is no array, and for arrays that contain objects.
  static func text(_ json: JSON) -> String? {
    guard case .array(let elements) = json else { return nil }
    var parts: [String] = []
    for element in elements {
      guard let part = part(element) else { return nil }
      parts.append(part)
    }
    return "{\(parts.joined(separator: ","))}"
  }

  private static func part(_ element: JSON) -> String? {
    switch element {
    case .null: "NULL"
    case .boolean(let value): value ? "true" : "false"
    case .number(let digits): digits
    case .string(let text):
      "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    case .array: text(element)
    case .object: nil
    }
  }
}
