// Aggregates of our own: sums and averages that do not depend on the order of the rows, and the
// different values of a group. Texts and binaries count as no number.

import CSQLite
import FetchModel

func registerAggregates(on handle: OpaquePointer) {
  register(aggregate: "livefetch_sum", on: handle, addToSum) { context in
    switch existing(context).map({ ExactSum($0).total }) {
    case nil: sqlite3_result_int64(context, 0)
    case .some(.integer(let integer)?): sqlite3_result_int64(context, integer)
    case .some(.double(let double)?): sqlite3_result_double(context, double)
    case .some(nil): sqlite3_result_null(context)
    }
  }
  register(aggregate: "livefetch_average", on: handle, addToSum, finishAverage)
  register(aggregate: "livefetch_decimal_average", on: handle, addDecimal, finishAverage)
  registerDecimalSum(on: handle)
  registerValues(on: handle)
}

private func finishAverage(_ context: OpaquePointer?) {
  guard let sum = existing(context).map({ ExactSum($0) }), sum.count > 0,
    let total = sum.double
  else { return }
  sqlite3_result_double(context, total / Double(sum.count))
}

private typealias Step =
  @convention(c) (OpaquePointer?, Int32, UnsafeMutablePointer<OpaquePointer?>?) -> Void
private typealias Final = @convention(c) (OpaquePointer?) -> Void

private func register(
  aggregate name: String, on handle: OpaquePointer, _ step: Step, _ final: Final
) {
  let flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS
  sqlite3_create_function_v2(handle, name, 1, flags, nil, nil, step, final, nil)
}

/// The memory of an aggregate, zeros at first.
private func memory(_ context: OpaquePointer?, words: Int) -> UnsafeMutablePointer<Int64>? {
  sqlite3_aggregate_context(context, Int32(words * MemoryLayout<Int64>.size))?
    .assumingMemoryBound(to: Int64.self)
}

/// The same where a value was added, else nil.
private func existing(_ context: OpaquePointer?) -> UnsafeMutablePointer<Int64>? {
  sqlite3_aggregate_context(context, 0)?.assumingMemoryBound(to: Int64.self)
}

// MARK: - Sums

private func addToSum(
  _ context: OpaquePointer?, _: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?
) {
  guard let double = number(values?[0]), let memory = memory(context, words: ExactSum.words) else {
    return
  }
  if sqlite3_value_type(values?[0]) == SQLITE_INTEGER {
    ExactSum(memory).add(sqlite3_value_int64(values?[0]))
  } else {
    ExactSum(memory).add(double)
  }
}

/// The same for decimals, which may be texts.
private func addDecimal(
  _ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?
) {
  guard let text = utf8(values?[0]) else { return addToSum(context, count, values) }
  guard let double = Double(String(decoding: text, as: UTF8.self)),
    let memory = memory(context, words: ExactSum.words)
  else { return }
  ExactSum(memory).add(double)
}

private func registerDecimalSum(on handle: OpaquePointer) {
  register(aggregate: "livefetch_decimal_sum", on: handle) { context, _, values in
    guard let memory = memory(context, words: DecimalSum.words) else { return }
    switch sqlite3_value_type(values?[0]) {
    case SQLITE_INTEGER: DecimalSum(memory).add(sqlite3_value_int64(values?[0]))
    case SQLITE_FLOAT:
      _ = DecimalSum(memory).add(sqlite3_value_double(values?[0]).description.utf8)
    default: if let text = utf8(values?[0]) { _ = DecimalSum(memory).add(text) }
    }
  } _: { context in
    let text = existing(context).map { DecimalSum($0).text } ?? "0"
    if let integer = Int64(text) {
      sqlite3_result_int64(context, integer)
    } else if let double = Double(text), text.utf8.count(where: { $0 >= 0x30 && $0 <= 0x39 }) <= 15
    {
      sqlite3_result_double(context, double)
    } else {
      setResult(context, text)
    }
  }
}

// MARK: - Different values

/// The different values of a group, encoded as order keys are: bytes that tell and sort them.
private final class DistinctValues {
  var encoded: Set<[UInt8]> = []
}

private func registerValues(on handle: OpaquePointer) {
  register(aggregate: "livefetch_values", on: handle) { context, _, values in
    guard let value = values?[0], let memory = memory(context, words: 1) else { return }
    var encoder = OrderKeyEncoder()
    switch sqlite3_value_type(value) {
    case SQLITE_INTEGER: encoder.append(sqlite3_value_int64(value), .ascending)
    case SQLITE_FLOAT: encoder.append(sqlite3_value_double(value), .ascending)
    case SQLITE_TEXT:
      guard let text = utf8(value) else { return }
      encoder.append(text: text, .ascending)
    case SQLITE_BLOB:
      let start = sqlite3_value_blob(value)?.assumingMemoryBound(to: UInt8.self)
      encoder.append(
        binary: UnsafeBufferPointer(start: start, count: Int(sqlite3_value_bytes(value))),
        .ascending)
    default: return
    }
    held(memory).encoded.insert(encoder.bytes)
  } _: { context in
    var bytes: [UInt8] = []
    if let memory = existing(context), let pointer = pointer(memory) {
      let values = Unmanaged<DistinctValues>.fromOpaque(pointer).takeRetainedValue()
      for value in values.encoded.sorted(by: { $0.precedes($1) }) { bytes += value }
    }
    sqlite3_result_blob64(context, bytes, UInt64(bytes.count), copiedBytes)
    if bytes.isEmpty { sqlite3_result_zeroblob(context, 0) }
  }
}

private func pointer(_ memory: UnsafeMutablePointer<Int64>) -> UnsafeMutableRawPointer? {
  UnsafeMutableRawPointer(bitPattern: Int(memory[0]))
}

/// The values that the memory refers to, made where there are none yet. The final function, which
/// SQLite calls whatever happens to the query, lets them go.
private func held(_ memory: UnsafeMutablePointer<Int64>) -> DistinctValues {
  if let pointer = pointer(memory) {
    return Unmanaged<DistinctValues>.fromOpaque(pointer).takeUnretainedValue()
  }
  let values = DistinctValues()
  memory[0] = Int64(Int(bitPattern: Unmanaged.passRetained(values).toOpaque()))
  return values
}
