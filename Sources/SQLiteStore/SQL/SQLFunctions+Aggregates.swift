// Aggregate SQL functions: sums and averages that do not depend on the order of the rows, and the
// distinct values of a group. Texts and blobs are not counted as numbers.

import FetchModel
import LiveFetchCSQLite

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
  registerDecimals(on: handle)
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

/// The state of a running aggregate, zeroed when the group begins. Returns nil if memory runs out.
private func memory(_ context: OpaquePointer?, words: Int) -> UnsafeMutablePointer<Int64>? {
  sqlite3_aggregate_context(context, Int32(words * MemoryLayout<Int64>.size))?
    .assumingMemoryBound(to: Int64.self)
}

/// The state of a running aggregate; nil if no value was added.
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

// MARK: - Decimals

/// The state of a decimal sum: the digits, the number of summands, and the sum of the summands that
/// lie outside the range of the digits.
private struct DecimalTotal {
  static let words = DecimalSum.words + 2
  private let memory: UnsafeMutablePointer<Int64>

  init(_ memory: UnsafeMutablePointer<Int64>) { self.memory = memory }

  var sum: DecimalSum { DecimalSum(memory) }
  var count: Int64 { memory[DecimalSum.words] }

  /// The sum of infinities and of numbers outside the digits' range; nil if there were none.
  var outOfRange: Double? {
    let double = Double(bitPattern: UInt64(bitPattern: memory[DecimalSum.words + 1]))
    return double == 0 ? nil : double
  }

  func add(_ value: OpaquePointer?) {
    switch sqlite3_value_type(value) {
    case SQLITE_INTEGER: sum.add(sqlite3_value_int64(value))
    case SQLITE_FLOAT:
      let double = sqlite3_value_double(value)
      if !sum.add(double.description.utf8) { addOutOfRange(double) }
    default:
      guard let text = utf8(value) else { return }
      if !sum.add(text) {
        guard let double = Double(String(decoding: text, as: UTF8.self)) else { return }
        addOutOfRange(double)
      }
    }
    memory[DecimalSum.words] &+= 1
  }

  private func addOutOfRange(_ double: Double) {
    memory[DecimalSum.words + 1] = Int64(bitPattern: ((outOfRange ?? 0) + double).bitPattern)
  }
}

private func addDecimal(
  _ context: OpaquePointer?, _: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?
) {
  guard RunningQuery.admits(values?[0], context),
    let memory = memory(context, words: DecimalTotal.words)
  else { return }
  DecimalTotal(memory).add(values?[0])
}

private func registerDecimals(on handle: OpaquePointer) {
  register(aggregate: "livefetch_decimal_sum", on: handle, addDecimal) { context in
    let total = existing(context).map { DecimalTotal($0) }
    if let outOfRange = total?.outOfRange { return sqlite3_result_double(context, outOfRange) }
    let text = total?.sum.text ?? "0"
    if let integer = Int64(text) {
      sqlite3_result_int64(context, integer)
    } else if let double = Double(text), text.utf8.count(where: { $0 >= 0x30 && $0 <= 0x39 }) <= 15
    {
      sqlite3_result_double(context, double)
    } else {
      setResult(context, text)
    }
  }
  register(aggregate: "livefetch_decimal_average", on: handle, addDecimal) { context in
    guard let total = existing(context).map({ DecimalTotal($0) }), total.count > 0 else { return }
    if let outOfRange = total.outOfRange { return sqlite3_result_double(context, outOfRange) }
    // The division is decimal: half of 0.3 is 0.15, but half of the nearest double is not.
    let sum = ExactDecimal(total.sum.text)
    switch sum?.calculated(.divide, ExactDecimal(total.count))?.number {
    case .integer(let integer)?: sqlite3_result_double(context, Double(integer))
    case .double(let double)?: sqlite3_result_double(context, double)
    default: break
    }
  }
}

// MARK: - Distinct values

/// The distinct values of a group, encoded as order keys: equal values have equal bytes, and the
/// bytes sort as the values do.
private final class DistinctValues {
  private(set) var encoded: Set<[UInt8]> = []
  private var size = 0

  /// Adds a value. Returns false if the values together exceed the size limit of a response.
  func insert(_ bytes: [UInt8]) -> Bool {
    if encoded.insert(bytes).inserted { size += bytes.count }
    return RunningQuery.connection?.admits(0, after: size) ?? true
  }
}

private func registerValues(on handle: OpaquePointer) {
  register(aggregate: "livefetch_values", on: handle) { context, _, values in
    guard let value = values?[0], RunningQuery.admits(value, context),
      let memory = memory(context, words: 1)
    else { return }
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
    if !distinctValues(memory).insert(encoder.bytes) {
      sqlite3_result_error_code(context, SQLITE_INTERRUPT)
    }
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

/// The values that the aggregate's state refers to, created on first use. SQLite always calls the
/// final function, even if the query fails, and the final function releases them.
private func distinctValues(_ memory: UnsafeMutablePointer<Int64>) -> DistinctValues {
  if let pointer = pointer(memory) {
    return Unmanaged<DistinctValues>.fromOpaque(pointer).takeUnretainedValue()
  }
  let values = DistinctValues()
  memory[0] = Int64(Int(bitPattern: Unmanaged.passRetained(values).toOpaque()))
  return values
}
