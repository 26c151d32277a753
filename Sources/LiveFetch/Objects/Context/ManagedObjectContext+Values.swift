// Saves of `Codable` values, in the same transaction as managed objects, and batch changes.

extension ManagedObjectContext {
  /// Inserts a value with the next save.
  ///
  /// Its `id` becomes the object's id; the store assigns one if there is none or it encodes as
  /// null.
  ///
  /// - Returns: the id to pass to ``permanentID(for:)`` after the save.
  /// - Throws: ``ContextError/unwritable(_:)``.
  @discardableResult
  public func insert<Value: Fetchable & Encodable>(
    _ value: Value
  ) throws(ContextError) -> ManagedObjectID {
    let values = try mappingEncodingErrors { () throws(UnreadableValue) in
      try ItemCoding.members(of: value).filter { $0.name != "id" || $0.value != .null }
    }
    let name = TemporaryNames.next()
    valueChanges.append(
      ValueChange(entity: Value.entityName, kind: .insert(name: name), values: values))
    return .temporary(name)
  }

  /// Updates an object to `value` with the next save.
  ///
  /// - Parameters:
  ///   - value: the new value.
  ///   - old: the value as it was read. If given, only differences are written, and conflicts are
  ///     detected. Otherwise all properties are written, nil ones as null.
  /// - Throws: ``ContextError/unwritable(_:)``, also for a value without an id.
  public func update<Value: Fetchable & Encodable>(
    _ value: Value, from old: Value? = nil
  ) throws(ContextError) {
    let change = try mappingEncodingErrors { () throws(UnreadableValue) in
      try ValueChange(updating: value, from: old)
    }
    if old == nil || !change.values.isEmpty { valueChanges.append(change) }
  }

  /// Deletes the object with the id of `value` with the next save.
  ///
  /// - Throws: ``ContextError/unwritable(_:)``, also for a value without an id.
  public func delete<Value: Fetchable & Encodable>(_ value: Value) throws(ContextError) {
    let id = try mappingEncodingErrors { () throws(UnreadableValue) in
      try ItemCoding.id(in: ItemCoding.members(of: value))
    }
    delete(Value.self, with: id)
  }

  /// Deletes an object by id with the next save; it need not be in memory.
  public func delete<Element: Fetchable>(_ type: Element.Type, with id: ObjectID) {
    if let entity = type as? any ManagedEntity.Type,
      let object = registeredObject(entity, .permanent(id))
    {
      return delete(object)
    }
    valueChanges.append(ValueChange(entity: type.entityName, kind: .delete(id)))
  }

  /// Runs `encode`, and throws its error as ``ContextError/unwritable(_:)``.
  private func mappingEncodingErrors<Value>(
    _ encode: () throws(UnreadableValue) -> Value
  ) throws(ContextError) -> Value {
    do throws(UnreadableValue) { return try encode() } catch { throw .unwritable(error) }
  }
}

// MARK: - Batches

extension ManagedObjectContext {
  /// Sets the same values in every matching object, in the store. Objects in memory show the new
  /// values afterwards, if the store has a history. The context's unsaved changes are not saved.
  ///
  /// ```swift
  /// try await context.batchUpdate(
  ///   Item.self, where: FetchPredicate("due < %@", Date()), set: [.done: true])
  /// ```
  ///
  /// - Returns: the number of changed objects.
  /// - Throws: ``ContextError``. If the answer was lost, call again with the same values: the store makes
  ///   the batch only once, as with ``save(isolation:)``.
  @discardableResult
  public func batchUpdate<Object: ManagedObjectType>(
    _ type: Object.Type, where predicate: FetchPredicate,
    set values: [Object.Key: any AttributeValue],
    isolation: isolated (any Actor)? = #isolation
  ) async throws(ContextError) -> Int {
    var members: [JSON.Member] = []
    for (key, value) in values.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      let json = try mappingEncodingErrors { () throws(UnreadableValue) in try value.attributeJSON()
      }
      members.append(.init(name: key.rawValue, value: json))
    }
    return try await saveBatch(
      .change("update", type.entityName, values: members) + predicate.members,
      isolation: isolation
    ).updated
  }

  /// Deletes every matching object in the store. Objects in memory are reported as deleted, if the
  /// store has a history.
  ///
  /// - Returns: the number of deleted objects, without cascades.
  /// - Throws: as ``batchUpdate(_:where:set:isolation:)``.
  @discardableResult
  public func batchDelete<Element: Fetchable>(
    _ type: Element.Type, where predicate: FetchPredicate,
    isolation: isolated (any Actor)? = #isolation
  ) async throws(ContextError) -> Int {
    try await saveBatch(
      .change("delete", type.entityName) + predicate.members, isolation: isolation
    ).deleted
  }

  private func saveBatch(
    _ change: [JSON.Member], isolation: isolated (any Actor)?
  ) async throws(ContextError) -> SaveReceipt {
    let body = JSON.object([.init(name: "changes", value: .array([.object(change)]))])
    let save = unansweredBatch.begin(body)
    let receipt: SaveReceipt
    do throws(ObjectStoreError) {
      receipt = try await store.save(body, key: save.key)
      unansweredBatch.end(save, nil)
    } catch {
      unansweredBatch.end(save, error)
      throw ContextError(error, ContextSave())
    }
    saves += 1
    root.savedToken = receipt.token
    // The batch is stored, so a failed merge is ignored: the next merge reads the changes.
    try? await mergeChanges(isolation: isolation)
    return receipt
  }
}

extension FetchPredicate {
  /// The predicate as members of a change.
  fileprivate var members: [JSON.Member] {
    [
      .init(name: "where", value: .string(format)),
      .init(name: "arguments", value: .array(arguments)),
    ]
  }
}
