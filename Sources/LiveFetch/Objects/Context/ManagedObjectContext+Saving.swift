// Saves the changes of a context. After a refusal, all changes are kept; after a success, objects
// get the values that the store computed.

import FetchModel
import Foundation

extension ManagedObjectContext {
  /// Saves all changes as one transaction, to the store or into the parent context.
  ///
  /// The class's rules are checked first, then the store's. New objects get permanent ids in every
  /// context that contains them. Values that the store computed, cascading deletions, derived
  /// attributes and inverse relationships are merged into the objects in memory. A property that is
  /// set again during the save remains unsaved.
  ///
  /// A store with a queue may store the changes to send them later, as an ``OfflineStore`` does: they
  /// are saved for this context then, new objects keep their temporary ids until the server has
  /// answered, and a refusal makes the changes unsaved again. Outside an actor, the answer is
  /// processed by the context's next fetch, merge or save.
  ///
  /// - Returns: the store's answer; nil if there was nothing to save, or if a parent or a queue
  ///   received the changes.
  /// - Throws: ``ContextError/refused(_:)`` with every failure, or ``ContextError/store(_:)``.
  ///   All changes are kept. Nothing was saved, unless the answer of a remote store was lost: the
  ///   error is `unreachable` without a ``ServiceUnavailable/code`` then, and a second call saves them
  ///   once, before changes made since.
  @discardableResult
  public func save(
    isolation: isolated (any Actor)? = #isolation
  ) async throws(ContextError) -> SaveReceipt? {
    await enterSaveQueue(isolation: isolation)
    defer { saveQueue.leave() }
    return try await saveInTurn(isolation: isolation)
  }

  /// Saves, once earlier saves of this context are complete.
  private func saveInTurn(
    isolation: isolated (any Actor)?
  ) async throws(ContextError) -> SaveReceipt? {
    await processAnswers(isolation: isolation)
    guard hasChanges else { return nil }
    let repeated = try await repeatUnansweredSave(isolation: isolation)
    guard hasChanges else { return repeated }
    let linked = insertions.first { layout(of: $0).properties.contains { $0.destination != nil } }
    if let object = linked {
      await learnDestinations(for: type(of: object), isolation: isolation)
    }
    processPendingChanges()
    observers.notify(WillSave(context: self))
    prepareChangedObjects()
    processPendingChanges()
    let failures = validationFailures()
    guard failures.isEmpty else { throw .refused(SaveRefusal(failures: failures)) }
    if let parent {
      push(into: parent)
      return nil
    }
    return try await saveToStore(draft(), isolation: isolation)
  }

  /// Makes the save whose answer was lost first, if there are other changes now.
  ///
  /// - Returns: Its answer; nil if nothing was repeated, or if the store has refused it.
  private func repeatUnansweredSave(
    isolation: isolated (any Actor)?
  ) async throws(ContextError) -> SaveReceipt? {
    guard let unanswered = draftToRepeat() else { return nil }
    do throws(ContextError) {
      return try await saveToStore(unanswered, isolation: isolation)
    } catch {
      guard error.isDefinitive else { throw error }
      // The store has not made it.
      unansweredDraft = nil
      return nil
    }
  }

  /// Calls ``ManagedObject/willSave()`` for the changed objects, and for those that change by that.
  private func prepareChangedObjects() {
    var prepared: Set<ManagedObject> = []
    // Objects that insert others without end are saved as they are.
    for _ in 0..<100 {
      let open = (insertions.elements + updates.elements).filter { !prepared.contains($0) }
      guard !open.isEmpty else { return }
      for object in open where insertions.contains(object) || updates.contains(object) {
        object.willSave()
      }
      prepared.formUnion(open)
    }
  }

  /// Runs `changes` and saves. If either throws, all unsaved changes are discarded. `changes` runs
  /// after a save in progress.
  ///
  /// ```swift
  /// try await context.performChanges {
  ///   let city: City = context.insertObject()
  ///   city.name = "Poseidonis"
  /// }
  /// ```
  @discardableResult
  public func performChanges<Result>(
    isolation: isolated (any Actor)? = #isolation, _ changes: () throws -> Result
  ) async throws -> Result {
    // Wait for earlier saves, so that their failure does not discard these changes.
    await enterSaveQueue(isolation: isolation)
    defer { saveQueue.leave() }
    do {
      let result = try changes()
      _ = try await saveInTurn(isolation: isolation)
      return result
    } catch {
      rollback()
      throw error
    }
  }

  private func saveToStore(
    _ changes: ContextSave, isolation: isolated (any Actor)?
  ) async throws(ContextError) -> SaveReceipt? {
    var draft = changes
    sending = SentChanges(draft)
    defer { endSending() }
    let submitted: SubmittedSave
    do throws(ContextError) {
      submitted = try await send(&draft, isolation: isolation)
    } catch {
      if unansweredSave.body == body(of: draft) { unansweredDraft = draft }
      endFailedSave(draft)
      throw error
    }
    unansweredDraft = nil
    let summary = summary(of: draft)
    var answer: SaveReceipt?
    switch submitted {
    case .made(let receipt):
      answer = receipt
      removeSentValues()
      settle(draft, receipt, summary)
      endSending()
      await readEffects(draft, receipt, isolation: isolation)
    case .queued(let save): keepQueued(draft, save, isolation: isolation)
    }
    processChangesOfTree()
    for case .insertion(let sent) in draft.origins { sent.object.didSave() }
    for case .update(let sent) in draft.origins { sent.object.didSave() }
    observers.notify(summary)
    return answer
  }

  /// Turns the values of an answered save into stored ones.
  func settle(_ draft: ContextSave, _ receipt: SaveReceipt, _ summary: DidSave) {
    saves += 1
    savedToken = receipt.token
    settle(draft, receipt)
    observers.notify(DidSettle(summary, token: receipt.token))
  }

  /// Removes the sent changes of values.
  func removeSentValues() {
    valueChanges.removeFirst(min(sending?.valueCount ?? 0, valueChanges.count))
  }

  private func send(
    _ draft: inout ContextSave, isolation: isolated (any Actor)?
  ) async throws(ContextError) -> SubmittedSave {
    while true {
      do throws(ObjectStoreError) {
        return try await submit(body(of: draft), isolation: isolation)
      } catch {
        let refusal = ContextError(error, draft)
        guard let missing = draft.missing(error) else { throw refusal }
        let updated = draft.updated(missing)
        guard updated.isEmpty || mergePolicy == .storeWins,
          await areGone(updated, isolation: isolation)
        else { throw refusal }
        draft.drop(missing)
      }
    }
  }

  /// True if the store answers that it has none of these objects.
  private func areGone(
    _ objects: [ManagedObject], isolation: isolated (any Actor)?
  ) async -> Bool {
    for (entity, objects) in Dictionary(grouping: objects, by: \.entityName) {
      let ids = objects.compactMap(\.objectID.permanentID)
      guard ids.count == objects.count else { return false }
      for chunk in ids.chunks(of: 1000) {
        let body: [JSON.Member] = [
          .init(name: "entity", value: .string(entity)),
          .init(name: "where", value: .string("SELF IN %@")),
          .init(name: "arguments", value: .array([.array(chunk.map(\.predicateArgument))])),
          .init(name: "as", value: .string("ids")),
        ]
        guard let state = try? await store.state(of: .object(body)).state, !state.isStored,
          state.count == 0
        else { return false }
      }
    }
    return true
  }

  /// Submits a save, under the key of the last one if that is the same and its answer was lost.
  private func submit(
    _ body: JSON, isolation: isolated (any Actor)?
  ) async throws(ObjectStoreError) -> SubmittedSave {
    let save = unansweredSave.begin(body)
    do throws(ObjectStoreError) {
      let submitted = try await store.submit(body, idempotencyKey: save.key)
      unansweredSave.end(save, nil)
      return submitted
    } catch {
      unansweredSave.end(save, error)
      throw error
    }
  }

  /// Waits until no save is in progress whose ids are unknown: changes reported in the meantime may
  /// concern objects with temporary ids. A save that waits in a queue is in progress once the server
  /// may have made it.
  func awaitRunningSave(isolation: isolated (any Actor)?) async {
    let root = root
    while root.isSending {
      await withCheckedContinuation(isolation: isolation) { continuation in
        // The save may have ended on the way here.
        if root.isSending { root.saveWaiters.append(continuation) } else { continuation.resume() }
      }
    }
    await root.awaitQueuedSaves(isolation: isolation)
  }

  func endSending() {
    sending = nil
    let waiting = saveWaiters
    saveWaiters = []
    for continuation in waiting { continuation.resume() }
  }

  func summary(of draft: ContextSave) -> DidSave {
    var summary = DidSave(context: self)
    for origin in draft.origins {
      switch origin {
      case .insertion(let sent): summary.insertedObjects.insert(sent.object)
      case .update(let sent): summary.updatedObjects.insert(sent.object)
      case .deletion(let object): summary.deletedObjects.insert(object)
      case .value: break
      }
    }
    summary.deletedObjects.formUnion(draft.goneObjects)
    return summary
  }

  /// Turns sent values into stored ones.
  private func settle(_ draft: ContextSave, _ receipt: SaveReceipt) {
    givenIDs.merge(receipt.ids)
    // Remove deleted objects before ids are assigned, because SQLite may reuse their ids.
    for case .deletion(let object) in draft.origins { unregisterEverywhere(object) }
    for object in draft.goneObjects { unregisterEverywhere(object) }
    resolveEverywhere(receipt.ids)
    for origin in draft.origins {
      switch origin {
      case .insertion(let sent), .update(let sent): settle(sent, receipt)
      case .deletion, .value: break
      }
    }
  }

  private func settle(_ sent: ContextSave.Sent, _ receipt: SaveReceipt) {
    let object = sent.object
    guard object.managedObjectContext === self else { return }
    for (name, json) in sent.edits {
      let stored = json.resolved { givenIDs[$0] }
      if object.edits[name] == nil, object.row[name] != stored {
        // The edit was discarded during the save.
        object.clearValue(of: name)
        pending.refreshedObjects.insert(object)
      }
      object.row[name] = stored
      if object.edits[name] == stored, object.queued?.edits[name] == nil {
        object.edits[name] = nil
        object.bases[name] = nil
      } else if object.edits[name] != nil {
        object.bases[name] = stored
      }
    }
    for (name, edits) in sent.memberEdits {
      var edits = edits
      edits.resolve { givenIDs[$0] }
      guard object.memberEdits[name] == edits, object.queued?.memberEdits[name] == nil else {
        continue
      }
      let now = object.memberIDs(of: name)
      object.memberEdits[name] = nil
      object.row[name] = now.map { .array($0.map(\.json)) }
    }
    let isNew = object.stage == .inserted
    if isNew {
      insertions.remove(object)
      object.stage = .stored
      for context in branch { context.forgetReferrers(of: object) }
    }
    updates.remove(object)
    if object.stage == .stored, object.hasUnsavedEdits { updates.insert(object) }
    let names = Array(sent.edits.keys) + Array(sent.memberEdits.keys)
    let readTime = ReadTime(saves: saves, token: receipt.token)
    record(readTime, of: names, isNew: isNew, object.row, key(of: object))
  }

  /// Records how recent the saved values of an object are, here and in child contexts. An unsaved value
  /// of a child replaces the saved one from now on.
  private func record(
    _ readTime: ReadTime, of names: [String], isNew: Bool, _ saved: ItemValues, _ key: RegistryKey
  ) {
    if let object = registry[key]?.object {
      object.record(readTime, of: names.filter { object.row[$0] != nil })
      if parent != nil {
        for name in object.bases.keys where isNew || names.contains(name) {
          object.bases[name] = names.contains(name) ? saved[name] : nil
        }
      }
    }
    for child in children { child.context?.record(readTime, of: names, isNew: isNew, saved, key) }
  }

  /// Replaces temporary ids by permanent ones in every context of the tree. A previous object with
  /// such an id was deleted: SQLite reuses the id of a deleted last row.
  func resolveEverywhere(_ ids: [String: ObjectID]) {
    guard !ids.isEmpty else { return }
    for key in root.keysGiven(by: ids) { root.unregister(key) }
    root.resolve(ids)
  }

  private func keysGiven(by ids: [String: ObjectID]) -> Set<RegistryKey> {
    branch.reduce(into: []) { keys, context in
      for (name, id) in ids {
        for key in context.keys(of: .temporary(name)) where context.registry[key] != nil {
          keys.insert(RegistryKey(root: key.root, id: .permanent(id)))
        }
      }
    }
  }

  private func resolve(_ ids: [String: ObjectID]) {
    for object in objects(with: ids) where object.managedObjectContext === self {
      let key = key(of: object)
      object.resolve { ids[$0] }
      guard object.objectID != key.id else { continue }
      registry[RegistryKey(root: key.root, id: object.objectID)] = registry[key]
      registry[key] = nil
    }
    for child in children { child.context?.resolve(ids) }
  }

  /// The objects that have one of these temporary ids, or may refer to one. O(these).
  private func objects(with ids: [String: ObjectID]) -> Set<ManagedObject> {
    var found: Set<ManagedObject> = []
    for (name, permanent) in ids {
      let id = ManagedObjectID.temporary(name)
      let others = referrers.removeValue(forKey: id) ?? []
      for other in others { registerReference(to: .permanent(permanent), from: other) }
      found.formUnion(others)
      found.formUnion(keys(of: id).compactMap { registry[$0]?.object })
    }
    return found
  }

  /// Removes an object that was deleted in the store, here and in child contexts without unsaved changes of
  /// it.
  private func unregisterEverywhere(_ object: ManagedObject) {
    let key = key(of: object)
    // After a reset during the save, the object belongs to no context, or to another one.
    guard object.managedObjectContext === self else { return unregister(key) }
    for child in children { child.context?.handleDeletion(key) }
    // The deletion was discarded during the save.
    if !object.isDeleted { pending.deletedObjects.insert(object) }
    unregister(object, as: .gone)
  }

  private func unregister(_ key: RegistryKey) {
    for child in children { child.context?.unregister(key) }
    guard let object = registry[key]?.object else { return }
    if !object.isDeleted { pending.deletedObjects.insert(object) }
    unregister(object, as: .gone)
    processPendingChanges()
  }
}

extension ManagedObjectContext {
  /// Waits until no other save is in progress.
  fileprivate func enterSaveQueue(isolation: isolated (any Actor)?) async {
    await withCheckedContinuation(isolation: isolation) { saveQueue.enter($0) }
  }
}
