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
    var members: [JSON.Member] = []
    for (field, column) in zip(fields, columns) {
      let name = table.propertyNames[column]
      switch field {
      case .missing: continue
      // A row without the name of an entity is of the entity of the import.
      case .null where column == table.discriminatorColumn,
        .json(.null) where column == table.discriminatorColumn:
        continue
      default: break
      }
      guard id == nil || name != "id" else { continue }
      let isUntyped = table.attribute(inColumn: column)?.isUntyped == true
      let json = isUntyped ? field.untypedJSON : field.json(as: table.columns[column].type)
      guard let value = json else {
        let refusal = table.refusal(of: field, in: column)
        throw .invalid([
          ChangeProblem(change: 0, property: name, code: .wrongType, detail: refusal.detail)
        ])
      }
      members.append(JSON.Member(name: name, value: value))
    }
    return try resolver.single(
      id == nil ? .insert : .update, entity: entity, id: id, values: .object(members))
  }
}

extension RowRefusal {
  /// The refusal of a row by a constraint of its table.
  package init(_ problem: ConstraintProblem) {
    self.init(
      property: problem.property, detail: problem.detail,
      isMissingObject: problem.code == .noSuchObject)
  }

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
        detail: problems.map(\.detail).joined(separator: "; "),
        isMissingObject: problems.allSatisfy { $0.code == .noSuchObject })
    case .preconditionFailed(let problem): self.init(detail: problem.detail)
    case .tooManyAffected: self.init(detail: "too many objects")
    case .keyReused: self.init(detail: "the idempotency key was used before")
    case .store(let error): throw error
    }
  }
}

extension ImportedField {
  /// Returns the value in the JSON that a client would send; nil for a missing field, and for one that
  /// is no value of the type.
  fileprivate func json(as type: AttributeType) -> JSON? {
    switch self {
    case .missing: nil
    case .null: .null
    case .json(let json): json
    case .text(let utf8), .quoted(let utf8): Self.sent(utf8, as: type)
    }
  }

  private static func sent(_ utf8: UnsafeBufferPointer<UInt8>, as type: AttributeType) -> JSON? {
    let text = utf8.isUTF8 ? JSON.string(utf8.string) : nil
    switch type {
    case .integer: return utf8.importedInteger.map { .number(String($0)) }
    case .double:
      return utf8.importedDouble.map { double -> JSON in
        guard double.isFinite else { return .string(double < 0 ? "-Infinity" : "Infinity") }
        return .number(double.description)
      }
    case .decimal:
      // The digits stay as they are.
      return Double(decimal: utf8.string)?.isFinite == true ? .number(utf8.string) : nil
    case .boolean: return utf8.importedBoolean.map { .boolean($0) }
    case .json: return (try? JSON(stored: Array(utf8))) ?? text
    case .string, .uri, .date, .binary, .uuid: return text
    }
  }
}
