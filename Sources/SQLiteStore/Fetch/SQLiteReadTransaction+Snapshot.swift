// A plan → the bytes of its snapshot.

import FetchModel

extension SQLiteReadTransaction {
  func snapshot(of plan: FetchPlan) throws(StoreError) -> EncodedSnapshot {
    if plan.shape == .count { return try countSnapshot(of: plan) }
    if plan.tabulation != nil { return try dictionariesSnapshot(of: plan) }
    var writer = SnapshotWriter(plan: plan, model: composer.model)
    if plan.window.limit != 0 {
      if let kind = plan.cachedKind(composer.schema), token != .unfollowed {
        try writeCached(plan, kind, with: &writer)
      } else {
        try write(composer.window(of: plan, extra: plan.isCapped ? 1 : 0), with: &writer)
      }
    }
    let total = plan.withTotal ? try total(of: plan.definition) : nil
    let included =
      plan.expansion.isEmpty
      ? nil : included(try expandedObjects(of: plan, roots: writer.ids, at: .now))
    try connection.checkAnswer(writer.size + (included?.count ?? 0))
    return EncodedSnapshot(
      json: writer.finish(token: token, total: total, included: included), token: token,
      count: writer.count)
  }

  /// Writes the rows of a statement that reads whole items.
  func write(
    _ statement: FetchStatement, with writer: inout SnapshotWriter
  ) throws(StoreError) {
    try run(statement) { reader throws(StoreError) in
      let goesOn = writer.add(reader) { reader.appendItem(to: &$0) }
      try connection.checkAnswer(writer.size)
      return goesOn
    }
  }

  private func countSnapshot(of plan: FetchPlan) throws(StoreError) -> EncodedSnapshot {
    var json: [UInt8] = []
    json.append(json: "{\"entity\":")
    json.append(jsonString: composer.model.entities[plan.definition.entity].name)
    json.append(json: ",\"token\":")
    json.append(jsonString: token.description)
    json.append(json: ",\"total\":")
    json.append(json: Int64(try total(of: plan.definition)))
    json.append(0x7D)
    return EncodedSnapshot(json: json, token: token)
  }

  func object(
    _ id: ObjectID, of plan: FetchPlan
  ) throws(StoreError) -> ObjectSnapshot? {
    let table = composer.schema.entities[plan.definition.entity]
    guard let key = table.key.bindings(of: id) else { return nil }
    guard plan.definition.access == nil else {
      return try connection.object(composer.object(id, of: plan), token: token)
    }
    let kind = ItemKind(
      entity: plan.definition.entity, selection: plan.selection,
      integersAsStrings: plan.integersAsStrings)
    let statement = objectStatements.statement(of: kind) { composer.object(id, of: plan) }
    return try connection.object(statement.binding(key: key), token: token)
  }

  func rawValue(
    of id: ObjectID, entity: Int, attribute: Int
  ) throws(StoreError) -> RawValue? {
    let table = composer.schema.entities[entity]
    let column = table.column(ofAttribute: attribute)
    let restriction = IDRestriction(key: table.key, ids: [id])
    let sql =
      "SELECT \(quoted(column.name)) FROM \(table.quotedName) WHERE \(restriction.condition(nil))"
      + composer.restriction(to: entity)
    return try connection.withStatement(sql) { row throws(StoreError) in
      row.bind(restriction.bindings)
      guard try row.step() else { return nil }
      guard connection.admits(row.byteCount(0), behind: 0) else {
        try connection.endIfIncomplete()
        return nil
      }
      let value = row.value(0)
      if case .blob(let bytes) = value { return RawValue(bytes: bytes, type: column.type) }
      return RawValue(
        bytes: value == .null ? nil : Array(row.text(0).utf8), type: column.type)
    }
  }
}
