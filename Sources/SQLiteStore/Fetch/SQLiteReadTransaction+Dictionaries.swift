// Dictionaries at the current or a past position → their JSON.

import FetchModel
import LiveFetchCSQLite

extension SQLiteReadTransaction {
  func dictionaries(
    of plan: FetchPlan, at position: ReadPosition
  ) throws(StoreError) -> GroupedResult {
    guard let tabulation = plan.tabulation else { return GroupedResult() }
    let position = normalized(position)
    var result = GroupedResult()
    if plan.window.limit != 0 {
      var statements = GroupedQueryComposer(composer, plan, tabulation, at: position)
      try read(statements.window(), of: plan, into: &result)
    }
    if plan.withTotal {
      var statements = GroupedQueryComposer(composer, plan, tabulation, at: position)
      let total = statements.total()
      result.total = try connection.first(total.text, total.bindings) { Int($0.integer(0)) } ?? 0
    }
    return result
  }

  private func read(
    _ statement: GroupedQueryStatement, of plan: FetchPlan, into result: inout GroupedResult
  ) throws(StoreError) {
    let limit = plan.window.limit ?? .max
    try connection.withStatement(statement.sql.text) { prepared throws(StoreError) in
      prepared.bind(statement.sql.bindings)
      let reader = DictionaryReader(
        statement: prepared.pointer, columns: statement.columns, connection: connection)
      while try prepared.step() {
        guard result.count < limit else {
          result.isTruncated = plan.isCapped
          return
        }
        if result.count > 0 { result.items.append(0x2C) }
        reader.append(to: &result.items)
        try connection.checkAnswer(result.items.count)
        result.count += 1
      }
    }
  }

  /// `{"entity":"City","token":"…","count":2,"sections":[…]}`
  func dictionariesSnapshot(of plan: FetchPlan) throws(StoreError) -> EncodedSnapshot {
    let result = try dictionaries(of: plan, at: .now)
    var json: [UInt8] = []
    json.reserveCapacity(result.items.count + 256)
    json.append(json: "{\"entity\":")
    json.append(jsonString: composer.model.entities[plan.definition.entity].name)
    json.append(json: ",\"token\":")
    json.append(jsonString: token.description)
    json.append(0x2C)
    result.appendMembers(to: &json)
    json.append(0x7D)
    return EncodedSnapshot(json: json, token: token, count: result.count)
  }
}

/// The current row of a statement → a dictionary.
private struct DictionaryReader {
  let columns: [GroupedColumn]
  private let statement: OpaquePointer
  private let connection: Connection
  private let reader: RowReader

  init(statement: OpaquePointer, columns: [GroupedColumn], connection: Connection) {
    self.statement = statement
    self.columns = columns
    self.connection = connection
    reader = RowReader(statement: statement, layout: RowLayout(), connection: connection)
  }

  func append(to json: inout [UInt8]) {
    json.append(0x7B)
    for (number, column) in columns.enumerated() {
      if number > 0 { json.append(0x2C) }
      json.append(contentsOf: column.key)
      append(column.index, column, to: &json)
    }
    json.append(0x7D)
  }

  private func append(_ index: Int32, _ column: GroupedColumn, to json: inout [UInt8]) {
    if column.isCollection {
      appendValues(index, column, to: &json)
    } else if column.isDecimal, sqlite3_column_type(statement, index) == SQLITE_TEXT {
      let count = Int(sqlite3_column_bytes(statement, index))
      guard count <= RowReader.longValue || connection.admits(count, behind: json.count) else {
        return json.append(json: "null")
      }
      appendDecimal(text(index), column, to: &json)
    } else if let encoding = column.encoding, sqlite3_column_type(statement, index) == SQLITE_BLOB,
      let foreign = encoding.foreignValue(of: blob(index))
    {
      append(foreign, column, to: &json)
    } else {
      reader.append(index, column.format, to: &json)
    }
  }

  private func text(_ index: Int32) -> [UInt8] {
    // SQLite requires sqlite3_column_text before sqlite3_column_bytes.
    let start = sqlite3_column_text(statement, index)
    let count = Int(sqlite3_column_bytes(statement, index))
    return Array(UnsafeBufferPointer(start: start, count: count))
  }

  private func blob(_ index: Int32) -> [UInt8] {
    let start = sqlite3_column_blob(statement, index)
    let count = Int(sqlite3_column_bytes(statement, index))
    return Array(UnsafeRawBufferPointer(start: start, count: count))
  }

  /// Appends decimal digits as a number, even if neither an integer nor a double represents them
  /// exactly.
  private func appendDecimal(_ text: [UInt8], _ column: GroupedColumn, to json: inout [UInt8]) {
    if case .number? = try? JSON(parsing: text) {
      json.append(contentsOf: text)
    } else {
      text.withUnsafeBufferPointer { reader.append(text: $0, column.format, to: &json) }
    }
  }

  private func appendValues(_ index: Int32, _ column: GroupedColumn, to json: inout [UInt8]) {
    guard connection.admits(Int(sqlite3_column_bytes(statement, index)), behind: json.count) else {
      return json.append(json: "null")
    }
    var decoder = OrderKeyDecoder(bytes: blob(index))
    json.append(0x5B)
    while !decoder.isAtEnd, connection.admits(0, behind: json.count),
      let value = decoder.decode()
    {
      if json.last != 0x5B { json.append(0x2C) }
      if let encoding = column.encoding, case .binary(let comparisonKey) = value,
        let foreign = encoding.foreignValue(of: comparisonKey)
      {
        append(foreign, column, to: &json)
      } else {
        append(value, column, to: &json)
      }
    }
    json.append(0x5D)
  }

  private func append(
    _ value: OrderKeyDecoder.Component, _ column: GroupedColumn, to json: inout [UInt8]
  ) {
    switch value {
    case .null: json.append(json: "null")
    case .integer(let integer): reader.append(integer: integer, column.format, to: &json)
    case .double(let double): reader.append(double: double, column.format, to: &json)
    case .text(let utf8):
      if column.isDecimal {
        appendDecimal(utf8, column, to: &json)
      } else {
        utf8.withUnsafeBufferPointer { reader.append(text: $0, column.format, to: &json) }
      }
    case .binary(let bytes):
      bytes.withUnsafeBufferPointer { reader.append(blob: $0, column.format, to: &json) }
    }
  }
}
