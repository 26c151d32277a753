// The plan of a fetch of dictionaries, and a position → the dictionaries as JSON.

import FetchModel
import SQLComposer

extension ResultTransaction {
  package func dictionaries(
    of plan: FetchPlan, at position: ReadPosition
  ) throws(StoreError) -> GroupedResult {
    guard let groupedQuery = plan.groupedQuery else { return GroupedResult() }
    let position = normalized(position)
    var result = GroupedResult()
    if plan.window.limit != 0 {
      var statements = GroupedQueryComposer(composer, plan, groupedQuery, at: position)
      try read(statements.window(), of: plan, into: &result)
    }
    if plan.withTotal {
      var statements = GroupedQueryComposer(composer, plan, groupedQuery, at: position)
      result.total = try integer(FetchStatement(statements.total()))
    }
    return result
  }

  /// Appends the dictionaries of `statement`, up to the plan's limit. If that is the server's own limit, the
  /// statement selects one more, and the result is truncated if there is one.
  private func read(
    _ statement: GroupedQueryStatement, of plan: FetchPlan, into result: inout GroupedResult
  ) throws(StoreError) {
    let limit = plan.window.limit ?? .max
    try run(FetchStatement(statement.sql)) { row throws(StoreError) in
      guard result.count < limit else {
        result.isTruncated = plan.isCapped
        return false
      }
      if result.count > 0 { result.items.append(0x2C) }
      result.items.append(0x7B)
      for (number, column) in statement.columns.enumerated() {
        if number > 0 { result.items.append(0x2C) }
        result.items.append(contentsOf: column.key)
        row.append(column, to: &result.items)
      }
      result.items.append(0x7D)
      try checkResponse(result.items.count)
      result.count += 1
      return true
    }
  }

  /// Returns the snapshot `{"entity":"City","token":"…","count":2,"sections":[…]}`.
  func dictionariesSnapshot(of plan: FetchPlan) throws(StoreError) -> EncodedSnapshot {
    let result = try dictionaries(of: plan, at: .now)
    var json: [UInt8] = []
    json.reserveCapacity(result.items.count + 256)
    let tokenEnd = json.appendSnapshotHead(
      entity: composer.model.entities[plan.definition.entity].name, token)
    json.append(0x2C)
    result.appendMembers(to: &json)
    json.append(0x7D)
    return EncodedSnapshot(
      json: json, token: token, tokenEnd: tokenEnd, count: result.count)
  }
}

extension FetchStatement {
  /// A statement whose columns the caller reads by index: its layout is empty.
  package init(_ fragment: SQLFragment) {
    self.init(fragment, layout: RowLayout())
  }
}
