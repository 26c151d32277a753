// A plan → the bytes of its snapshot; an id → its object.

import FetchModel
import SQLComposer

extension ResultTransaction {
  package func snapshot(of plan: FetchPlan) throws(StoreError) -> EncodedSnapshot {
    if plan.shape == .count { return try countSnapshot(of: plan) }
    if plan.groupedQuery != nil { return try dictionariesSnapshot(of: plan) }
    return try snapshot(of: plan) { writer throws(StoreError) in
      try writeItems(of: plan, with: &writer)
    }
  }

  /// Returns the snapshot of a plan of objects or ids.
  ///
  /// - Parameter writeItems: writes the items of the plan's window.
  package func snapshot(
    of plan: FetchPlan, _ writeItems: (inout SnapshotWriter) throws(StoreError) -> Void
  ) throws(StoreError) -> EncodedSnapshot {
    var writer = SnapshotWriter(plan: plan, model: composer.model)
    if plan.window.limit != 0 { try writeItems(&writer) }
    let total = plan.withTotal ? try total(of: plan.definition) : nil
    let included =
      plan.expansion.isEmpty
      ? nil : included(try expandedObjects(of: plan, roots: writer.ids, at: .now))
    try checkResponse(writer.size + (included?.count ?? 0))
    return writer.finish(token: token, total: total, included: included)
  }

  private func countSnapshot(of plan: FetchPlan) throws(StoreError) -> EncodedSnapshot {
    var json: [UInt8] = []
    let tokenEnd = json.appendSnapshotHead(
      entity: composer.model.entities[plan.definition.entity].name, token)
    json.append(json: ",\"total\":")
    json.append(json: Int64(try total(of: plan.definition)))
    json.append(0x7D)
    return EncodedSnapshot(json: json, token: token, tokenEnd: tokenEnd)
  }

  package func object(
    _ id: ObjectID, of plan: FetchPlan
  ) throws(StoreError) -> ObjectSnapshot? {
    let table = composer.schema.entities[plan.definition.entity]
    guard table.key.bindings(of: id) != nil else { return nil }
    let rules = plan.definition.access?.parameterized
    guard rules != nil || plan.definition.access == nil else {
      return try object(composer.objectStatement(id, of: plan), id)
    }
    let kind = ItemKind(
      entity: plan.definition.entity, selection: plan.selection,
      integersAsStrings: plan.integersAsStrings, rules: rules?.template)
    let statement = objectStatements.value(of: kind) {
      // It serves later reads too, when the columns of a rule may have values in several encodings.
      var composer = composer
      composer.homogeneousColumns = []
      return composer.objectStatement(id, of: plan.restricted(by: rules?.template))
    }
    return try object(
      statement.bound(to: rules?.planValues ?? .none).binding(id, of: table.key), id)
  }

  /// Returns the object that a statement of ``FetchComposer/object(_:of:)`` reads; nil if it does
  /// not exist, or if its id is written in another way: the keys 1.5 and 1.50 are equal, but only one
  /// of these texts is the id.
  private func object(
    _ statement: FetchStatement, _ id: ObjectID
  ) throws(StoreError) -> ObjectSnapshot? {
    var object: ObjectSnapshot?
    try run(statement) { row throws(StoreError) in
      guard row.id() == id else { return false }
      let row = row.row()
      try checkResponse(row.json.count)
      object = ObjectSnapshot(row, token: token)
      return false
    }
    return object
  }
}

extension ResultTransaction {
  /// Returns one attribute of an object; nil if the object does not exist, or is not an object of
  /// `plan`.
  package func rawValue(
    of id: ObjectID, entity: Int, attribute: Int, within plan: FetchPlan?
  ) throws(StoreError) -> RawValue? {
    if let plan, try object(id, of: plan) == nil { return nil }
    let table = composer.schema.entities[entity]
    guard table.key.bindings(of: id) != nil else { return nil }
    let column = table.column(ofAttribute: attribute)
    let restriction = IDRestriction(key: table.key, ids: [id])
    let name = composer.schema.dialect.output(quoted(column.name), column.output)
    let sql =
      "SELECT \(name), \(table.key.idExpression(nil)) FROM \(table.quotedName) "
      + "WHERE \(restriction.condition(nil))"
      + composer.restriction(to: entity)
    var value: RawValue?
    try run(FetchStatement(SQLFragment(sql, bindings: restriction.bindings))) { row in
      guard row.admits(row.byteCount, after: 0) else { return false }
      // The condition may find an id that is written in another form.
      guard row.id(at: 1) == id else { return true }
      // SQLite stores text in a BLOB column as well.
      let isText = column.type == .binary && !row.isBinary(0)
      let bytes = row.rawBytes(0).map { column.shownText(of: row) ?? $0 }
      value = RawValue(bytes: bytes, type: isText ? .string : column.type)
      return false
    }
    return value
  }
}

extension Column {
  /// Returns a date, a boolean or a double as items show it, without quotes. Returns nil for other types,
  /// and for a stored value of another type.
  fileprivate func shownText(of row: some ResultRow) -> [UInt8]? {
    let format: ValueFormat? =
      switch type {
      case .date: dateFormat.map { .date($0) }
      case .boolean: .boolean
      case .double: .number
      case .integer, .decimal, .string, .binary, .uuid, .uri, .json: nil
      }
    guard let format, !row.isBinary(0) else { return nil }
    var json: [UInt8] = []
    row.append(0, format, to: &json)
    guard json.first == 0x22 else { return json }
    return json.contains(0x5C) ? nil : Array(json.dropFirst().dropLast())
  }
}
