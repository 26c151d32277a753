// Imports rows of an entity that a model file describes; each row passes through a save.
//
// The table does not express a model's ranges, patterns and counts, nor which of several entities
// in one table a row belongs to. So each row becomes the JSON of one change, validated like a
// client's.

import FetchModel
import SQLComposer
import SaveExecution

/// Writes rows under the rules of a model.
struct ModelledRows {
  private let rows: ModelledRow
  private let executor: SQLiteSaveExecutor

  init(entity: Int, _ introspection: Introspection) {
    rows = ModelledRow(entity: entity, introspection.model)
    executor = SQLiteSaveExecutor(model: introspection.model, schema: introspection.schema)
  }

  /// - Parameter writer: Maps fields to columns, and finds existing rows.
  func write(
    _ fields: [ImportedField], _ writer: RowWriter, on connection: Connection
  ) throws(StoreError) -> RowWriter.Outcome {
    let id: ObjectID?
    switch try writer.find(fields, on: connection) {
    case .success(let found): id = found
    case .failure(let refusal): return .refused(refusal)
    }
    try connection.run("SAVEPOINT livefetch_row")
    do {
      let request = try rows.request(fields, of: writer.columns, in: writer.table, id: id)
      _ = try executor.execute(request, on: connection)
      try? connection.run("RELEASE livefetch_row")
      return id == nil ? .inserted : .updated
    } catch {
      guard !connection.isInAutocommit else { throw .failed("the import was given up") }
      try connection.run("ROLLBACK TO livefetch_row")
      try connection.run("RELEASE livefetch_row")
      return .refused(try RowRefusal(of: error))
    }
  }
}
