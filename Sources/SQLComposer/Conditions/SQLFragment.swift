// A part of a SQL statement: text with one `?` for each bound value, and the values in the same order.
// Values of clients are bound, and never part of the text.

import FetchModel

/// A binding of a question mark: a value, or a parameter whose value each fetch provides.
public enum SQLBinding: Sendable, Hashable {
  case value(SQLValue)
  case parameter(PlanParameter)
  /// A part of the key of the single object that a statement reads. `index` is its position in
  /// ``IDRestriction/bindings``, where the key of another object may replace it.
  case id(SQLValue, index: Int)

  /// The value; NULL for a parameter.
  var value: SQLValue {
    switch self {
    case .value(let value), .id(let value, _): value
    case .parameter: .null
    }
  }
}

/// SQL text and the values bound to its question marks, in order.
public struct SQLFragment: Sendable, Hashable {
  /// The SQL, with a question mark for each bound value.
  public var text: String
  /// The bound values and parameters, in the order of the question marks.
  public var bindings: [SQLBinding]

  /// Makes a fragment of SQL.
  public init(_ text: String = "", bindings: [SQLBinding] = []) {
    self.text = text
    self.bindings = bindings
  }

  /// Makes a fragment whose bindings are all values.
  public init(_ text: String, bindings: [SQLValue]) {
    self.init(text, bindings: bindings.map(SQLBinding.value))
  }

  /// The bound values, in the order of the question marks; NULL for a parameter.
  public var values: [SQLValue] { bindings.map(\.value) }

  /// Appends SQL text without bound values.
  public mutating func append(_ text: String) {
    self.text += text
  }

  /// Appends the text and the bound values of `other`.
  public mutating func append(_ other: SQLFragment) {
    text += other.text
    bindings += other.bindings
  }

  /// Appends a question mark and binds `value` to it.
  public mutating func bind(_ value: SQLValue) {
    text += "?"
    bindings.append(.value(value))
  }
}

extension Sequence<SQLFragment> {
  /// Returns the fragments with `separator` between them.
  package func joined(separator: String = ", ") -> SQLFragment {
    var joined = SQLFragment()
    for (index, fragment) in enumerated() {
      if index > 0 { joined.append(separator) }
      joined.append(fragment)
    }
    return joined
  }
}

/// A value as the store's database stores it.
public typealias SQLValue = StoredValue
