// A change → its SQL, composed once for each shape of a change and cached.
//
//     INSERT INTO main."City"("id", "name") VALUES (?, ?)
//     UPDATE main."City" SET "name" = ?, "population" = ? WHERE "id" = ?
//     DELETE FROM main."City" WHERE "id" = ?

import FetchModel

/// The SQL texts of saves. For the thread that saves.
package final class SaveStatements: @unchecked Sendable {
  package enum Kind: Hashable {
    case insert
    /// An insert that returns the id.
    case insertReturning
    case update
    /// An update that sets every other column to its default.
    case replace
    case delete, exists, etag
    case members, addMember, removeMember, hasMember
    /// Selects the positions of an ordered relationship's members; sets one of them.
    case places, setPlace
    /// Selects columns of a row.
    case columns
    /// Locks rows.
    case lock, lockForDelete
  }

  private struct Shape: Hashable {
    let kind: Kind
    let entity: Int
    let columns: [Int]
  }

  private var texts: [Shape: String] = [:]
  private var last: (shape: Shape, text: String)?
  private let capacity = 2_048

  package init() {}

  /// Returns the text for a shape; calls `compose` for a new one.
  ///
  /// - Parameter columns: Distinguishes the shapes of a kind: columns, or a relationship.
  package func text(
    _ kind: Kind, of table: SaveTable, _ columns: [Int] = [], _ compose: () -> String
  ) -> String {
    if let last, last.shape.kind == kind, last.shape.entity == table.index,
      last.shape.columns == columns
    {
      return last.text
    }
    let shape = Shape(kind: kind, entity: table.index, columns: columns)
    let text = texts[shape] ?? compose()
    if texts[shape] == nil {
      // Clients choose the columns that they write, so the number of shapes is unbounded.
      if texts.count >= capacity { texts.removeAll() }
      texts[shape] = text
    }
    last = (shape, text)
    return text
  }
}

// MARK: - Single rows

extension SaveStatements {
  package func insert(into table: SaveTable, _ columns: [Int], returnsID: Bool) -> String {
    text(returnsID ? .insertReturning : .insert, of: table, columns) {
      let names = columns.map { quoted(table.columns[$0].name) }.joined(separator: ", ")
      let marks = columns.map { _ in "?" }.joined(separator: ", ")
      let values = columns.isEmpty ? " DEFAULT VALUES" : "(\(names)) VALUES (\(marks))"
      let returning = returnsID ? " RETURNING \(table.key.idExpression(nil))" : ""
      return "INSERT INTO \(table.source)\(values)\(returning)"
    }
  }

  package func update(_ table: SaveTable, _ columns: [Int]) -> String {
    text(.update, of: table, columns) {
      "UPDATE \(table.source) SET \(table.assignments(columns)) WHERE \(table.lookup)"
    }
  }

  /// nil if the table has no columns other than its key's.
  ///
  /// - Parameter kept: The columns without a given value that keep their stored values.
  package func replace(_ table: SaveTable, _ columns: [Int], keeping kept: Set<Int> = []) -> String?
  {
    let others = table.columns.indices.filter {
      !table.columns[$0].isGenerated && !table.keyColumns.contains($0) && !columns.contains($0)
        && table.replaceableColumns.contains($0) && !kept.contains($0)
    }
    guard !(others.isEmpty && columns.isEmpty) else { return nil }
    // A negative number is no column: it separates the two lists.
    return text(.replace, of: table, kept.isEmpty ? columns : columns + [-1] + kept.sorted()) {
      let defaults = others.map {
        "\(quoted(table.columns[$0].name)) = \(DefaultSQL.expression(table.columns[$0].defaultSQL))"
      }
      let given = columns.map { "\(quoted(table.columns[$0].name)) = ?" }
      let all = (given + defaults).joined(separator: ", ")
      return "UPDATE \(table.source) SET \(all) WHERE \(table.lookup)"
    }
  }

  package func delete(from table: SaveTable) -> String {
    text(.delete, of: table) { "DELETE FROM \(table.source) WHERE \(table.lookup)" }
  }

  package func exists(in table: SaveTable) -> String {
    text(.exists, of: table) { "SELECT 1 FROM \(table.source) WHERE \(table.lookup)" }
  }

  package func etag(of table: SaveTable, hiding hidden: Set<Int>) -> String {
    text(.etag, of: table, hidden.sorted()) {
      "SELECT \(table.table.etagExpression(nil, hiding: hidden)) FROM \(table.source) WHERE \(table.lookup)"
    }
  }

  /// Selects columns of one row.
  package func columns(_ columns: [Int], of table: SaveTable) -> String {
    text(.columns, of: table, columns) {
      let names = columns.map { quoted(table.columns[$0].name) }.joined(separator: ", ")
      return "SELECT \(names) FROM \(table.source) WHERE \(table.lookup)"
    }
  }
}

extension SaveTable {
  /// The table's name in a statement.
  package var source: String { key.dialect.qualifier + table.quotedName }

  /// The condition that selects the row with an id.
  package var lookup: String {
    key.lookupCondition(nil) + (restriction.map { " AND \($0)" } ?? "")
  }

  package func assignments(_ columns: [Int]) -> String {
    columns.map { "\(quoted(self.columns[$0].name)) = ?" }.joined(separator: ", ")
  }
}

/// A column's default as SQL that is valid in an UPDATE.
package enum DefaultSQL {
  /// The default of an identity column, which is no expression.
  package static let identity = "DEFAULT"

  private static let words: Set = [
    "null", "true", "false", "current_time", "current_date", "current_timestamp",
  ]

  /// Returns the default as an expression in a query; NULL for the number of an identity column.
  package static func value(_ text: String?) -> String {
    text == identity ? "NULL" : expression(text)
  }

  /// - Parameter text: The catalog's text; nil means NULL.
  package static func expression(_ text: String?) -> String {
    guard let text else { return "NULL" }
    if text == identity { return identity }
    return bareText(text).map { literal($0) } ?? "(\(text))"
  }

  /// Returns the text of a default that is written as a name: `DEFAULT open` means `'open'`.
  private static func bareText(_ text: String) -> String? {
    let bytes = Array(text.utf8)
    guard let first = bytes.first, let last = bytes.last else { return nil }
    if first == 0x22, last == 0x22, bytes.count > 1 {
      let inner = String(decoding: bytes[1..<(bytes.count - 1)], as: UTF8.self)
      let parts = inner.split(separator: "\"\"", omittingEmptySubsequences: false)
      return parts.contains { $0.contains("\"") } ? nil : parts.joined(separator: "\"")
    }
    for (open, close) in [(UInt8(ascii: "["), UInt8(ascii: "]")), (0x60, 0x60)]
    where first == open && last == close && bytes.count > 1 {
      let inner = bytes[1..<(bytes.count - 1)]
      return inner.contains(close) ? nil : String(decoding: inner, as: UTF8.self)
    }
    guard first > 0x39 || first == 0x24, bytes.allSatisfy(isNameByte) else { return nil }
    return words.contains(folded(text)) ? nil : text
  }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x24, 0x5F, 0x80...0xFF: true
    default: false
    }
  }
}
