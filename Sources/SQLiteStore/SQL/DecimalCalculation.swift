// A calculation in decimal digits as one call, however deep it is: what to do, operands first, and the
// operands.
//
//     (price + tax) * 2    livefetch_decimal('vv+v*', "t0"."price", "t0"."tax", ?)

import FetchModel

struct DecimalCalculation {
  /// SQLite's functions take 127 arguments.
  private static let mostOperands = 100

  /// `v` for the next operand, or an operator for the last two results.
  private let program: String
  private let operands: [SQLFragment]

  private init(program: String, operands: [SQLFragment]) {
    self.program = program
    self.operands = operands
  }

  /// A value by itself.
  init(_ operand: SQLFragment) { self.init(program: "v", operands: [operand]) }

  init(_ operation: ArithmeticOperator, _ left: SQLOperand, _ right: SQLOperand) {
    let left = left.decimal ?? DecimalCalculation(left.sql)
    let right = right.decimal ?? DecimalCalculation(right.sql)
    let isLong = left.operands.count + right.operands.count > Self.mostOperands
    let (first, second) = isLong ? (left.closed, right.closed) : (left, right)
    self.init(
      program: first.program + second.program + operation.rawValue,
      operands: first.operands + second.operands)
  }

  /// The same with its result as its one operand.
  private var closed: DecimalCalculation { DecimalCalculation(exact) }

  /// The result with every digit, for further calculations.
  var exact: SQLFragment { call("livefetch_decimal_exact") }

  /// The result as numbers are compared.
  var number: SQLFragment { call("livefetch_decimal") }

  private func call(_ function: String) -> SQLFragment {
    var call = SQLFragment("\(function)('\(program)'")
    for operand in operands {
      call.append(", ")
      call.append(operand)
    }
    call.append(")")
    return call
  }
}
