// The scalar SQL functions that conditions, orders and sections call. They are deterministic, work
// on UTF-8 and box no value. An argument of a storage class that a function does not handle counts
// as NULL.

import Bytes
import FetchModel
import LiveFetchCSQLite

/// Registers the functions on a connection, which may be any open handle.
func registerFunctions(on handle: OpaquePointer) {
  registerTextFunctions(on: handle)
  registerSearchFunctions(on: handle)
  registerNumberFunctions(on: handle)
  registerAggregates(on: handle)
  registerDateFunctions(on: handle)
  registerEncodingFunctions(on: handle)
}

typealias SQLFunctionBody =
  @convention(c) (OpaquePointer?, Int32, UnsafeMutablePointer<OpaquePointer?>?) -> Void

/// Registers a scalar function. Its body reads `tag` with ``functionTag(_:)``.
func register(
  _ name: String, arguments count: Int32, tag: Int = 0, on handle: OpaquePointer,
  _ body: SQLFunctionBody
) {
  let flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS
  sqlite3_create_function_v2(
    handle, name, count, flags, UnsafeMutableRawPointer(bitPattern: tag + 1), body, nil, nil, nil)
}

/// The tag that the function was registered with.
func functionTag(_ context: OpaquePointer?) -> Int {
  Int(bitPattern: sqlite3_user_data(context)) - 1
}

/// The bytes of a text value; nil for every other storage class. Valid until the value changes.
func utf8(_ value: OpaquePointer?) -> UnsafeBufferPointer<UInt8>? {
  guard sqlite3_value_type(value) == SQLITE_TEXT, let start = sqlite3_value_text(value) else {
    return nil
  }
  return UnsafeBufferPointer(start: start, count: Int(sqlite3_value_bytes(value)))
}

/// The bytes of a blob; nil for every other storage class. Valid until the value changes.
func blob(_ value: OpaquePointer?) -> UnsafeBufferPointer<UInt8>? {
  guard sqlite3_value_type(value) == SQLITE_BLOB else { return nil }
  let start = sqlite3_value_blob(value)?.assumingMemoryBound(to: UInt8.self)
  return UnsafeBufferPointer(start: start, count: Int(sqlite3_value_bytes(value)))
}

/// Makes SQLite copy the bytes that it receives before the call returns.
let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

func setResult(_ context: OpaquePointer?, _ bytes: [UInt8]) {
  bytes.withUnsafeBytes { buffer in
    let start = buffer.baseAddress?.assumingMemoryBound(to: CChar.self)
    // An empty array may have no address, and a nil pointer would mean NULL.
    if let start {
      sqlite3_result_text64(
        context, start, UInt64(buffer.count), transient, UInt8(SQLITE_UTF8))
    } else {
      sqlite3_result_text(context, "", 0, transient)
    }
  }
}

func setResult(_ context: OpaquePointer?, _ text: String) {
  setResult(context, Array(text.utf8))
}

// MARK: - Text

/// The number of bytes of a long text that are processed between two checks of the deadline.
private let pieceSize = 256 << 10

/// Sets the result to the bytes that `map` returns for `text`. If the deadline passed meanwhile,
/// the bytes are incomplete and the query ends instead.
private func setResult(
  _ context: OpaquePointer?, _ text: UnsafeBufferPointer<UInt8>, _ map: () -> [UInt8]
) {
  let result = map()
  guard text.count < Interruption.steps || !RunningQuery.end(context) else { return }
  setResult(context, result)
}

private func registerTextFunctions(on handle: OpaquePointer) {
  register("livefetch_fold", arguments: 2, on: handle) { foldText($0, $2) }
  for mapping in TextMapping.allCases {
    register("livefetch_\(mapping)", arguments: 1, tag: mapping.rawValue, on: handle) {
      mapText($0, $2)
    }
  }
  register("livefetch_length", arguments: 1, on: handle) { utf16Length($0, $2) }
  register("livefetch_initial", arguments: 1, on: handle) { context, _, values in
    guard let text = utf8(values?[0]) else { return setMistyped(context, values?[0]) }
    setResult(context, initial(of: text))
  }
}

private typealias SQLArguments = UnsafeMutablePointer<OpaquePointer?>

// A value that is not a text stays as it is, so that its sort position does not change.
private func foldText(_ context: OpaquePointer?, _ values: SQLArguments?) {
  guard let text = utf8(values?[0]) else {
    sqlite3_result_value(context, values?[0])
    return
  }
  guard RunningQuery.admits(text.count, context) else { return }
  let options = StringOptions(rawValue: UInt8(truncatingIfNeeded: sqlite3_value_int(values?[1])))
  setResult(context, text) { Folding.fold(text, options) { RunningQuery.isCancelled } }
}

/// The functions of one text that return another one. The case's name is the function's.
private enum TextMapping: Int, CaseIterable {
  case uppercase, lowercase, canonical

  func callAsFunction(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8] {
    func string() -> String { String(decoding: text, as: UTF8.self) }
    return switch self {
    case .uppercase: Array(string().uppercasedText { RunningQuery.isCancelled }.utf8)
    case .lowercase: Array(string().lowercasedText { RunningQuery.isCancelled }.utf8)
    case .canonical:
      Folding.fold(text, [.caseInsensitive, .diacriticInsensitive]) { RunningQuery.isCancelled }
    }
  }
}

private func mapText(_ context: OpaquePointer?, _ values: SQLArguments?) {
  guard let mapping = TextMapping(rawValue: functionTag(context)), let text = utf8(values?[0]),
    RunningQuery.admits(text.count, context)
  else { return }
  setResult(context, text) { mapping(text) }
}

// The length in UTF-16 units, as NSString counts.
private func utf16Length(_ context: OpaquePointer?, _ values: SQLArguments?) {
  guard let text = utf8(values?[0]), RunningQuery.admits(text.count, context) else { return }
  var count: Int64 = 0
  for start in stride(from: 0, to: text.count, by: pieceSize) {
    guard start == 0 || !RunningQuery.end(context) else { return }
    for byte in text[start..<min(start + pieceSize, text.count)] where byte & 0xC0 != 0x80 {
      count += byte >= 0xF0 ? 2 : 1
    }
  }
  sqlite3_result_int64(context, count)
}

/// The first letter of `text`, uppercased, without diacritics; empty if `text` is empty.
private func initial(of text: UnsafeBufferPointer<UInt8>) -> String {
  guard let first = String(decoding: text.prefix(256), as: UTF8.self).first else { return "" }
  let plain = Folding.fold(String(first), .diacriticInsensitive)
  return (plain.first.map(String.init) ?? String(first)).uppercased()
}

// MARK: - Dates

private func registerDateFunctions(on handle: OpaquePointer) {
  // A stored date of any format as seconds since 1970. A value that is no date sorts after every
  // number.
  register("livefetch_seconds", arguments: 1, on: handle) { context, _, values in
    switch sqlite3_value_type(values?[0]) {
    case SQLITE_INTEGER, SQLITE_FLOAT: sqlite3_result_value(context, values?[0])
    default:
      guard let instant = instant(values?[0]) else { return setMistyped(context, values?[0]) }
      sqlite3_result_double(context, seconds(instant))
    }
  }
  // A stored date as ISO 8601 text; NULL if the value is no date.
  register("livefetch_dateText", arguments: 1, on: handle) { context, _, values in
    guard let instant = instant(values?[0]) else { return }
    setResult(context, instant.iso8601)
  }
  // A stored date as seconds since 2001, for calculations; NULL if the value is no date.
  register("livefetch_reference", arguments: 1, on: handle) { context, _, values in
    switch sqlite3_value_type(values?[0]) {
    case SQLITE_INTEGER, SQLITE_FLOAT:
      sqlite3_result_double(context, sqlite3_value_double(values?[0]) - 978_307_200)
    default:
      guard let instant = instant(values?[0]) else { return }
      sqlite3_result_double(context, seconds(instant) - 978_307_200)
    }
  }
  // A prefix of `2024-01-31`: the day, month or year of a stored date in UTC. The last argument is
  // 1 if the column stores dates as numbers, 0 if it stores texts. A value that is no such date
  // sorts after every text.
  register("livefetch_date_part", arguments: 3, on: handle) { context, _, values in
    let isText = sqlite3_value_type(values?[0]) == SQLITE_TEXT
    guard isText == (sqlite3_value_int(values?[2]) == 0), let instant = instant(values?[0]) else {
      return setMistyped(context, values?[0])
    }
    var day: [UInt8] = []
    day.append(date: instant, as: .day)
    // A year of more than four digits makes the text longer at its front.
    let dropped = max(0, 10 - Int(sqlite3_value_int(values?[1])))
    setResult(context, Array(day.dropLast(dropped)))
  }
}

private func seconds(_ instant: Instant) -> Double {
  Double(instant.seconds) + Double(instant.nanoseconds) / 1e9
}

/// The instant that a stored value represents; nil if it represents none.
private func instant(_ value: OpaquePointer?) -> Instant? {
  switch sqlite3_value_type(value) {
  case SQLITE_INTEGER: Instant(seconds: sqlite3_value_int64(value))
  case SQLITE_FLOAT: Instant(secondsSince1970: sqlite3_value_double(value))
  default: utf8(value).flatMap { Instant(comparable: $0) }
  }
}
