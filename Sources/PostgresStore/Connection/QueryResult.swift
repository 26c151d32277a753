// A result of libpq → rows of typed values. The rows are in memory until the result is released.

import CPostgres

/// The rows of a statement, or the number of rows that it changed. Immutable, therefore Sendable.
final class QueryResult: @unchecked Sendable {
  /// The form in which the server sends values.
  enum Format: Int32 {
    /// For scripts: every value is the server's text.
    case text = 0
    /// For statements: values have types.
    case binary = 1
  }

  let pointer: OpaquePointer
  let rowCount: Int
  let columnCount: Int

  /// Takes ownership of `pointer`, which `deinit` clears.
  init(_ pointer: OpaquePointer) {
    self.pointer = pointer
    rowCount = Int(PQntuples(pointer))
    columnCount = Int(PQnfields(pointer))
  }

  deinit { PQclear(pointer) }

  /// The command that the server has executed, such as `COMMIT` or `INSERT 0 1`.
  var command: String { String(cString: PQcmdStatus(pointer)) }

  /// The number of rows that an INSERT, UPDATE, DELETE, COPY or SELECT affected.
  var affectedRows: Int { Int(String(cString: PQcmdTuples(pointer))) ?? 0 }

  /// The OID of a column's type. The number of the column, here and below, and of the row must be in
  /// range: libpq prints a warning otherwise, and returns 0 or NULL.
  func type(_ column: Int) -> UInt32 { PQftype(pointer, Int32(column)) }

  func isNull(_ row: Int, _ column: Int) -> Bool {
    PQgetisnull(pointer, Int32(row), Int32(column)) != 0
  }

  /// The bytes of a value, which are valid as long as the result; empty for NULL and for a row or a
  /// column that does not exist.
  func bytes(_ row: Int, _ column: Int) -> UnsafeRawBufferPointer {
    guard row >= 0, row < rowCount, column >= 0, column < columnCount else {
      return UnsafeRawBufferPointer(start: nil, count: 0)
    }
    return UnsafeRawBufferPointer(
      start: PQgetvalue(pointer, Int32(row), Int32(column)),
      count: Int(PQgetlength(pointer, Int32(row), Int32(column))))
  }

  func value(_ row: Int, _ column: Int) throws(PostgresError) -> PostgresValue {
    guard !isNull(row, column) else { return .null }
    guard PQfformat(pointer, Int32(column)) == Format.binary.rawValue else {
      return .text(text(row, column))
    }
    return try PostgresValue(binary: bytes(row, column), type: type(column))
  }

  func values(_ row: Int) throws(PostgresError) -> [PostgresValue] {
    try (0..<columnCount).map { (column) throws(PostgresError) in try value(row, column) }
  }

  func rows() throws(PostgresError) -> [[PostgresValue]] {
    try (0..<rowCount).map { (row) throws(PostgresError) in try values(row) }
  }

  /// The bytes of a value as UTF-8: the text of a text column, or of any column of a result in text format.
  func text(_ row: Int, _ column: Int) -> String {
    String(decoding: bytes(row, column), as: UTF8.self)
  }

  /// The value of an integer column; 0 for NULL. Throws for a value that is no integer.
  func integer(_ row: Int, _ column: Int) throws(PostgresError) -> Int64 {
    switch try value(row, column) {
    case .integer(let value): return value
    case .xid(let value): return Int64(clamping: value)
    case .text(let text):
      guard let value = Int64(text) else { throw .malformed("column \(column) is no integer") }
      return value
    case .null: return 0
    default: throw .malformed("column \(column) is no integer")
    }
  }

  /// The value of a boolean column; false for NULL.
  func bool(_ row: Int, _ column: Int) throws(PostgresError) -> Bool {
    switch try value(row, column) {
    case .bool(let value): value
    case .text(let text): text == "t"
    case .null: false
    default: throw .malformed("column \(column) is no boolean")
    }
  }
}
