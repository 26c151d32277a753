// Numeric SQL functions: rounding, roots, powers, logarithms and decimal arithmetic. A result that
// is not a number is NULL; no function raises an error.

import FetchModel
import LiveFetchCLibrary
import LiveFetchCSQLite

private enum UnaryFunction: Int, CaseIterable {
  case sqrt, log, ln, exp, floor, ceiling, trunc

  var givesWholePart: Bool { self == .floor || self == .ceiling || self == .trunc }

  func callAsFunction(_ x: Double) -> Double {
    switch self {
    case .sqrt: x.squareRoot()
    case .log: log10(x)
    case .ln: naturalLogarithm(x)
    case .exp: exponential(x)
    case .floor: x.rounded(.down)
    case .ceiling: x.rounded(.up)
    case .trunc: x.rounded(.towardZero)
    }
  }
}

// Inside the enum, `log` and `exp` would name its cases instead of the library's functions.
private func naturalLogarithm(_ x: Double) -> Double { log(x) }
private func exponential(_ x: Double) -> Double { exp(x) }

/// The stored number as a double; nil for every other storage class.
func number(_ value: OpaquePointer?) -> Double? {
  let type = sqlite3_value_type(value)
  return type == SQLITE_INTEGER || type == SQLITE_FLOAT ? sqlite3_value_double(value) : nil
}

func registerNumberFunctions(on handle: OpaquePointer) {
  for function in UnaryFunction.allCases {
    register("livefetch_\(function)", arguments: 1, tag: function.rawValue, on: handle) {
      context, _, values in
      guard let function = UnaryFunction(rawValue: functionTag(context)),
        let x = number(values?[0])
      else { return }
      // An integer is its own whole part, even beyond the integers that a double represents
      // exactly.
      if function.givesWholePart, sqlite3_value_type(values?[0]) == SQLITE_INTEGER {
        sqlite3_result_int64(context, sqlite3_value_int64(values?[0]))
      } else {
        sqlite3_result_double(context, function(x))
      }
    }
  }
  registerCalculations(on: handle)
  registerConversions(on: handle)
  registerDecimalArithmetic(on: handle)
}

private func registerCalculations(on handle: OpaquePointer) {
  register("livefetch_quantity", arguments: 1, on: handle) { context, _, values in
    if number(values?[0]) != nil { return sqlite3_result_value(context, values?[0]) }
    // A decimal may be stored as text.
    guard let text = utf8(values?[0]), RunningQuery.admits(text.count, context) else { return }
    let decimal = ExactDecimal(String(decoding: text, as: UTF8.self))
    if let decimal { setResult(context, decimal.number) }
  }
  register("livefetch_stored_number", arguments: 1, on: handle) { context, _, values in
    if number(values?[0]) != nil { sqlite3_result_value(context, values?[0]) }
  }
  register("livefetch_power", arguments: 2, on: handle) { context, _, values in
    setResult(context, storedValue(values?[0]).power(storedValue(values?[1])))
  }
  register("livefetch_modulus", arguments: 2, on: handle) { context, _, values in
    guard let x = number(values?[0]), let y = number(values?[1]), y != 0 else { return }
    sqlite3_result_double(context, fmod(x, y))
  }
  register("livefetch_abs", arguments: 1, on: handle) { context, _, values in
    guard let x = number(values?[0]) else { return }
    let integer = sqlite3_value_int64(values?[0])
    if sqlite3_value_type(values?[0]) == SQLITE_INTEGER, integer != .min {
      sqlite3_result_int64(context, integer < 0 ? -integer : integer)
    } else {
      sqlite3_result_double(context, abs(x))
    }
  }
  register("livefetch_bitwiseXor", arguments: 2, on: handle) { context, _, values in
    guard number(values?[0]) != nil, number(values?[1]) != nil else { return }
    sqlite3_result_int64(context, sqlite3_value_int64(values?[0]) ^ sqlite3_value_int64(values?[1]))
  }
}

/// An argument of a call as a ``StoredValue``.
func storedValue(_ value: OpaquePointer?) -> StoredValue {
  switch sqlite3_value_type(value) {
  case SQLITE_INTEGER: return .integer(sqlite3_value_int64(value))
  case SQLITE_FLOAT: return .double(sqlite3_value_double(value))
  case SQLITE_TEXT: return .text(utf8(value).map { String(decoding: $0, as: UTF8.self) } ?? "")
  case SQLITE_BLOB:
    let start = sqlite3_value_blob(value)
    return .blob(
      Array(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_value_bytes(value)))))
  default: return .null
  }
}

func setResult(_ context: OpaquePointer?, _ value: StoredValue) {
  switch value {
  case .integer(let integer): sqlite3_result_int64(context, integer)
  case .double(let double): sqlite3_result_double(context, double)
  case .text(let text): setResult(context, text)
  case .blob(let bytes):
    if bytes.isEmpty {
      sqlite3_result_zeroblob(context, 0)
    } else {
      sqlite3_result_blob64(context, bytes, UInt64(bytes.count), transient)
    }
  case .null: sqlite3_result_null(context)
  }
}

/// Registers `livefetch_decimal('vv+v*', a, b, c)`: a postfix program and its operands. With
/// `_exact` the result keeps every digit.
private func registerDecimalArithmetic(on handle: OpaquePointer) {
  for (tag, name) in ["livefetch_decimal", "livefetch_decimal_exact"].enumerated() {
    register(name, arguments: -1, tag: tag, on: handle) { context, count, values in
      guard count > 0, let program = utf8(values?[0]),
        (1..<Int(count)).allSatisfy({ RunningQuery.admits(values?[$0], context) })
      else { return }
      var results: [StoredValue] = []
      var next = 1
      for step in program {
        if step == UInt8(ascii: "v"), next < Int(count) {
          results.append(storedValue(values?[next]))
          next += 1
        } else if let right = results.popLast(), let left = results.popLast(),
          let operation = ArithmeticOperator(
            rawValue: String(decoding: CollectionOfOne(step), as: UTF8.self))
        {
          results.append(left.decimal(operation, right))
        } else {
          return
        }
      }
      guard let result = results.last else { return }
      setResult(context, functionTag(context) == 0 ? result.decimalNumber : result)
    }
  }
}

private func registerConversions(on handle: OpaquePointer) {
  register("livefetch_number", arguments: 1, on: handle) { context, _, values in
    guard let text = utf8(values?[0]), RunningQuery.admits(text.count, context) else { return }
    let written = String(decoding: text, as: UTF8.self)
    if let integer = Int64(written) {
      sqlite3_result_int64(context, integer)
    } else if let double = Double(decimal: written), double.isFinite {
      sqlite3_result_double(context, double)
    }
  }
  register("livefetch_text", arguments: 1, on: handle) { context, _, values in
    guard let x = number(values?[0]) else { return }
    if sqlite3_value_type(values?[0]) == SQLITE_INTEGER {
      setResult(context, String(sqlite3_value_int64(values?[0])))
    } else {
      setResult(context, Int64(exactly: x).map { String($0) } ?? x.description)
    }
  }
}
