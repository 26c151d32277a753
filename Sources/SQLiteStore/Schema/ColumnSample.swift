// A declared type, and the first stored value if the declaration is ambiguous → the type of a
// column's values.

import FetchModel
import SQLComposer

/// A column whose type is inferred.
struct ColumnSample {
  let connection: Connection
  let table: String
  let isView: Bool
  let column: String
  let declaredType: String
  /// The form that the file has stored for the column; see ``SampledColumnForms``.
  let formerForm: String?
  /// The result of ``firstValues()``, which may scan the table; nil before it is read.
  private(set) var readValues: [SQLValue]?

  /// The number of rows whose values decide the form of a column, if one of them is not NULL.
  private static let rowCount = 1_000

  /// Returns the type, and for dates their format.
  mutating func type(defaultSQL: String?) throws(StoreError) -> (AttributeType, DateFormat?) {
    switch Self.declared(declaredType) {
    case .date?: (.date, try dateFormat(defaultSQL: defaultSQL))
    case let type?: (type, nil)
    case nil: (try storedType(), nil)
    }
  }

  /// Returns the type that a declared type implies; nil if it implies none.
  static func declared(_ type: String) -> AttributeType? {
    let word = folded(type).prefix { $0 != "(" && $0 != " " }
    switch word {
    case "bool", "boolean": return .boolean
    case "uuid", "guid": return .uuid
    case "json", "jsonb": return .json
    case "uri", "url": return .uri
    case "numeric", "decimal", "dec", "number": return .decimal
    case "date", "datetime", "timestamp", "timestamptz", "datetimeoffset": return .date
    default: break
    }
    return switch Affinity(declaredType: type) {
    case .integer: .integer
    case .real: .double
    case .text: .string
    case .blob where word.isEmpty: nil
    case .blob: .binary
    case .numeric: nil
    }
  }

  /// Returns the first value that is not NULL; nil also for a view that takes too long. O(rows) if most
  /// values are NULL. Scans the table rather than an index, because an index returns the least value
  /// first, which may be untypical.
  private func firstValue() throws(StoreError) -> SQLValue? {
    try values(
      "\(quoted(column)) FROM main.\(quoted(table)) NOT INDEXED WHERE \(quoted(column)) IS NOT NULL LIMIT 1"
    ).first
  }

  /// Returns the values of the first rows that are not NULL, or else the first value of another row.
  private mutating func firstValues() throws(StoreError) -> [SQLValue] {
    if let readValues { return readValues }
    let found = try values(
      """
      value FROM (SELECT \(quoted(column)) AS value FROM main.\(quoted(table)) NOT INDEXED \
      LIMIT \(Self.rowCount)) WHERE value IS NOT NULL
      """)
    let result = try found.isEmpty ? [firstValue()].compactMap { $0 } : found
    readValues = result
    return result
  }

  /// Returns the values of a SELECT; none if a view takes too long or its rows cannot be calculated.
  private func values(_ query: String) throws(StoreError) -> [SQLValue] {
    do {
      return try connection.all("SELECT \(query)") { $0.value(0) }
    } catch {
      guard isView else { throw error }
      switch error {
      case .queryTimeout, .failed: return []
      default: throw error
      }
    }
  }

  /// Returns the form that the column had, if one of its first values has it or none has a form, and
  /// otherwise the form of the first value that has one. So the form does not depend on one row.
  private mutating func form<Form: RawRepresentable & Equatable>(
    of value: (SQLValue) -> Form?
  ) throws(StoreError) -> Form? where Form.RawValue == String {
    let found = try firstValues().compactMap(value)
    if let former = formerForm.flatMap(Form.init), found.isEmpty || found.contains(former) {
      return former
    }
    return found.first
  }

  /// Returns the encoding of values of `type`; nil if SQLite compares them correctly as stored.
  mutating func encoding(
    of type: AttributeType, _ dateFormat: DateFormat?
  ) throws(StoreError) -> ColumnEncoding? {
    switch type {
    case .integer, .double, .decimal: return nil
    case .boolean: return .boolean
    case .binary: return .binary
    case .json: return .json
    case .string, .uri: return Affinity(declaredType: declaredType) == .text ? nil : .text
    case .uuid: return .uuid(try uuidStyle())
    case .date:
      guard let dateFormat, dateFormat != .unixSeconds else { return nil }
      let first = try firstValues().first { Self.format(of: $0) == dateFormat }
      guard case .text(let text)? = first else { return .date(DateStyle(dateFormat)) }
      return .date(DateStyle(of: text, dateFormat))
    }
  }

  private mutating func uuidStyle() throws(StoreError) -> ColumnEncoding.UUIDStyle {
    try form { value in
      switch value {
      case .blob(let bytes) where bytes.count == 16: .bytes
      case .text(let text) where text.utf8.contains { (0x61...0x66).contains($0) }: .lower
      case .text(let text) where text.utf8.contains { (0x41...0x46).contains($0) }: .upper
      default: nil
      }
    } ?? .upper
  }

  private func storedType() throws(StoreError) -> AttributeType {
    switch try firstValue() {
    case .integer: .integer
    case .double: .double
    case .blob: .binary
    case .text: .string
    case .null, nil: formerForm.flatMap(AttributeType.init) ?? .string
    }
  }

  private mutating func dateFormat(defaultSQL: String?) throws(StoreError) -> DateFormat {
    try form(of: Self.format) ?? declaredFormat(defaultSQL: defaultSQL)
  }

  /// Returns the format of a value; nil for one that is no date.
  private static func format(of value: SQLValue) -> DateFormat? {
    switch value {
    case .integer, .double: return .unixSeconds
    case .text(let text):
      let utf8 = Array(text.utf8.prefix(11))
      guard utf8.count < 11 else { return utf8[10] == 0x20 ? .sqlText : .iso8601 }
      return Instant(iso8601: text + "T00:00:00Z") == nil ? nil : .day
    case .blob, .null: return nil
    }
  }

  /// Returns the format for a column without values: the format of its default, or the usual format
  /// of its declared type.
  private func declaredFormat(defaultSQL: String?) -> DateFormat {
    if Affinity(declaredType: declaredType) == .real { return .unixSeconds }
    let expression = folded(defaultSQL ?? "")
    if expression.contains("%s") || expression.contains("unixepoch(") { return .unixSeconds }
    if expression.contains("current_timestamp") || expression.contains("datetime(") {
      return .sqlText
    }
    return folded(declaredType) == "date" ? .day : .iso8601
  }
}
