// Rows in the order of their terms, those that tie in any order → their ids in the total order.

import FetchModel

/// The first ids of a result, read from rows of which there is one more than wanted.
struct BriefRows {
  private let limit: Int
  private(set) var ids: [Int64] = []
  /// The last id's place, where there are as many as wanted.
  private(set) var last: OrderKey?
  /// Whether these are the result's first: not so where rows tie across the end, of which others
  /// might come first, or where it cannot be told whether they tie.
  private(set) var isExact = true
  /// Whether SQLite sorted the rows, and not an index.
  private(set) var wereSorted = false
  /// By which the last row is ordered, and from which id on others have the same.
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

  /// Goes on to the values of the current row; whether they tie with those before, nil where that
  /// is not plain to see.
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

  /// Whether an order has the same place for both.
  private static func tie(_ left: SQLValue, _ right: SQLValue) -> Bool? {
    switch (left, right) {
    case (.integer, .double), (.double, .integer): nil
    // Texts that Unicode holds equal are not the same to SQLite.
    case (.text(let left), .text(let right)): left.utf8.elementsEqual(right.utf8)
    default: left == right
    }
  }
}
