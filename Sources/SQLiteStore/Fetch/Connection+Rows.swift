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
}
