// A JSON array, or values → the text of a PostgreSQL array.
//
//     [1,null,"a b"]     {1,NULL,"a b"}
//     [[1,2],[3,4]]      {{1,2},{3,4}}
//     [1,null,"a b"]     {"1",NULL,"\"a b\""}    as an array of JSON

import Bytes
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

  /// Returns an array of JSON with these elements; nil for JSON that is no array. A null becomes NULL, which
  /// is shown as the null of JSON is.
  static func text(ofJSON json: JSON) -> String? {
    guard case .array(let elements) = json else { return nil }
    let parts = elements.map { element -> String in
      guard element != .null else { return "NULL" }
      var bytes: [UInt8] = []
      bytes.append(json: element)
      return quoted(String(decoding: bytes, as: UTF8.self))
    }
    return "{\(parts.joined(separator: ","))}"
  }

  /// Returns the array of values of one type.
  static func text(of values: [SQLValue]) -> String {
    let parts = values.map { value in
      switch value {
      case .null: "NULL"
      case .integer(let integer): "\(integer)"
      case .double(let double): "\(double)"
      case .text(let text): quoted(text)
      case .blob(let bytes): quoted("\\x" + Hexadecimal.text(of: bytes))
      }
    }
    return "{\(parts.joined(separator: ","))}"
  }

  private static func part(_ element: JSON) -> String? {
    switch element {
    case .null: "NULL"
    case .boolean(let value): value ? "true" : "false"
    case .number(let digits): digits
    case .string(let text): quoted(text)
    case .array: text(element)
    case .object: nil
    }
  }

  /// Escapes scalars and not characters: a combining mark may follow a quotation mark.
  private static func quoted(_ text: String) -> String {
    var quoted = String.UnicodeScalarView("\"".unicodeScalars)
    for scalar in text.unicodeScalars {
      if scalar == "\\" || scalar == "\"" { quoted.append("\\") }
      quoted.append(scalar)
    }
    quoted.append("\"")
    return String(quoted)
  }
}
