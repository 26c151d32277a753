// A decimal calculation → one SQL function call, however deep the expression is. The call's first
// argument is the program in postfix order; the operands follow.
//
//     (price + tax) * 2    livefetch_decimal('vv+v*', "t0"."price", "t0"."tax", ?)

import FetchModel

struct DecimalCalculation {
  /// The maximum number of operands of one call; an SQLite function takes at most 127 arguments.
  private static let maxOperands = 100

  /// The postfix program: `v` pushes the next operand; an operator replaces the last two results.
  private let program: String
  private let operands: [SQLFragment]

  private init(program: String, operands: [SQLFragment]) {
    self.program = program
    self.operands = operands
  }

  /// The calculation that consists of `operand` alone.
  init(_ operand: SQLFragment) { self.init(program: "v", operands: [operand]) }

  init(_ operation: ArithmeticOperator, _ left: SQLOperand, _ right: SQLOperand) {
    let left = left.decimal ?? DecimalCalculation(left.isUntyped ? left.quantity : left.sql)
    let right = right.decimal ?? DecimalCalculation(right.isUntyped ? right.quantity : right.sql)
    let isLong = left.operands.count + right.operands.count > Self.maxOperands
    let (first, second) = isLong ? (left.closed, right.closed) : (left, right)
    self.init(
      program: first.program + second.program + operation.rawValue,
      operands: first.operands + second.operands)
  }

  /// A new calculation whose only operand is the exact result of this one.
  private var closed: DecimalCalculation { DecimalCalculation(exact) }

  /// The result with every digit, as input of further calculations.
  var exact: SQLFragment { call("livefetch_decimal_exact") }

  /// The result as a number that SQLite compares.
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
