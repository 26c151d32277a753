// The key of a row, as SQL and as an `ObjectID`, with conversions in both directions.

import Bytes
import FetchModel

/// The key of a table.
package struct Key: Sendable, Hashable {
  package enum Kind: Sendable, Hashable {
    /// One column that is an alias of the rowid.
    case rowidAlias
    /// One column of any other type.
    case column
    /// Several columns; the id is their texts joined by commas.
    case composite
    /// No declared key: the rowid, under the given name. An entity with such a key is not
    /// observable.
    case rowid(String)
    /// Neither key nor rowid (a view): the hash of the row's values.
    case hash
  }

  /// The form of a key part in an id.
  package enum Form: Sendable, Hashable {
    case integer, text
    /// A column of SQLite without a declared type. The storage class of the first row's value decides the
    /// form; values of another class have no id: the number 1.5 and the text '1.5' may be keys of two rows.
    case untypedInteger, untypedNumber, untypedText
    /// As hexadecimal digits.
    case binary
    /// Sixteen bytes as the text of a UUID.
    case uuid
    /// As the shortest digits with which SQLite prints the number exactly.
    case real
    /// As the type's text output, for types that LiveFetch does not know. No index serves it.
    case other

    package var isInteger: Bool { self == .integer || self == .untypedInteger }
  }

  package struct Part: Sendable, Hashable {
    package let column: String
    package let form: Form
    package let isNotNull: Bool
    /// True if the column's own collation takes only identical texts for equal.
    package let isBinaryCollated: Bool

    package init(column: String, form: Form, isNotNull: Bool, isBinaryCollated: Bool = true) {
      self.column = column
      self.form = form
      self.isNotNull = isNotNull
      self.isBinaryCollated = isBinaryCollated
    }
  }

  package let kind: Kind
  /// The key's columns in key order. For `.hash`, every column of the view.
  package let parts: [Part]
  package let isWithoutRowid: Bool
  package let dialect: Dialect

  package init(
    kind: Kind, parts: [Part], isWithoutRowid: Bool = false, dialect: Dialect = .sqlite
  ) {
    self.dialect = dialect
    self.kind = kind
    self.parts = parts
    self.isWithoutRowid = isWithoutRowid
  }

  package var columns: [String] { parts.map(\.column) }

  /// The type of the ids.
  package var idType: AttributeType {
    switch kind {
    case .rowidAlias, .rowid: .integer
    case .column where parts.first?.form.isInteger == true: .integer
    case .column where parts.first?.form == .uuid: .uuid
    case .column, .composite, .hash: .string
    }
  }

  /// True if the key is one column whose ids are texts of UUIDs.
  package var isUUID: Bool { kind == .column && parts.first?.form == .uuid }

  /// True if several texts have the value of the same key, and only the store knows which one is the id:
  /// `1.5` and `1.50`.
  package var hasSeveralTexts: Bool {
    (kind == .column || kind == .composite)
      && parts.contains { $0.form == .real || $0.form == .untypedNumber }
  }

  /// True if the id has the same values as another text, which is the id: UUIDs in another case.
  package func isNonCanonical(_ id: ObjectID) -> Bool {
    guard kind == .composite, !hasSeveralTexts, parts.contains(where: { $0.form == .uuid }),
      let values = bindings(of: id)
    else { return false }
    return self.id(of: values) != id
  }

  /// True if the ids' expression compares by code point without a COLLATE clause. In SQLite a calculated
  /// text does; in PostgreSQL it has the collation of its columns or of the database.
  package var isBinaryCollated: Bool { idType == .integer || !isPlain && !dialect.hasTypedColumns }

  /// True if the id's expression is the plain column, so that an index serves comparisons with it.
  package var isPlain: Bool {
    switch kind {
    case .rowidAlias, .rowid: true
    case .column: parts.first?.form.isInteger == true || parts.first?.form == .text
    case .composite, .hash: false
    }
  }
}

// MARK: - Key → SQL

extension Key {
  /// Returns SQL for the id of the row with this alias.
  ///
  ///     "t0"."id"
  ///     REPLACE(REPLACE("t0"."a", '%', '%25'), ',', '%2C') || ',' || …
  package func idExpression(_ alias: String?) -> String {
    idExpression(ofParts: columns.map { qualified($0, alias) })
  }

  /// Returns SQL for the id that the SQL expressions `sql` make up, such as a foreign key's columns
  /// or columns of the history.
  package func idExpression(ofParts sql: [String]) -> String {
    switch kind {
    case .rowidAlias, .rowid: sql[0]
    case .column: dialect.keyText(sql[0], parts[0].form)
    case .composite:
      zip(sql, parts).map { Self.escaped(dialect.keyPartText($0, $1.form)) }
        .joined(separator: " || ',' || ")
    case .hash: dialect.etag(sql)
    }
  }

  /// Returns a condition that excludes rows without an id; nil if every row has one. A row has none if
  /// its key is NULL, or of a storage class that the form cannot represent.
  package func presenceCondition(_ alias: String?) -> String? {
    guard kind == .column || kind == .composite else { return nil }
    let conditions = parts.flatMap { part in
      let column = qualified(part.column, alias)
      let isPresent = part.isNotNull ? [] : ["\(column) IS NOT NULL"]
      return isPresent + (dialect.hasTypedColumns ? [] : [Self.hasForm(column, part.form)])
    }
    return conditions.isEmpty ? nil : conditions.joined(separator: " AND ")
  }

  /// Returns a condition that is true if the value's storage class has an id in this form.
  private static func hasForm(_ column: String, _ form: Form) -> String {
    switch form {
    case .integer, .text, .real, .other: "typeof(\(column)) <> 'blob'"
    case .untypedInteger: "typeof(\(column)) = 'integer'"
    case .untypedNumber: "typeof(\(column)) IN ('integer', 'real')"
    case .untypedText: "typeof(\(column)) = 'text'"
    case .binary: "typeof(\(column)) IN ('blob', 'text')"
    case .uuid: "(typeof(\(column)) <> 'blob' OR length(\(column)) = 16)"
    }
  }

  /// Returns a condition that selects the row with an id, with one parameter for each key part:
  /// `"id" = ?`. Bind the values of ``bindings(of:)``. The column's index serves the condition, and
  /// only an identical key satisfies it, whatever the column's collation is.
  package func lookupCondition(_ alias: String?) -> String {
    if kind == .hash { return "\(idExpression(alias)) = ?" }
    return parts.map { part in
      lookup(qualified(part.column, alias), part)
    }.joined(separator: " AND ")
  }

  private func lookup(_ column: String, _ part: Part) -> String {
    if part.form == .other { return "\(dialect.keyText(column, .other)) = ?" }
    if !part.isBinaryCollated {
      let exact = column + dialect.collation(.string)
      return """
        (\(column), \(exact)) IN (SELECT v, v FROM (SELECT ? AS v)\(dialect.subqueryName))
        """
    }
    guard part.form == .binary, !dialect.hasTypedColumns else { return "\(column) = ?" }
    // Text in a binary column has the same id as its bytes.
    return """
      \(column) IN (SELECT CASE column1 WHEN 0 THEN v ELSE CAST(v AS TEXT) END \
      FROM (SELECT ? AS v), (VALUES (0), (1)))
      """
  }

  private static func escaped(_ sql: String) -> String {
    "REPLACE(REPLACE(\(sql), '%', '%25'), ',', '%2C')"
  }
}

// MARK: - ObjectID → values

extension Key {
  /// Returns the values of the key's columns for `id`, one for each parameter of
  /// ``lookupCondition(_:)``; nil if no object can have that id.
  package func bindings(of id: ObjectID) -> [SQLValue]? {
    switch (kind, id) {
    case (.rowidAlias, .integer(let id)), (.rowid, .integer(let id)): return [.integer(id)]
    case (.hash, .text(let text)): return [.text(text)]
    case (.column, .integer(let id)) where parts[0].form.isInteger: return [.integer(id)]
    case (.column, .text(let text)): return value(of: text, parts[0].form).map { [$0] }
    case (.composite, .text(let text)): return compositeBindings(of: text)
    default: return nil
    }
  }

  private func compositeBindings(of text: String) -> [SQLValue]? {
    let pieces = text.utf8.split(separator: 0x2C, omittingEmptySubsequences: false)
    guard pieces.count == parts.count else { return nil }
    var values: [SQLValue] = []
    for (piece, part) in zip(pieces, parts) {
      guard let text = Self.unescaped(piece), let value = value(of: text, part.form) else {
        return nil
      }
      values.append(value)
    }
    return values
  }

  // The text of an integer is canonical. Texts of other numbers may be equal as numbers: reads and saves
  // compare the object's id with the requested one.
  private func value(of text: String, _ form: Form) -> SQLValue? {
    switch form {
    // PostgreSQL stores no U+0000 in text, so such an id has no row.
    case .text, .untypedText, .other:
      return dialect.hasTypedColumns && text.utf8.contains(0) ? nil : .text(text)
    case .untypedInteger:
      return Int64(text).flatMap { $0.description == text ? .integer($0) : nil }
    case .untypedNumber:
      return Double(text).map { .double($0) }
    case .integer:
      // A column of SQLite that is declared as an integer may hold other text.
      guard let integer = Int64(text) else { return number(of: text) }
      return integer.description == text ? .integer(integer) : nil
    case .real:
      return Double(text).map { .double($0) } ?? (dialect.hasTypedColumns ? nil : .text(text))
    case .binary:
      return Hexadecimal.bytes(of: text.utf8, uppercaseOnly: true).map { .blob($0) }
    case .uuid where dialect.hasTypedColumns:
      return UUIDText.bytes(of: text.utf8) == nil ? nil : .text(text.lowercased())
    case .uuid: return UUIDText.bytes(of: text.utf8).map { .blob($0) } ?? .text(text)
    }
  }

  /// Returns the value of an id in an integer column of SQLite, which may hold fractions and text.
  private func number(of text: String) -> SQLValue? {
    guard !dialect.hasTypedColumns else { return nil }
    guard let double = Double(text) else { return .text(text) }
    return double.description == text ? .double(double) : nil
  }

  // Decodes only the escapes that idExpression writes: `%25` and `%2C`.
  private static func unescaped(_ piece: Substring.UTF8View) -> String? {
    var bytes: [UInt8] = []
    var rest = piece
    while let byte = rest.first {
      if byte != 0x25 {
        bytes.append(byte)
        rest = rest.dropFirst()
      } else if rest.starts(with: "%25".utf8) || rest.starts(with: "%2C".utf8) {
        bytes.append(rest.starts(with: "%25".utf8) ? 0x25 : 0x2C)
        rest = rest.dropFirst(3)
      } else {
        return nil
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  // MARK: - Values → ObjectID

  /// Returns the id for `values` of the key's columns; nil if one of them is NULL.
  package func id(of values: [SQLValue]) -> ObjectID? {
    guard values.count == parts.count else { return nil }
    if kind != .composite, case .integer(let id) = values[0], parts[0].form.isInteger {
      return .integer(id)
    }
    var texts: [String] = []
    for (value, part) in zip(values, parts) {
      guard let text = Self.text(of: value, part.form) else { return nil }
      texts.append(kind == .composite ? Self.escapedText(text) : text)
    }
    return .text(texts.joined(separator: ","))
  }

  private static func text(of value: SQLValue, _ form: Form) -> String? {
    switch value {
    case .null: nil
    case .integer where form == .untypedText: nil
    case .double where form == .untypedText || form == .untypedInteger: nil
    case .text where form == .untypedInteger || form == .untypedNumber: nil
    case .integer(let integer):
      form == .binary
        ? Hexadecimal.text(of: integer.description.utf8, uppercase: true) : "\(integer)"
    case .double(let double): double.description
    case .text(let text): form == .binary ? Hexadecimal.text(of: text.utf8, uppercase: true) : text
    case .blob(let bytes):
      switch form {
      case .binary: Hexadecimal.text(of: bytes, uppercase: true)
      case .uuid where bytes.count == 16:
        String(decoding: UUIDText.text(of: bytes), as: UTF8.self)
      case .uuid, .integer, .untypedInteger, .text, .untypedText, .real, .untypedNumber, .other: nil
      }
    }
  }

  private static func escapedText(_ text: String) -> String {
    guard text.utf8.contains(where: { $0 == 0x25 || $0 == 0x2C }) else { return text }
    return String(
      decoding: text.utf8.flatMap { byte -> [UInt8] in
        switch byte {
        case 0x25: Array("%25".utf8)
        case 0x2C: Array("%2C".utf8)
        default: [byte]
        }
      }, as: UTF8.self)
  }
}
