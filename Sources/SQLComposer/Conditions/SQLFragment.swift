// A piece of SQL: text with one `?` per bound value, and the values in the same order. Client data
// is only ever among the bound values, never in the text.

import FetchModel

/// SQL text and the values bound to its question marks, in order.
public struct SQLFragment: Sendable, Hashable {
  /// The SQL, with a question mark for each bound value.
  public var text: String
  /// The bound values, in the order of the question marks.
  public var bindings: [SQLValue]

  public init(_ text: String = "", bindings: [SQLValue] = []) {
    self.text = text
    self.bindings = bindings
  }

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
    bindings.append(value)
  }
}

/// A value as SQLite stores it.
public typealias SQLValue = StoredValue
