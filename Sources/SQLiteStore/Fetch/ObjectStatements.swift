// An object's id → its JSON and the hash of its stored values. The statement of each kind of item
// is composed once.

import FetchModel
import Synchronization

/// The composed statements of a store, shared by its readers.
final class ObjectStatements: Sendable {
  /// The most kinds. Clients determine them by their selections. Beyond this number, all statements
  /// are dropped.
  private static let capacity = 1_000

  // Protects the statements. Never held while a statement is composed.
  private let statements = Mutex<[ItemKind: FetchStatement]>([:])

  /// Returns the statement of a kind.
  ///
  /// - Parameter compose: Called for a new kind.
  func statement(of kind: ItemKind, _ compose: () -> FetchStatement) -> FetchStatement {
    if let known = statements.withLock({ $0[kind] }) { return known }
    let statement = compose()
    statements.withLock { statements in
      if statements.count >= Self.capacity { statements.removeAll() }
      statements[kind] = statement
    }
    return statement
  }
}

extension FetchComposer {
  /// Reads one object of the plan's entity with the values of its selection, followed by its hash.
  /// The statement serves every id, which is bound as the key's columns.
  func object(_ id: ObjectID, of plan: FetchPlan) -> FetchStatement {
    var whole = plan
    whole.selection.append(SelectedValue(key: "@etag", source: .etag))
    whole.definition = ResultDefinition(
      entity: plan.definition.entity, predicate: model.membership(of: plan.definition.entity),
      access: plan.definition.access)
    return rows(of: whole, ids: [id], at: .now)
  }
}

extension Connection {
  /// Runs a statement and passes each row to `body` until it returns false.
  func run(
    _ statement: FetchStatement, _ body: (RowReader) throws(StoreError) -> Bool
  ) throws(StoreError) {
    try withStatement(statement.sql) { prepared throws(StoreError) in
      prepared.bind(statement.bindings)
      let reader = RowReader(
        statement: prepared.pointer, layout: statement.layout, connection: self)
      while try prepared.step() {
        let goesOn = try body(reader)
        try endIfIncomplete()
        guard goesOn else { return }
      }
    }
  }

  /// Returns the object that a statement of ``FetchComposer/object(_:of:)`` reads; nil if it does
  /// not exist.
  func object(_ statement: FetchStatement, token: Token) throws(StoreError) -> ObjectSnapshot? {
    var object: ObjectSnapshot?
    try run(statement) { reader throws(StoreError) in
      let row = reader.row()
      try checkAnswer(row.json.count)
      object = ObjectSnapshot(row, token: token)
      return false
    }
    return object
  }
}

extension ObjectSnapshot {
  /// Removes the hash, the last value, from a row: `…,"@etag":"9f3c…"}`.
  fileprivate init?(_ row: Row, token: Token) {
    guard let etag = row.values.last else { return nil }
    var json = Array(row.json[..<(etag.lowerBound - ",\"@etag\":".utf8.count)])
    json.append(0x7D)
    let text = String(decoding: row.json[etag].dropFirst().dropLast(), as: UTF8.self)
    self.init(json: json, etag: text, token: token)
  }
}

extension FetchStatement {
  /// Returns the same statement for another object. The key's values come first; after them come
  /// the names of the entities that the object may have, which stay.
  func binding(key: [SQLValue]) -> FetchStatement {
    binding(key + bindings.dropFirst(key.count))
  }

  /// Returns the same statement with other bindings.
  func binding(_ bindings: [SQLValue]) -> FetchStatement {
    FetchStatement(sql: sql, bindings: bindings, layout: layout, overlays: overlays)
  }
}
