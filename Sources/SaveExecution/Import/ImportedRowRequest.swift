// Turns a row of an imported file into a save of one object, which is validated like a client's.

import FetchModel
import SQLComposer

/// Builds the saves of imported rows of an entity that a model file describes.
package struct ImportedRowRequestBuilder: Sendable {
  private let entity: Int
  private let resolver: SaveResolver

  /// - Parameter entity: The index of the entity in `model`.
  package init(entity: Int, model: Model) {
    self.entity = entity
    resolver = SaveResolver(model: model)
  }

  /// Returns the save that inserts or updates one row.
  ///
  /// - Parameters:
  ///   - columns: The column of each field.
  ///   - id: The id of the existing row; nil for a new one.
  /// - Throws: ``SaveError`` if the model refuses a value.
  package func request(
    _ fields: [ImportedField], of columns: [Int], in table: SaveTable, id: ObjectID?
  ) throws(SaveError) -> SaveRequest {
    let members = zip(fields, columns).compactMap { field, column -> JSON.Member? in
      let name = table.propertyNames[column]
      guard id == nil || name != "id" else { return nil }
      return field.json(as: table.columns[column].type).map { JSON.Member(name: name, value: $0) }
    }
    return try resolver.single(
      id == nil ? .insert : .update, entity: entity, id: id, values: .object(members))
  }
}

extension RowRefusal {
  /// The refusal of a row's save.
  ///
  /// - Throws: The error of the store, if it is one.
  package init(of error: SaveError) throws(StoreError) {
    switch error {
    case .malformed(let detail): self.init(detail: detail)
    case .condition: self.init(detail: "a batch is not a row")
    case .invalid(let problems), .conflicts(let problems), .notFound(let problems),
      .forbidden(let problems):
      self.init(
        property: problems.first?.property,
        detail: problems.map(\.detail).joined(separator: "; "))
    case .preconditionFailed(let problem): self.init(detail: problem.detail)
    case .tooManyAffected: self.init(detail: "too many objects")
    case .keyReused: self.init(detail: "the idempotency key was used before")
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
    case .text(let utf8), .quoted(let utf8):
      switch type {
      case .integer, .double, .decimal, .json:
        let read = try? JSON(stored: Array(utf8))
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
