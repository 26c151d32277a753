// One side of a comparison: its SQL, and the properties that the compiler needs to write an
// operator next to it.

import FetchModel

struct SQLOperand {
  /// The SQL; it needs no parentheses next to any operator.
  var sql: SQLFragment
  var mayBeNull: Bool
  /// True if it compares by code point without a COLLATE clause.
  var isBinaryCollated = true
  /// The format of its dates; nil if it is not a date.
  var dateFormat: DateFormat?
  /// The encoding of ``sql``, if values compare by comparison keys; nil if they compare as they
  /// are.
  var encoding: ColumnEncoding?
  /// The value as it is stored, if ``sql`` is a comparison key of it.
  var stored: SQLFragment?
  /// The value in the form in which a statement returns it, if that is not ``stored``.
  var output: SQLFragment?
  /// The value in a form that an index serves; nil for ``sql``.
  var lookup: IndexedValue?
  /// True if arithmetic treats it as an integer.
  var isInteger = false
  /// True if it is a number or NULL, whatever the columns hold.
  var isNumber = false
  /// True if it is a column that may hold any text as well as numbers.
  var isUntyped = false
  /// True if it is a quotient that is not an integer: REAL or NULL.
  var isQuotient = false
  /// The precision of arithmetic with it if it is not an integer.
  var ownPrecision = Precision.binary
  /// The decimal calculation that produces it, which further operators extend; nil if it is not the
  /// result of one.
  var decimal: DecimalCalculation?
  /// A calculation without its parentheses, for a following operator of the same precedence.
  var chain: (operators: ArithmeticOperator.Chain, sql: SQLFragment)?

  var precision: Precision { isInteger ? .adapting : ownPrecision }

  var isNull: SQLFragment { sql + " IS NULL" }
  var isNotNull: SQLFragment { sql + " IS NOT NULL" }

  /// This operand, compared by code point whatever collation its column declares.
  var collated: SQLFragment { isBinaryCollated ? sql : sql + " COLLATE BINARY" }

  /// The result of `function` applied to this operand.
  func wrapped(in function: String, _ arguments: String = "") -> SQLOperand {
    let call = SQLFragment("\(function)(\(sql.text)\(arguments))", bindings: sql.bindings)
    return SQLOperand(sql: call, mayBeNull: mayBeNull)
  }

  /// This operand as an arithmetic operand: NULL if a column holds something that is not a number,
  /// which SQLite would treat as 0. The digits of a decimal may be stored as text.
  var quantity: SQLFragment {
    if isNumber { return sql }
    return SQLFragment(isUntyped ? "livefetch_stored_number(" : "livefetch_quantity(") + sql + ")"
  }

  /// This operand as it is stored, without conversion to a comparison key.
  var asStored: SQLOperand {
    var operand = self
    operand.sql = stored ?? sql
    return operand
  }

  /// This operand converted so that it compares with values in `encoding`.
  func put(in encoding: ColumnEncoding?) -> SQLOperand {
    guard let encoding, encoding != self.encoding else { return self }
    var operand = asStored.wrapped(in: "livefetch_value", ", \(encoding.code)")
    operand.encoding = encoding
    operand.stored = stored ?? sql
    operand.dateFormat = dateFormat
    return operand
  }

  /// This operand as the text in which strings are searched for.
  var text: SQLOperand {
    guard case .uuid? = encoding else { return self }
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
  package static func bound(_ value: SQLValue) -> SQLFragment {
    SQLFragment("?", bindings: [SQLBinding.value(value)])
  }
}
