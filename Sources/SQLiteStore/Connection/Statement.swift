// A prepared statement, borrowed for one use. Binding, stepping and reading allocate no boxes.

import FetchModel
import LiveFetchCLibrary
import LiveFetchCSQLite
import SQLComposer

/// A statement of one connection. Valid only inside ``Connection/withStatement(_:_:)``.
struct Statement {
  let pointer: OpaquePointer

  /// Binds values from parameter 1 on.
  func bind(_ values: [SQLValue]) throws(StoreError) {
    guard bind(values, from: 1) else { throw StoreError(of: sqlite3_db_handle(pointer)) }
  }

  /// Binds values from the parameter at `first` on, counted from 1. Returns false if SQLite refuses one,
  /// because it is too large.
  func bind(_ values: [SQLValue], from first: Int32) -> Bool {
    var index = first
    for value in values {
      guard bind(value, at: index) else { return false }
      index &+= 1
    }
    return true
  }

  /// Binds the parameter at `index`, counted from 1. Returns false if SQLite refuses the value.
  func bind(_ value: SQLValue, at index: Int32) -> Bool {
    let code =
      switch value {
      case .null: sqlite3_bind_null(pointer, index)
      case .integer(let integer): sqlite3_bind_int64(pointer, index, integer)
      case .double(let double): sqlite3_bind_double(pointer, index, double)
      case .text(let text): bind(text: text, at: index)
      case .blob(let bytes) where bytes.isEmpty: sqlite3_bind_zeroblob(pointer, index, 0)
      case .blob(let bytes):
        sqlite3_bind_blob64(pointer, index, bytes, UInt64(bytes.count), transient)
      }
    return code == SQLITE_OK
  }

  private func bind(text: String, at index: Int32) -> Int32 {
    var text = text
    return text.withUTF8 { utf8 in
      // An empty buffer may have the address nil, which would bind NULL.
      guard let start = utf8.baseAddress, !utf8.isEmpty else {
        return sqlite3_bind_text(pointer, index, "", 0, transient)
      }
      return start.withMemoryRebound(to: CChar.self, capacity: utf8.count) {
        sqlite3_bind_text64(
          pointer, index, $0, UInt64(utf8.count), transient, UInt8(SQLITE_UTF8))
      }
    }
  }

  /// Advances to the next row. Returns false at the end.
  func step() throws(StoreError) -> Bool {
    switch sqlite3_step(pointer) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    default: throw StoreError(of: sqlite3_db_handle(pointer))
    }
  }

  /// Steps to the end and ignores the rows.
  func run() throws(StoreError) {
    while try step() {}
  }

  /// The number of sort operations since the last call.
  func takeSortCount() -> Int32 { sqlite3_stmt_status(pointer, SQLITE_STMTSTATUS_SORT, 1) }

  var columnCount: Int32 { sqlite3_column_count(pointer) }

  /// The bytes of a text or binary value; 0 for numbers and NULL.
  func byteCount(_ column: Int32) -> Int {
    switch sqlite3_column_type(pointer, column) {
    case SQLITE_TEXT, SQLITE_BLOB: Int(sqlite3_column_bytes(pointer, column))
    default: 0
    }
  }

  /// The approximate memory size of the columns' values in bytes.
  func byteCount(_ columns: Range<Int32>) -> Int {
    columns.reduce(0) { $0 + byteCount($1) + MemoryLayout<SQLValue>.size }
  }

  func isNull(_ column: Int32) -> Bool { sqlite3_column_type(pointer, column) == SQLITE_NULL }
  func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(pointer, column) }
  func double(_ column: Int32) -> Double { sqlite3_column_double(pointer, column) }

  /// The UTF-8 of a column, valid until the next step.
  func utf8(_ column: Int32) -> UnsafeBufferPointer<UInt8> {
    let start = sqlite3_column_text(pointer, column)
    return UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(pointer, column)))
  }

  func text(_ column: Int32) -> String { String(decoding: utf8(column), as: UTF8.self) }

  func value(_ column: Int32) -> SQLValue {
    switch sqlite3_column_type(pointer, column) {
    case SQLITE_INTEGER: return .integer(integer(column))
    case SQLITE_FLOAT: return .double(double(column))
    case SQLITE_TEXT: return .text(text(column))
    case SQLITE_BLOB:
      let start = sqlite3_column_blob(pointer, column)
      let count = Int(sqlite3_column_bytes(pointer, column))
      return .blob(Array(UnsafeRawBufferPointer(start: start, count: count)))
    default: return .null
    }
  }

  func values(_ columns: Range<Int32>) -> [SQLValue] { columns.map { value($0) } }

  /// The id in a column that contains a key's id expression; nil for NULL.
  func id(_ column: Int32) -> ObjectID? {
    switch sqlite3_column_type(pointer, column) {
    case SQLITE_INTEGER: .integer(integer(column))
    // Binary is no id.
    case SQLITE_NULL, SQLITE_BLOB: nil
    case SQLITE_FLOAT: .text(double(column).description)
    default: .text(text(column))
    }
  }
}

extension StoreError {
  static let noDatabase = StoreError.damaged("the file is not an SQLite database")

  /// The last error of a connection.
  init(of handle: OpaquePointer?) {
    let code = sqlite3_extended_errcode(handle)
    // SQLite takes a disk that cannot read a page for a damaged file. The disk may recover.
    if code == SQLITE_CORRUPT, errno == EIO {
      errno = 0
      self = .storageFailed("the disk cannot be read")
    } else {
      self.init(code: code, message: String(cString: sqlite3_errmsg(handle)))
    }
  }

  init(code: Int32, message: String) {
    switch code & 0xFF {
    case SQLITE_BUSY, SQLITE_LOCKED: self = .busy
    case SQLITE_FULL: self = .diskFull
    case SQLITE_READONLY, SQLITE_PERM: self = .readOnly
    case SQLITE_INTERRUPT: self = .queryTimeout
    case SQLITE_NOTADB: self = .noDatabase
    // The tables of an extension, such as FTS5, are damaged, or contradict their index.
    case SQLITE_CORRUPT where code == SQLITE_CORRUPT | 1 << 8:
      self = .storageFailed("SQLite \(code): \(message)")
    case SQLITE_CORRUPT: self = .damaged("the file is damaged")
    case SQLITE_IOERR, SQLITE_CANTOPEN, SQLITE_PROTOCOL:
      self = .storageFailed("SQLite \(code): \(message)")
    // The number of tables that SQLite joins, 64, has no code of its own.
    case SQLITE_ERROR where message.hasSuffix("tables in a join"): self = .tooManyTables
    default: self = .failed("SQLite \(code): \(message)")
    }
  }
}
