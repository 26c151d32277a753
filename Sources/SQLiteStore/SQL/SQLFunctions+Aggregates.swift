// Registers aggregate SQL functions: sums and averages that do not depend on the order of the rows, and
// the distinct values of a group. Sums and averages ignore texts and blobs, except decimals in texts.

import FetchModel
import LiveFetchCSQLite

/// Registers the functions on a connection.
func registerAggregates(on handle: OpaquePointer) {
  register(aggregate: "livefetch_sum", on: handle, step: addToSum) { context in
    switch existingState(of: context).map({ ExactSum($0).finalTotal() }) {
    case nil: sqlite3_result_int64(context, 0)
    case .some(.integer(let integer)?): sqlite3_result_int64(context, integer)
    case .some(.double(let double)?): sqlite3_result_double(context, double)
    case .some(nil): sqlite3_result_null(context)
    }
  }
  register(aggregate: "livefetch_average", on: handle, step: addToSum, final: finishAverage)
  registerDecimalAggregates(on: handle)
  register(
    aggregate: "livefetch_values", on: handle, step: addDistinctValue, final: finishDistinctValues)
}

private func finishAverage(_ context: OpaquePointer?) {
  guard let sum = existingState(of: context).map({ ExactSum($0) }), sum.count > 0,
    let total = sum.finalDouble()
  else { return }
  sqlite3_result_double(context, total / Double(sum.count))
}

private typealias Step =
  @convention(c) (OpaquePointer?, Int32, UnsafeMutablePointer<OpaquePointer?>?) -> Void
private typealias Final = @convention(c) (OpaquePointer?) -> Void

private func register(
  aggregate name: String, on handle: OpaquePointer, step: Step, final: Final
) {
  let flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS
  sqlite3_create_function_v2(handle, name, 1, flags, nil, nil, step, final, nil)
}

/// Returns the state of a running aggregate, of `words` integers. It is zero when the group begins. Returns
/// nil if memory runs out.
private func state(of context: OpaquePointer?, words: Int) -> UnsafeMutablePointer<Int64>? {
  sqlite3_aggregate_context(context, Int32(words * MemoryLayout<Int64>.size))?
    .assumingMemoryBound(to: Int64.self)
}

/// Returns the state of a running aggregate; nil if no value was added.
private func existingState(of context: OpaquePointer?) -> UnsafeMutablePointer<Int64>? {
  sqlite3_aggregate_context(context, 0)?.assumingMemoryBound(to: Int64.self)
}

// MARK: - Sums

private func addToSum(
  _ context: OpaquePointer?, _: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?
) {
  guard let double = number(values?[0]),
    let state = state(of: context, words: ExactSum.words)
  else { return }
  if sqlite3_value_type(values?[0]) == SQLITE_INTEGER {
    ExactSum(state).add(sqlite3_value_int64(values?[0]))
  } else {
    ExactSum(state).add(double)
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

  /// The sum of infinities and of numbers outside the digits' range.
  private var outOfRange: Double {
    Double(bitPattern: UInt64(bitPattern: memory[DecimalSum.words + 1]))
  }

  /// The sum of all numbers; nil if none of them lies outside the digits' range. Ends the sum.
  var rounded: Double? { outOfRange == 0 ? nil : outOfRange + (Double(sum.finish()) ?? 0) }

  func add(_ value: OpaquePointer?) {
    switch sqlite3_value_type(value) {
    case SQLITE_INTEGER: sum.add(sqlite3_value_int64(value))
    case SQLITE_FLOAT:
      let double = sqlite3_value_double(value)
      if !sum.add(double.description.utf8) { addOutOfRange(double) }
    default:
      guard let text = utf8(value) else { return }
      if !sum.add(text) {
        // Digits with an exponent; not the name of a number, and not hexadecimal digits.
        guard text.allSatisfy({ $0 < 0x3A || $0 | 0x20 == UInt8(ascii: "e") }),
          let double = Double(String(decoding: text, as: UTF8.self))
        else { return }
        addOutOfRange(double)
      }
    }
    memory[DecimalSum.words] &+= 1
  }

  private func addOutOfRange(_ double: Double) {
    memory[DecimalSum.words + 1] = Int64(bitPattern: (outOfRange + double).bitPattern)
  }
}

private func addDecimal(
  _ context: OpaquePointer?, _: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?
) {
  guard RunningQuery.admits(values?[0], context),
    let state = state(of: context, words: DecimalTotal.words)
  else { return }
  DecimalTotal(state).add(values?[0])
}

private func registerDecimalAggregates(on handle: OpaquePointer) {
  register(aggregate: "livefetch_decimal_sum", on: handle, step: addDecimal) { context in
    let total = existingState(of: context).map { DecimalTotal($0) }
    if let rounded = total?.rounded { return sqlite3_result_double(context, rounded) }
    let text = total?.sum.finish() ?? "0"
    if let integer = Int64(text) {
      sqlite3_result_int64(context, integer)
    } else if let double = Double(text), text.utf8.count(where: { $0 >= 0x30 && $0 <= 0x39 }) <= 15
    {
      sqlite3_result_double(context, double)
    } else {
      setResult(context, text)
    }
  }
  register(aggregate: "livefetch_decimal_average", on: handle, step: addDecimal) { context in
    guard let total = existingState(of: context).map({ DecimalTotal($0) }), total.count > 0 else {
      return
    }
    if let rounded = total.rounded {
      return sqlite3_result_double(context, rounded / Double(total.count))
    }
    // The division is decimal: half of 0.3 is 0.15, but half of the nearest double is not.
    let sum = ExactDecimal(total.sum.finish())
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

private func addDistinctValue(
  _ context: OpaquePointer?, _: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?
) {
  guard let value = values?[0], sqlite3_value_type(value) != SQLITE_NULL,
    RunningQuery.admits(value, context), let state = state(of: context, words: 1)
  else { return }
  var encoder = OrderKeyEncoder()
  appendOrderKey(of: value, to: &encoder)
  if !distinctValues(of: state).insert(encoder.bytes) {
    sqlite3_result_error_code(context, SQLITE_INTERRUPT)
  }
}

private func finishDistinctValues(_ context: OpaquePointer?) {
  var bytes: [UInt8] = []
  if let state = existingState(of: context), let pointer = pointer(in: state) {
    let values = Unmanaged<DistinctValues>.fromOpaque(pointer).takeRetainedValue()
    for value in values.encoded.sorted(by: { $0.precedes($1) }) { bytes += value }
  }
  sqlite3_result_blob64(context, bytes, UInt64(bytes.count), transient)
  if bytes.isEmpty { sqlite3_result_zeroblob(context, 0) }
}

/// Returns the pointer to the distinct values that the state stores; nil before the first value.
private func pointer(in state: UnsafeMutablePointer<Int64>) -> UnsafeMutableRawPointer? {
  UnsafeMutableRawPointer(bitPattern: Int(state[0]))
}

/// Returns the distinct values that the state refers to, created on first use. SQLite always calls the
/// final function, even if the query fails, and the final function releases them.
private func distinctValues(of state: UnsafeMutablePointer<Int64>) -> DistinctValues {
  if let pointer = pointer(in: state) {
    return Unmanaged<DistinctValues>.fromOpaque(pointer).takeUnretainedValue()
  }
  let values = DistinctValues()
  state[0] = Int64(Int(bitPattern: Unmanaged.passRetained(values).toOpaque()))
  return values
}
