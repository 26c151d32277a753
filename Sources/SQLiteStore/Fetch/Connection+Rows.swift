// Statements → the rows that a connection reads.

import FetchModel
import SQLComposer
import SQLResults

extension Connection {
  /// Runs a statement and passes each row to `body` until it returns false.
  func run(
    _ statement: FetchStatement, _ body: (RowReader) throws(StoreError) -> Bool
  ) throws(StoreError) {
    try withStatement(statement.sql) { prepared throws(StoreError) in
      try prepared.bind(statement.bindings)
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
      try checkResponse(row.json.count)
      object = ObjectSnapshot(row, token: token)
      return false
    }
    return object
  }
}
