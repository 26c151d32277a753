// Imports rows of an entity that a model file describes; each row passes through a save.
//
// The table does not express a model's ranges, patterns and counts, nor which of several entities
// in one table a row belongs to. So each row becomes the JSON of one change, validated like a
// client's.

import FetchModel
import SQLComposer

/// Writes rows under the rules of a model.
struct ModelledRows {
  private let entity: Int
  private let resolver: SaveResolver
  private let executor: SQLiteSaveExecutor

  init(entity: Int, _ introspection: Introspection) {
    self.entity = entity
    resolver = SaveResolver(model: introspection.model)
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
      let request = try resolver.single(
        id == nil ? .insert : .update, entity: entity, id: id,
        values: .object(members(fields, writer, isInsert: id == nil)))
      _ = try executor.execute(request, on: connection)
      try? connection.run("RELEASE livefetch_row")
      return id == nil ? .inserted : .updated
    } catch {
      guard !connection.isInAutocommit else { throw .failed("the import was given up") }
      try connection.run("ROLLBACK TO livefetch_row")
      try connection.run("RELEASE livefetch_row")
      return .refused(try Self.refusal(error))
    }
  }

  private func members(
    _ fields: [ImportedField], _ writer: RowWriter, isInsert: Bool
  ) -> [JSON.Member] {
    zip(fields, writer.columns).compactMap { field, column in
      let name = writer.table.propertyNames[column]
      guard isInsert || name != "id" else { return nil }
      return field.json(as: writer.table.columns[column].type)
        .map { JSON.Member(name: name, value: $0) }
    }
  }

  private static func refusal(_ error: SaveError) throws(StoreError) -> RowRefusal {
    switch error {
    case .malformed(let detail): return RowRefusal(detail: detail)
    case .condition: return RowRefusal(detail: "a batch is not a row")
    case .invalid(let problems), .conflicts(let problems), .notFound(let problems),
      .forbidden(let problems):
      return RowRefusal(
        property: problems.first?.property,
        detail: problems.map(\.detail).joined(separator: "; "))
    case .preconditionFailed(let problem): return RowRefusal(detail: problem.detail)
    case .tooManyAffected: return RowRefusal(detail: "too many objects")
    case .keyReused: return RowRefusal(detail: "the idempotency key was used before")
    case .store(let error): throw error
    }
  }
}

extension ImportedField {
  /// Returns the value in the JSON that a client would send; nil for a missing field.
  fileprivate func json(as type: AttributeType) -> JSON? {
    switch self {
    case .missing: return nil
    case .null: return .null
    case .json(let json): return json
    case .text(let utf8):
      switch type {
      case .integer, .double, .decimal, .json:
        let read = try? JSON(parsing: Array(utf8))
        return read ?? .string(utf8.string)
      case .boolean:
        switch utf8.string.lowercased() {
        case "1", "true", "yes", "t", "y": return .boolean(true)
        case "0", "false", "no", "f", "n": return .boolean(false)
        default: return .string(utf8.string)
        }
      default: return .string(utf8.string)
      }
    }
  }
}
