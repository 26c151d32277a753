// Names → SQL identifiers. Every name enters SQL text through these functions.

import Bytes

/// Returns `name` as an SQL identifier: in double quotes, with its own quotes doubled.
package func quoted(_ name: String) -> String {
  guard name.utf8.contains(0x22) else { return "\"\(name)\"" }
  var result = "\""
  for character in name.unicodeScalars {
    if character == "\"" { result.unicodeScalars.append("\"") }
    result.unicodeScalars.append(character)
  }
  return result + "\""
}

/// Returns the name of something that belongs to a table, as an SQL identifier. PostgreSQL cuts names at
/// 63 bytes, so a hash takes the place of a long table's name.
func boundedName(_ prefix: String, of table: String) -> String {
  guard prefix.utf8.count + table.utf8.count > 63 else { return quoted(prefix + table) }
  var hash = FNV1a64()
  hash.combine(table.utf8)
  return quoted(prefix + hash.text)
}

/// Returns `text` as an SQL string literal. PostgreSQL reads it so with `standard_conforming_strings`.
package func literal(_ text: String) -> String {
  var result = "'"
  for character in text.unicodeScalars {
    if character == "'" { result.unicodeScalars.append("'") }
    result.unicodeScalars.append(character)
  }
  return result + "'"
}

/// Returns `column` of the table with this alias: `"t0"."name"`. Returns the bare column if `alias`
/// is nil.
package func qualified(_ column: String, _ alias: String?) -> String {
  alias.map { "\(quoted($0)).\(quoted(column))" } ?? quoted(column)
}

/// Returns a name in the case that SQLite compares names in: ASCII letters in lower case.
package func folded(_ name: String) -> String {
  String(
    decoding: name.utf8.map { $0 >= 0x41 && $0 <= 0x5A ? $0 | 0x20 : $0 }, as: UTF8.self)
}

extension Dialect {
  /// A form of a table's name that is equal for names of the same table.
  func comparable(_ name: String) -> String { hasTypedColumns ? name : folded(name) }
}
