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
    let values = try members(of: value).filter { $0.name != "id" || $0.value != .null }
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
    let new = try members(of: value)
    let id = try id(in: new)
    var change = ValueChange(entity: Value.entityName, kind: .update(id))
    change.values = (old == nil ? new + NilKeys.members(of: value) : new).filter { $0.name != "id" }
    if let old {
      let before = try members(of: old).filter { $0.name != "id" }
      let names = Set((before + change.values).map(\.name)).sorted()
      let differing = names.filter { name in before.value(name) != change.values.value(name) }
      guard !differing.isEmpty else { return }
      change.base = differing.map { .init(name: $0, value: before.value($0)) }
      change.values = differing.map { [values = change.values] in
        .init(name: $0, value: values.value($0))
      }
    }
    valueChanges.append(change)
  }

  /// Deletes the object with the id of `value` with the next save.
  public func delete<Value: Fetchable & Encodable>(_ value: Value) throws(ContextError) {
    delete(Value.self, with: try id(in: try members(of: value)))
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

  private func members(of value: some Encodable) throws(ContextError) -> [JSON.Member] {
    do throws(UnreadableValue) {
      guard case .object(let members) = try ItemCoding.encode(value) else {
        throw UnreadableValue("is no object")
      }
      return members
    } catch {
      throw .unwritable(error)
    }
  }

  private func id(in members: [JSON.Member]) throws(ContextError) -> ObjectID {
    guard let id = ObjectID(json: members.value("id")) else {
      throw .unwritable(UnreadableValue("has no `id`"))
    }
    return id
  }
}

extension [JSON.Member] {
  /// The value of `name`; null if absent.
  fileprivate func value(_ name: String) -> JSON { first { $0.name == name }?.value ?? .null }
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
  /// - Throws: ``ContextError``. If the answer was lost, a second call with the same values makes the
  ///   batch once, as with ``save(isolation:)``.
  @discardableResult
  public func batchUpdate<Object: ManagedObjectType>(
    _ type: Object.Type, where predicate: FetchPredicate,
    set values: [Object.Key: any AttributeValue],
    isolation: isolated (any Actor)? = #isolation
  ) async throws(ContextError) -> Int {
    var members: [JSON.Member] = []
    for (key, value) in values.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      do throws(UnreadableValue) {
        members.append(.init(name: key.rawValue, value: try value.attributeJSON()))
      } catch {
        throw .unwritable(error)
      }
    }
    let change = [JSON.Member(name: "update", value: .string(type.entityName))]
    let receipt = try await saveBatch(
      change + predicate.members + [.init(name: "values", value: .object(members))],
      isolation: isolation)
    return receipt.updated
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
    let change = [JSON.Member(name: "delete", value: .string(type.entityName))]
    return try await saveBatch(change + predicate.members, isolation: isolation).deleted
  }

  private func saveBatch(
    _ change: [JSON.Member], isolation: isolated (any Actor)?
  ) async throws(ContextError) -> SaveReceipt {
    let body = JSON.object([.init(name: "changes", value: .array([.object(change)]))])
    let save = unansweredSave.begin(body)
    let receipt: SaveReceipt
    do throws(ObjectStoreError) {
      receipt = try await store.save(body, key: save.key)
      unansweredSave.end(save, nil)
    } catch {
      unansweredSave.end(save, error)
      throw ContextError(error, ContextSave())
    }
    saves += 1
    // The batch is made. What cannot be read now is read by the next merge.
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
