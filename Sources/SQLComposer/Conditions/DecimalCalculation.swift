// An arithmetic expression with decimals → one call of an SQL function, however deep the expression is. The first
// argument is the program in postfix order; the operands follow. Only an expression with more than 100 operands
// has nested calls.
//
//     (price + tax) * 2    livefetch_decimal('vv+v*', "t0"."price", "t0"."tax", ?)

import FetchModel

/// A calculation with decimal numbers, which SQLite's own operators would round to doubles.
struct DecimalCalculation {
  /// The maximum number of operands of one call; an SQLite function takes at most 127 arguments.
  private static let maxOperands = 100

  /// The postfix program: `v` pushes the next operand; an operator replaces the two values on top by its result.
  private let program: String
  private let operands: [SQLFragment]

  private init(program: String, operands: [SQLFragment]) {
    self.program = program
    self.operands = operands
  }

  /// The calculation that consists of `operand` alone.
  init(_ operand: SQLFragment) { self.init(program: "v", operands: [operand]) }

  /// The calculation that applies `operation` to two operands, whose own calculations become part of it.
  init(_ operation: ArithmeticOperator, _ left: SQLOperand, _ right: SQLOperand) {
    let left = left.decimal ?? DecimalCalculation(left.isUntyped ? left.quantity : left.sql)
    let right = right.decimal ?? DecimalCalculation(right.isUntyped ? right.quantity : right.sql)
    let exceedsLimit = left.operands.count + right.operands.count > Self.maxOperands
    let (first, second) = exceedsLimit ? (left.nested, right.nested) : (left, right)
    self.init(
      program: first.program + second.program + operation.rawValue,
      operands: first.operands + second.operands)
  }

  /// The calculation whose only operand is a call that returns the exact result of this one.
  private var nested: DecimalCalculation { DecimalCalculation(exact) }

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
