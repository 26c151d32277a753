// A read transaction whose statements the composer writes: rows of statements → the results that the
// live engine and the service read. A store implements the execution of statements.

import FetchModel
import SQLComposer

/// An open read transaction on a database that composed statements read.
package protocol ResultTransaction: StoreReadTransaction {
  associatedtype ReadRow: ResultRow

  var composer: FetchComposer { get }
  var objectStatements: ComposedStatements<ItemKind> { get }
  /// Runs a statement and passes each row to `body` until it returns false.
  func run(
    _ statement: FetchStatement, _ body: (ReadRow) throws(StoreError) -> Bool
  ) throws(StoreError)
  /// Throws if a response of `size` bytes so far is too large, if its time is over, or if values were
  /// left out of it.
  func checkResponse(_ size: Int) throws(StoreError)
  /// Runs `body`; responses that it writes have at most `bytes` bytes.
  ///
  /// - Parameter overflow: the error of a larger one.
  func withResponseLimit<Result>(
    _ bytes: Int, overflow: StoreError?, _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result
  /// Returns the statement that reads rows of a plan by id.
  func rowStatement(
    of plan: FetchPlan, ids: Set<ObjectID>, at position: ReadPosition
  ) throws(StoreError) -> FetchStatement
  /// Writes the items of a plan's window.
  func writeItems(of plan: FetchPlan, with writer: inout SnapshotWriter) throws(StoreError)
}

/// The maximum number of bytes of the rows from which a diff is computed, unless the limit of a response is
/// larger.
package let maxRowBytes = 64 << 20

extension ResultTransaction {
  /// Returns `.now` for the position of this transaction, otherwise `position`.
  package func normalized(_ position: ReadPosition) -> ReadPosition {
    position == .past(token.position) ? .now : position
  }

  package func rowStatement(
    of plan: FetchPlan, ids: Set<ObjectID>, at position: ReadPosition
  ) throws(StoreError) -> FetchStatement {
    composer.rows(of: plan, ids: ids, at: position)
  }

  /// Writes the rows of a statement that reads whole items.
  package func write(
    _ statement: FetchStatement, with writer: inout SnapshotWriter
  ) throws(StoreError) {
    try run(statement) { row throws(StoreError) in
      try writer.write(row, checking: checkResponse)
    }
  }

  package func keys(
    of definition: ResultDefinition, after: OrderKey?, limit: Int?, maxBytes: Int
  ) throws(StoreError) -> [OrderKey] {
    var keys: [OrderKey] = []
    var size = 0
    try run(composer.keys(of: definition, after: after, limit: limit)) { row throws(StoreError) in
      try checkResponse(0)
      let key = row.key()
      size += key.bytes.count + MemoryLayout<OrderKey>.size
      guard size <= maxBytes else { throw .overloaded }
      keys.append(key)
      return true
    }
    return keys
  }

  package func total(of definition: ResultDefinition) throws(StoreError) -> Int {
    try integer(composer.total(of: definition))
  }

  /// Returns the first column of a statement's only row.
  package func integer(_ statement: FetchStatement) throws(StoreError) -> Int {
    var result = 0
    try run(statement) { row in
      result = Int(row.integer(0))
      return false
    }
    return result
  }

  package func rows(
    of plan: FetchPlan, ids: Set<ObjectID>, at position: ReadPosition
  ) throws(StoreError) -> [ObjectID: Row] {
    // A diff is computed from more rows than it shows. If they are too large, the client starts
    // again with a snapshot, as after a timeout.
    let most = max(maxResponseBytes, maxRowBytes)
    return try withResponseLimit(most, overflow: .queryTimeout) { () throws(StoreError) in
      try limitedRows(of: plan, ids: ids, at: position)
    }
  }

  /// Reads rows. Throws if they have more bytes than the limit of the current response.
  package func limitedRows(
    of plan: FetchPlan, ids: Set<ObjectID>, at position: ReadPosition
  ) throws(StoreError) -> [ObjectID: Row] {
    guard !ids.isEmpty else { return [:] }
    let position = normalized(position)
    var rows: [ObjectID: Row] = [:]
    var size = 0
    let statement = try rowStatement(of: plan, ids: ids, at: position)
    try run(statement) { reader throws(StoreError) in
      let row = reader.row()
      size += row.json.count
      try checkResponse(size)
      rows[reader.id()] = row
      return true
    }
    return rows
  }

  package func values(
    of paths: [PropertyPath], ids: Set<ObjectID>, at position: ReadPosition
  ) throws(StoreError) -> [ObjectID: [StoredValue?]]? {
    guard !ids.isEmpty, let root = paths.first?.root else { return [:] }
    let position = normalized(position)
    let plan = FetchPlan(
      definition: ResultDefinition(entity: root, predicate: .everything),
      selection: paths.map { SelectedValue(key: "", source: .path($0)) })
    let statement = try rowStatement(of: plan, ids: ids, at: position)
    var values: [ObjectID: [StoredValue?]] = [:]
    let most = max(maxResponseBytes, maxRowBytes)
    var size = 0
    try run(statement) { row throws(StoreError) in
      guard let id = row.id(at: statement.layout.id) else { return true }
      size += row.byteCount
      // The caller continues without these values, as it does after a timeout.
      guard size <= most else { throw .queryTimeout }
      values[id] = statement.layout.values.map { row.exactValue($0.column) }
      return true
    }
    return values
  }
}
