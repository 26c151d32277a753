// One side of a comparison as SQL, with what the operator has to know about it.

import FetchModel

struct SQLOperand {
  /// May stand beside any operator without parentheses.
  var sql: SQLFragment
  var mayBeNull: Bool
  /// Whether it compares by code point without saying so.
  var isBinaryCollated = true
  /// How it holds a date; nil where it is none.
  var dateFormat: DateFormat?
  /// The form of what ``sql`` gives, where that compares by stand-ins; nil where it does not.
  var form: ColumnEncoding?
  /// The value as it is stored, where ``sql`` is a stand-in of it.
  var stored: SQLFragment?
  /// Whether it is calculated with as an integer.
  var isInteger = false
  /// Whether it is a number or NULL whatever the columns hold.
  var isNumber = false
  /// Whether it is a quotient that is no integer: REAL or NULL.
  var isQuotient = false
  /// What it is calculated in where it is no integer.
  var ownPrecision = Precision.binary
  /// How a calculation in decimal digits goes on from here; nil where it is none.
  var decimal: DecimalCalculation?
  /// A calculation without its parentheses, for where the same operators follow it.
  var chain: (operators: ArithmeticOperator.Chain, sql: SQLFragment)?

  var precision: Precision { isInteger ? .adapting : ownPrecision }

  var isNull: SQLFragment { sql + " IS NULL" }
  var isNotNull: SQLFragment { sql + " IS NOT NULL" }

  /// This operand, compared by code point whatever its column declares.
  var collated: SQLFragment { isBinaryCollated ? sql : sql + " COLLATE BINARY" }

  /// The value of `function` of this operand.
  func wrapped(in function: String, _ arguments: String = "") -> SQLOperand {
    let call = SQLFragment("\(function)(\(sql.text)\(arguments))", bindings: sql.bindings)
    return SQLOperand(sql: call, mayBeNull: mayBeNull)
  }

  /// This operand as what is calculated with: NULL where a column holds what is no number, which
  /// SQLite would take for 0.
  var quantity: SQLFragment {
    isNumber ? sql : SQLFragment("livefetch_quantity(") + sql + ")"
  }

  /// This operand as it is stored.
  var asStored: SQLOperand {
    var operand = self
    operand.sql = stored ?? sql
    return operand
  }

  /// This operand as what compares with values in `form`.
  func put(in form: ColumnEncoding?) -> SQLOperand {
    guard let form, form != self.form else { return self }
    var operand = asStored.wrapped(in: "livefetch_value", ", \(form.code)")
    operand.form = form
    operand.stored = stored ?? sql
    operand.dateFormat = dateFormat
    return operand
  }

  /// This operand as the text that strings are looked for in.
  var text: SQLOperand {
    guard case .uuid? = form else { return self }
    return asStored.wrapped(in: "livefetch_uuid_text")
  }
}

extension SQLFragment {
  static func + (left: SQLFragment, right: String) -> SQLFragment {
    SQLFragment(left.text + right, bindings: left.bindings)
  }

  static func + (left: SQLFragment, right: SQLFragment) -> SQLFragment {
    SQLFragment(left.text + right.text, bindings: left.bindings + right.bindings)
  }

  /// A question mark with `value` bound to it.
  static func bound(_ value: SQLValue) -> SQLFragment { SQLFragment("?", bindings: [value]) }
}
