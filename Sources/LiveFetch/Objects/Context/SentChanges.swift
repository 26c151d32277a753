// A save on its way: what the store may have made already, whatever becomes of it here meanwhile.

/// What was sent to the store and is not answered yet.
struct SentChanges {
  private var insertions: [ObjectIdentifier: SaveDraft.Sent] = [:]
  private var temporaryNames: Set<String> = []
  /// The insertions that are not wanted any more.
  private(set) var rolledBack: Set<ObjectIdentifier> = []
  /// How many of the context's changes of values were sent, and are still there.
  var valueCount: Int

  init(_ draft: SaveDraft) {
    valueCount = draft.valueCount
    for case .insertion(let sent) in draft.origins {
      insertions[ObjectIdentifier(sent.object)] = sent
      temporaryNames.insert(sent.name)
    }
  }

  /// What was sent of a new object; nil for one that was not sent as new.
  func insertion(of object: ManagedObject) -> SaveDraft.Sent? {
    insertions[ObjectIdentifier(object)]
  }

  /// Whether the store is about to give this new object its id.
  func isNamed(_ id: ManagedObjectID) -> Bool {
    if case .temporary(let name) = id { temporaryNames.contains(name) } else { false }
  }

  /// Remembers that a new object is not wanted where its save is refused, and gives what was sent of it.
  mutating func rollBack(_ object: ManagedObject) -> SaveDraft.Sent? {
    guard let sent = insertion(of: object) else { return nil }
    rolledBack.insert(ObjectIdentifier(object))
    return sent
  }
}

extension ManagedObjectContext {
  var isSending: Bool { sending != nil }

  /// After a save that was not made: forgets the new objects of it that were deleted, or rolled back,
  /// while it was under way.
  func dropUnwanted(_ draft: SaveDraft) {
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
  /// Shows a new object as it was sent.
  fileprivate func discardEdits(since sent: SaveDraft.Sent) {
    for name in Set(edits.keys).union(unstorable.keys) where edits[name] != sent.edits[name] {
      forgetValue(of: name)
    }
    related = related.filter { memberEdits[$0.key] == sent.memberEdits[$0.key] }
    (edits, memberEdits, unstorable) = (sent.edits, sent.memberEdits, [:])
  }

  /// Makes a new object that was changed or deleted while its save is under way what was sent of it.
  func showAgain(_ sent: SaveDraft.Sent) {
    discardEdits(since: sent)
    stage = .inserted
  }
}
