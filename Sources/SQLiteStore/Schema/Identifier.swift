// Names → SQL identifiers. The only way by which a name gets into SQL text.

/// `name` as an SQL identifier: in double quotes, its own quotes doubled.
func quoted(_ name: String) -> String {
  guard name.utf8.contains(0x22) else { return "\"\(name)\"" }
  var result = "\""
  for character in name.unicodeScalars {
    if character == "\"" { result.unicodeScalars.append("\"") }
    result.unicodeScalars.append(character)
  }
  return result + "\""
}

/// `text` as an SQL string literal. For names that stand as values in triggers.
func literal(_ text: String) -> String {
  var result = "'"
  for character in text.unicodeScalars {
    if character == "'" { result.unicodeScalars.append("'") }
    result.unicodeScalars.append(character)
  }
  return result + "'"
}

/// `column` of the table called `alias` here: `"t0"."name"`; the bare column where alias is nil.
func qualified(_ column: String, _ alias: String?) -> String {
  alias.map { "\(quoted($0)).\(quoted(column))" } ?? quoted(column)
}

/// A name as SQLite compares names: ASCII letters without case.
func folded(_ name: String) -> String {
  String(
    decoding: name.utf8.map { $0 >= 0x41 && $0 <= 0x5A ? $0 | 0x20 : $0 }, as: UTF8.self)
}
