// Saves that a store has queued: saved for the context, and settled when the server answers. Until
// then their values stay edits of the objects, so that no older values of the store replace them.

/// The changes of an object that wait in a store's queue.
struct QueuedEdits {
  private struct Part {
    let number: Int
    var edits: [String: JSON] = [:]
    var memberEdits: [String: MemberEdits] = [:]
    var isDeletion = false
  }

  /// One for each save, oldest first.
  private var parts: [Part] = []
  /// The last queued value of each property.
  private(set) var edits: [String: JSON] = [:]
  private(set) var memberEdits: [String: MemberEdits] = [:]

  var isEmpty: Bool { parts.isEmpty }
  /// True if the object is deleted by one of the saves.
  var isDeletion: Bool { parts.contains(where: \.isDeletion) }

  mutating func append(_ sent: ContextSave.Sent, _ number: Int) {
    parts.append(Part(number: number, edits: sent.edits, memberEdits: sent.memberEdits))
    merge()
  }

  mutating func appendDeletion(_ number: Int) {
    parts.append(Part(number: number, isDeletion: true))
  }

  mutating func remove(_ number: Int) {
    parts.removeAll { $0.number == number }
    merge()
  }

  mutating func resolve(_ id: (String) -> ObjectID?) {
    for index in parts.indices {
      parts[index].edits = parts[index].edits.mapValues { $0.resolved(id) }
      for name in parts[index].memberEdits.keys { parts[index].memberEdits[name]?.resolve(id) }
    }
    merge()
  }

  private mutating func merge() {
    edits = parts.reduce(into: [:]) { $0.merge($1.edits) { $1 } }
    memberEdits = parts.reduce(into: [:]) { $0.merge($1.memberEdits) { $1 } }
  }
}

/// A save in a store's queue.
struct QueuedChanges {
  let number: Int
  let draft: ContextSave
  let save: QueuedSave

  /// True if the save was removed from the queue.
  var isRemoved: Bool {
    if case .failure(let error)? = save.answer { error.code == "removed" } else { false }
  }

  var hasInsertions: Bool {
    draft.origins.contains { if case .insertion = $0 { true } else { false } }
  }
}

extension ManagedObject {
  /// True if there are edits other than those that wait in the store's queue.
  var hasUnsavedEdits: Bool {
    guard let queued else { return hasEdits }
    return !unstorable.isEmpty || edits.contains { queued.edits[$0.key] != $0.value }
      || memberEdits.contains { queued.memberEdits[$0.key] != $0.value }
  }

  /// Discards the edits, except those that wait in the store's queue.
  func discardUnqueuedEdits() {
    discardEdits()
    guard let queued else { return }
    (edits, memberEdits) = (queued.edits, queued.memberEdits)
    if stage == .deleted, !queued.isDeletion {
      stage = objectID.isTemporary ? .inserted : .stored
    }
    for name in edits.keys { bases[name] = row[name] ?? .null }
    for name in Array(edits.keys) + Array(memberEdits.keys) { clearValue(of: name) }
  }

  fileprivate func queue(_ change: (inout QueuedEdits) -> Void) {
    change(&queued.orEmpty)
    if queued?.isEmpty == true { queued = nil }
  }
}

extension QueuedEdits? {
  fileprivate var orEmpty: QueuedEdits {
    get { self ?? QueuedEdits() }
    set { self = newValue }
  }
}

extension ManagedObjectContext {
  /// The objects whose changes wait in the store's queue, in the order of the saves.
  var queuedObjects: [ManagedObject] {
    queuedSaves.flatMap { $0.draft.objects }.filter { $0.managedObjectContext === self }
  }

  /// Treats a save as done that the store has queued.
  func keepQueued(
    _ draft: ContextSave, _ save: QueuedSave, isolation: isolated (any Actor)?
  ) {
    let number = (queuedSaves.last?.number ?? 0) + 1
    removeSentValues()
    queuedSaves.append(QueuedChanges(number: number, draft: draft, save: save))
    for origin in draft.origins {
      switch origin {
      case .insertion(let sent), .update(let sent):
        guard sent.object.managedObjectContext === self else { continue }
        sent.object.edits.merge(sent.edits) { now, _ in now }
        sent.object.memberEdits.merge(sent.memberEdits) { now, _ in now }
        sent.object.queue { $0.append(sent, number) }
        sort(sent.object)
      case .deletion(let object):
        object.queue { $0.appendDeletion(number) }
        sort(object)
      case .value: break
      }
    }
    endSending()
    guard let isolation else { return }
    let reference = IsolatedReference(self, on: isolation)
    Task {
      await save.waitUntilAnswered()
      await reference.run { context, isolation in
        await context.processAnswers(isolation: isolation)
      }
    }
  }

  /// Puts an object among the changes that its state calls for.
  private func sort(_ object: ManagedObject) {
    guard object.managedObjectContext === self else { return }
    insertions.remove(object)
    updates.remove(object)
    deletions.remove(object)
    switch object.stage {
    case .inserted where object.queued == nil: insertions.insert(object)
    case .inserted, .stored: if object.hasUnsavedEdits { updates.insert(object) }
    case .deleted: if object.queued?.isDeletion != true { deletions.insert(object) }
    case .detached, .gone: break
    }
  }

  // MARK: - Answers

  /// Settles the answered saves of the queue, and reads what they changed beyond the sent values.
  func processAnswers(isolation: isolated (any Actor)?) async {
    settleAnswered()
    while !settledSaves.isEmpty {
      let (draft, receipt) = settledSaves.removeFirst()
      await readEffects(draft, receipt, isolation: isolation)
    }
    processChangesOfTree()
  }

  /// Waits while the server may have made a queued save with new objects, whose ids are unknown then.
  func awaitQueuedSaves(isolation: isolated (any Actor)?) async {
    settleAnswered()
    while let first = queuedSaves.first, first.hasInsertions, !first.save.isCertain {
      await first.save.waitUntilCertain()
      settleAnswered()
    }
  }

  /// Settles the answered saves of the queue, in their order. Those that were removed from it become
  /// unsaved wherever they stand: the ones before them may wait for long.
  private func settleAnswered() {
    while let index = queuedSaves.firstIndex(where: { $0.isRemoved }) {
      let removed = queuedSaves.remove(at: index)
      for object in removed.draft.objects { object.queue { $0.remove(removed.number) } }
      putBack(removed.draft)
    }
    while let first = queuedSaves.first, let answer = first.save.answer {
      // A closed store answers the rest in its next run.
      if case .failure(.cancelled) = answer { return }
      queuedSaves.removeFirst()
      for object in first.draft.objects { object.queue { $0.remove(first.number) } }
      switch answer {
      case .success(let receipt):
        settle(first.draft, receipt, summary(of: first.draft))
        settledSaves.append((first.draft, receipt))
      case .failure: putBack(first.draft)
      }
    }
  }

  /// Makes the changes of a refused save unsaved again.
  private func putBack(_ draft: ContextSave) {
    var values: [ValueChange] = []
    for origin in draft.origins {
      switch origin {
      case .insertion(let sent):
        if sent.object.stage == .deleted {
          drop(sent.object, as: .gone)
        } else {
          sort(sent.object)
        }
      case .update(let sent): sort(sent.object)
      case .deletion(let object): sort(object)
      case .value(let change): values.append(change)
      }
    }
    // Behind the changes that are being sent, which are removed from the front.
    let sent = min(sending?.valueCount ?? 0, valueChanges.count)
    valueChanges.insert(contentsOf: values, at: sent)
    processChangesOfTree()
  }
}

extension ContextSave {
  fileprivate var objects: [ManagedObject] { origins.compactMap(\.object) }
}

extension JSON {
  /// Replaces a temporary id by its permanent one.
  func resolved(_ permanentID: (String) -> ObjectID?) -> JSON {
    guard case .temporary(let name)? = ManagedObjectID(json: self), let id = permanentID(name)
    else { return self }
    return id.predicateArgument
  }
}
