// Rows ordered by their sort terms, with ties in any order → their ids in the total order.

import FetchModel
import SQLComposer
import SQLResults

/// The first ids of a result. Reads one row more than the limit.
struct TieOrderedRows {
  private let limit: Int
  private(set) var ids: [Int64] = []
  /// The order key of the last id, if the limit was reached.
  private(set) var last: OrderKey?
  /// True if these are the first ids of the total order. False if rows tie across the end, so that
  /// another one might come first, or if a tie cannot be ruled out.
  private(set) var isExact = true
  /// True if SQLite sorted the rows instead of reading an index.
  private(set) var wereSorted = false
  /// The values of the last row's sort terms, and the index of the first id with the same values.
  private var values: [SQLValue] = []
  private var firstTied = 0

  init(limit: Int) {
    self.limit = limit
    ids.reserveCapacity(limit)
  }

  mutating func add(_ reader: RowReader) {
    let isFirst = ids.isEmpty
    let tie = replaceValues(reader)
    if !isFirst, tie == nil || (tie == true && ids.count == limit) { isExact = false }
    guard ids.count < limit else { return }
    if tie == false { orderTied() }
    ids.append(reader.integerID)
    if ids.count == limit { last = reader.key() }
  }

  mutating func finish(wereSorted: Bool) {
    orderTied()
    self.wereSorted = wereSorted
    if let id = ids.last { last = last?.with(id: .integer(id)) }
  }

  private mutating func orderTied() {
    if ids.count - firstTied > 1 { ids[firstTied...].sort() }
    firstTied = ids.count
  }

  /// Stores the sort values of the current row. Returns true if they equal the previous ones; nil
  /// if that is uncertain.
  private mutating func replaceValues(_ reader: RowReader) -> Bool? {
    var tie: Bool? = true
    let components = reader.layout.components
    if values.isEmpty { values = Array(repeating: .null, count: components.count) }
    for (index, component) in components.enumerated() {
      let value = reader.value(of: component)
      if tie == true { tie = Self.tie(values[index], value) }
      values[index] = value
    }
    return tie
  }

  /// True if both values have the same place in the order; nil if that is uncertain.
  private static func tie(_ left: SQLValue, _ right: SQLValue) -> Bool? {
    switch (left, right) {
    case (.integer, .double), (.double, .integer): nil
    // Texts that are canonically equivalent in Unicode are different for SQLite.
    case (.text(let left), .text(let right)): tie(left, right)
    default: left == right
    }
  }

  private static func tie(_ left: String, _ right: String) -> Bool? {
    guard left.utf8.elementsEqual(right.utf8) else { return false }
    // U+FFFD may replace bytes that are not UTF-8, so that another text may look the same.
    return left.unicodeScalars.contains("\u{FFFD}") ? nil : true
  }
}
