// Stored values → comparison keys: `livefetch_value(value, encoding)`, where the encoding is an
// integer code, and `livefetch_uuid_text(value)`. See `ColumnEncoding`.

import FetchModel
import LiveFetchCSQLite

func registerEncodingFunctions(on handle: OpaquePointer) {
  register("livefetch_value", arguments: 2, on: handle) { context, _, values in
    guard let encoding = ColumnEncoding(code: sqlite3_value_int64(values?[1])),
      RunningQuery.admits(values?[0], context)
    else { return }
    setComparisonKey(context, values?[0], in: encoding)
  }
  // The text form of a UUID, as rows show it. Other values stay as they are.
  register("livefetch_uuid_text", arguments: 1, on: handle) { context, _, values in
    if sqlite3_value_type(values?[0]) == SQLITE_BLOB, let bytes = blob(values?[0]),
      bytes.count == 16
    {
      setResult(context, UUIDText.text(of: Array(bytes)))
    } else {
      sqlite3_result_value(context, values?[0])
    }
  }
}

private func setComparisonKey(
  _ context: OpaquePointer?, _ value: OpaquePointer?, in encoding: ColumnEncoding
) {
  let comparisonKey: ColumnEncoding.ComparisonKey
  switch sqlite3_value_type(value) {
  case SQLITE_INTEGER:
    comparisonKey = encoding.comparisonKey(forInteger: sqlite3_value_int64(value))
  case SQLITE_FLOAT: comparisonKey = encoding.comparisonKey(forDouble: sqlite3_value_double(value))
  case SQLITE_TEXT:
    comparisonKey = utf8(value).map { encoding.comparisonKey(forText: $0) } ?? .itself
  case SQLITE_BLOB:
    comparisonKey = blob(value).map { encoding.comparisonKey(forBinary: $0) } ?? .itself
  default: comparisonKey = .null
  }
  switch comparisonKey {
  case .itself: sqlite3_result_value(context, value)
  case .null: sqlite3_result_null(context)
  case .text(let text): setResult(context, text)
  case .binary(let bytes): setResult(context, binary: bytes)
  }
}

/// Sets the comparison key of a value that is not of the column's type. NULL stays NULL.
func setMistyped(_ context: OpaquePointer?, _ value: OpaquePointer?) {
  guard sqlite3_value_type(value) != SQLITE_NULL, RunningQuery.admits(value, context) else {
    return
  }
  let bytes = ColumnEncoding.mistypedComparisonKey { appendOrderKey(of: value, to: &$0) }
  setResult(context, binary: bytes)
}

/// Appends the order key of a value that is not NULL.
func appendOrderKey(of value: OpaquePointer?, to encoder: inout OrderKeyEncoder) {
  switch sqlite3_value_type(value) {
  case SQLITE_INTEGER: encoder.append(sqlite3_value_int64(value), .ascending)
  case SQLITE_FLOAT: encoder.append(sqlite3_value_double(value), .ascending)
  case SQLITE_TEXT: if let text = utf8(value) { encoder.append(text: text, .ascending) }
  default: if let bytes = blob(value) { encoder.append(binary: bytes, .ascending) }
  }
}

private func setResult(_ context: OpaquePointer?, binary bytes: [UInt8]) {
  bytes.withUnsafeBytes { buffer in
    sqlite3_result_blob64(context, buffer.baseAddress, UInt64(buffer.count), transient)
  }
}
