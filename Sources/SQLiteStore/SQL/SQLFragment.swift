// A piece of SQL: text with `?` for every bound value, and the values in the same order. Values
// stand in the bindings only; the text holds nothing that a client sent.

import FetchModel

/// SQL text and the values bound to its question marks, in their order.
public struct SQLFragment: Sendable, Hashable {
  public var text: String
  public var bindings: [SQLValue]

  public init(_ text: String = "", bindings: [SQLValue] = []) {
    self.text = text
    self.bindings = bindings
  }

  public mutating func append(_ text: String) {
    self.text += text
  }

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
