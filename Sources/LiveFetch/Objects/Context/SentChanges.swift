// The changes of a save in progress, from the request until the store's response: which objects and
// properties were sent, and which new objects were rolled back since. The store may already have
// committed them.

/// The changes that were sent and not answered yet.
struct SentChanges {
  /// The sent state of each new object.
  private var insertions: [ObjectIdentifier: ContextSave.Sent] = [:]
  /// The temporary ids of the new objects.
  private var temporaryIDs: Set<String> = []
  /// The sent properties of each object.
  private var sentProperties: [ObjectIdentifier: Set<String>] = [:]
  /// The insertions that were rolled back in the meantime.
  private(set) var rolledBack: Set<ObjectIdentifier> = []
  /// The number of ``ValueChange``s of this save at the front of the context's `valueChanges`; 0 after a
  /// rollback.
  var valueCount: Int

  init(_ draft: ContextSave) {
    valueCount = draft.valueCount
    for origin in draft.origins {
      switch origin {
      case .insertion(let sent):
        insertions[ObjectIdentifier(sent.object)] = sent
        temporaryIDs.insert(sent.name)
        record(sent)
      case .update(let sent): record(sent)
      case .deletion, .value: break
      }
    }
  }

  private mutating func record(_ sent: ContextSave.Sent) {
    sentProperties[ObjectIdentifier(sent.object)] = Set(sent.edits.keys).union(
      sent.memberEdits.keys)
  }

  /// True if a value of this property was sent: the stored value is about to change.
  func contains(_ name: String, of object: ManagedObject) -> Bool {
    sentProperties[ObjectIdentifier(object)]?.contains(name) == true
  }

  /// The sent state of a new object; nil if it was not sent as new.
  func insertion(of object: ManagedObject) -> ContextSave.Sent? {
    insertions[ObjectIdentifier(object)]
  }

  /// True if the store is about to assign an id to this new object.
  func containsInsertion(of id: ManagedObjectID) -> Bool {
    if case .temporary(let name) = id { temporaryIDs.contains(name) } else { false }
  }

  /// Marks a new object as rolled back, and returns its sent state.
  mutating func rollBack(_ object: ManagedObject) -> ContextSave.Sent? {
    guard let sent = insertion(of: object) else { return nil }
    rolledBack.insert(ObjectIdentifier(object))
    return sent
  }
}

extension ManagedObjectContext {
  var isSending: Bool { sending != nil }

  /// Ends a save that failed, and removes its new objects that were deleted or rolled back meanwhile.
  func endFailedSave(_ draft: ContextSave) {
    let rolledBack = sending?.rolledBack ?? []
    sending = nil
    for case .insertion(let sent) in draft.origins {
      let object = sent.object
      guard object.managedObjectContext === self else { continue }
      if object.stage == .deleted {
        drop(object, as: .gone)
      } else if rolledBack.contains(ObjectIdentifier(object)) {
        drop(object, as: .detached)
      }
    }
    processChangesOfTree()
  }
}

extension ManagedObject {
  /// Discards the edits of a new object that were made after it was sent.
  fileprivate func discardEdits(since sent: ContextSave.Sent) {
    for name in edits.keys where edits[name] != sent.edits[name] { clearValue(of: name) }
    for name in unstorable.keys { clearValue(of: name) }
    related = related.filter { memberEdits[$0.key] == sent.memberEdits[$0.key] }
    (edits, memberEdits, unstorable) = (sent.edits, sent.memberEdits, [:])
  }

  /// Restores the sent state of a new object that was changed or deleted during its save.
  func restore(_ sent: ContextSave.Sent) {
    discardEdits(since: sent)
    stage = .inserted
  }
}
