// Saves the imported rows of an entity that a model file describes.
//
// A table does not express a model's ranges, patterns and counts, nor which of several entities in
// the table a row belongs to. Therefore each row is saved and validated like a client's change.

import FetchModel
import SQLComposer
import SaveExecution

/// Saves imported rows under the rules of a model.
struct ImportedRowSaver {
  private let builder: ImportedRowRequestBuilder
  private let executor: SQLiteSaveExecutor

  /// - Parameter entity: The index of the entity in the model.
  init(entity: Int, in introspection: Introspection) {
    builder = ImportedRowRequestBuilder(entity: entity, model: introspection.model)
    executor = SQLiteSaveExecutor(model: introspection.model, schema: introspection.schema)
  }

  /// Inserts a row, or updates the existing row with the same key.
  ///
  /// - Parameter writer: Maps fields to columns, and finds existing rows.
  /// - Throws: ``StoreError`` if the import cannot continue. A refused row is an outcome, and leaves no
  ///   changes.
  func save(
    _ fields: [ImportedField], mappedBy writer: RowWriter, on connection: Connection
  ) throws(StoreError) -> RowWriter.Outcome {
    let id: ObjectID?
    switch try writer.find(fields) {
    case .success(let found): id = found
    case .failure(let refusal): return .refused(refusal)
    }
    try connection.run("SAVEPOINT livefetch_row")
    do {
      let request = try builder.request(fields, of: writer.columns, in: writer.table, id: id)
      _ = try executor.execute(request, on: connection)
      try? connection.run("RELEASE livefetch_row")
      return id == nil ? .inserted : .updated
    } catch {
      guard !connection.isInAutocommit else {
        if case .store(let reason) = error { throw reason }
        throw .failed("SQLite rolled the import back")
      }
      try connection.run("ROLLBACK TO livefetch_row")
      try connection.run("RELEASE livefetch_row")
      return .refused(try RowRefusal(of: error))
    }
  }
}
