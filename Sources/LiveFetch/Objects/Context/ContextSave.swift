// Converts a context's changes into the body of `POST /v1/save`, and its parts back into objects.

/// One save of a context, as sent.
struct ContextSave {
  /// The source of a change in the save.
  enum Origin {
    case insertion(Sent)
    case update(Sent)
    case deletion(ManagedObject)
    case value(ValueChange)

    /// The managed object; nil for a value.
    var object: ManagedObject? {
      switch self {
      case .insertion(let sent), .update(let sent): sent.object
      case .deletion(let object): object
      case .value: nil
      }
    }

    var isDeletion: Bool {
      switch self {
      case .deletion: true
      case .value(let change): if case .delete = change.kind { true } else { false }
      case .insertion, .update: false
      }
    }
  }

  /// An object and its edits as sent.
  struct Sent {
    let object: ManagedObject
    /// The temporary id of an insertion.
    let name: String
    let edits: [String: JSON]
    let memberEdits: [String: MemberEdits]
    let bases: [String: JSON]
  }

  private(set) var origins: [Origin] = []
  private(set) var changes: [JSON] = []

  /// Deleted and changed objects that the store no longer has.
  private(set) var goneObjects: [ManagedObject] = []
  /// The number of changes of values.
  private(set) var valueCount = 0

  /// The deletions and the updates of objects that were refused because an object does not exist; nil if
  /// the refusal has other reasons as well. What an update lacks may be another object, to which a trigger
  /// refers.
  func missing(_ error: ObjectStoreError) -> Set<Int>? {
    guard let errors = error.refusedChanges, !errors.isEmpty else { return nil }
    var missing: Set<Int> = []
    for error in errors {
      let index = error["change"]?.integer.map { Int(clamping: $0) } ?? -1
      guard error["code"]?.string == "no-such-object", error["property"] == nil,
        origins.indices.contains(index)
      else { return nil }
      switch origins[index] {
      case .update, .deletion: break
      case .value where origins[index].isDeletion: break
      case .insertion, .value: return nil
      }
      missing.insert(index)
    }
    return missing
  }

  /// The objects that the changes with these numbers update.
  func updated(_ indices: Set<Int>) -> [ManagedObject] {
    indices.compactMap { index in
      if case .update(let sent) = origins[index] { sent.object } else { nil }
    }
  }

  /// Removes deletions and updates of objects that do not exist any more.
  mutating func drop(_ dropped: Set<Int>) {
    for index in dropped {
      if let object = origins[index].object { goneObjects.append(object) }
    }
    let kept = origins.indices.filter { !dropped.contains($0) }
    (origins, changes) = (kept.map { origins[$0] }, kept.map { changes[$0] })
  }

  var body: [JSON.Member] { [.init(name: "changes", value: .array(changes))] }

  mutating func append(_ origin: Origin, _ change: [JSON.Member]) {
    if case .value = origin { valueCount += 1 }
    origins.append(origin)
    changes.append(.object(change))
  }

  /// Appends an insertion.
  mutating func append(_ object: ManagedObject, _ sent: Sent, _ values: [JSON.Member]) {
    var values = values
    if let id = object.objectID.permanentID {
      values.insert(.init(name: "id", value: id.predicateArgument), at: 0)
    }
    append(
      .insertion(sent),
      .change("insert", object.entityName, temporaryID: sent.name, values: values))
  }

  /// Appends an update with the values that the object was read with. An object that waits in the
  /// store's queue is called by its temporary id.
  mutating func appendUpdate(_ sent: Sent, _ values: [JSON.Member]) {
    let isNew = sent.object.stage == .inserted
    let base = sent.edits.keys.sorted().compactMap { name in
      // Values that a queued insertion leaves to the store are not known.
      (sent.bases[name] ?? (isNew ? nil : .null)).map { JSON.Member(name: name, value: $0) }
    }
    append(
      .update(sent),
      .change(
        "update", sent.object.entityName, id: sent.object.objectID.json, values: values,
        base: base.isEmpty ? nil : base))
  }
}

/// A change of a value that is not a managed object.
struct ValueChange {
  enum Kind {
    case insert(name: String)
    case update(ObjectID)
    case delete(ObjectID)
  }

  let entity: String
  let kind: Kind
  private(set) var values: [JSON.Member]
  private(set) var base: [JSON.Member]?

  var objectID: ManagedObjectID {
    switch kind {
    case .insert(let name): .temporary(name)
    case .update(let id), .delete(let id): .permanent(id)
    }
  }

  init(entity: String, kind: Kind, values: [JSON.Member] = []) {
    (self.entity, self.kind, self.values) = (entity, kind, values)
  }

  /// The update of an object to `value`.
  ///
  /// - Parameter old: the value as it was read: only what differs is written, and conflicts are detected.
  ///   Without it every property is written, nil ones as null.
  init<Value: Fetchable & Encodable>(
    updating value: Value, from old: Value?
  ) throws(UnreadableValue) {
    let new = try ItemCoding.members(of: value, includesNil: old == nil)
    self.init(
      entity: Value.entityName, kind: .update(try ItemCoding.id(in: new)),
      values: new.filter { $0.name != "id" })
    guard let old else { return }
    let before = try ItemCoding.members(of: old)
    let names = Set((before + new).map(\.name)).subtracting(["id"]).sorted()
    let differing = names.filter { before.value($0) != new.value($0) }
    base = differing.map { .init(name: $0, value: before.value($0)) }
    values = differing.map { .init(name: $0, value: new.value($0)) }
  }

  /// The change in the form of `POST /v1/save`.
  var json: [JSON.Member] {
    switch kind {
    case .insert(let name): .change("insert", entity, temporaryID: name, values: values)
    case .update(let id):
      .change("update", entity, id: id.predicateArgument, values: values, base: base)
    case .delete(let id): .change("delete", entity, id: id.predicateArgument)
    }
  }
}

extension [JSON.Member] {
  /// A change of `POST /v1/save`: its action with the entity, and the given parts.
  static func change(
    _ action: String, _ entity: String, id: JSON? = nil, temporaryID: String? = nil,
    values: [JSON.Member]? = nil, base: [JSON.Member]? = nil
  ) -> [JSON.Member] {
    var change = [JSON.Member(name: action, value: .string(entity))]
    if let id { change.append(.init(name: "id", value: id)) }
    if let temporaryID { change.append(.init(name: "temporaryID", value: .string(temporaryID))) }
    if let values { change.append(.init(name: "values", value: .object(values))) }
    if let base { change.append(.init(name: "base", value: .object(base))) }
    return change
  }
}

extension ManagedObjectContext {
  /// The save of all current changes.
  func draft() -> ContextSave {
    var draft = ContextSave()
    let names = insertionNames()
    // To-many changes come last, because they also change the other objects, whose values are
    // compared with their base.
    let plain = updates.filter { $0.memberEdits.isEmpty }
    let early = insertions.filter { plain.isEmpty || $0.memberEdits.isEmpty }
    let late = plain.isEmpty ? [] : insertions.filter { !$0.memberEdits.isEmpty }
    let ordered = early + plain + late + updates.filter { !$0.memberEdits.isEmpty }
    for object in ordered {
      let sent = sent(object, names)
      let values = values(of: sent, names)
      if object.stage == .inserted, object.queued == nil {
        draft.append(object, sent, values)
      } else {
        draft.appendUpdate(sent, values)
      }
    }
    for change in valueChanges { draft.append(.value(change), change.json) }
    for object in deletions {
      draft.append(
        .deletion(object), .change("delete", object.entityName, id: object.objectID.json))
    }
    return draft
  }

  /// The save whose answer was lost, if there are other changes now and none of its own was discarded: it
  /// has to be repeated first, because the store may have made it.
  func draftToRepeat() -> ContextSave? {
    guard let kept = unansweredDraft, unansweredSave.body == body(of: kept),
      kept.changes != draft().changes
    else { return nil }
    let names = insertionNames()
    var values: [JSON] = []
    for origin in kept.origins {
      let isKept =
        switch origin {
        case .insertion(let sent):
          sent.object.stage == .inserted && names[ObjectIdentifier(sent.object)] == sent.name
        case .update(let sent):
          sent.object.managedObjectContext === self && sent.object.stage == .stored
            && sent.edits.keys.allSatisfy { sent.object.edits[$0] != nil }
            && sent.memberEdits.keys.allSatisfy { sent.object.memberEdits[$0] != nil }
        case .deletion(let object):
          object.managedObjectContext === self && object.stage == .deleted
        case .value: true
        }
      guard isKept else { return nil }
      if case .value(let change) = origin { values.append(.object(change.json)) }
    }
    let present = valueChanges.prefix(values.count).map { JSON.object($0.json) }
    return present == values ? kept : nil
  }

  /// The body of a save.
  func body(of draft: ContextSave) -> JSON {
    var body = draft.body
    if mergePolicy != .error {
      body.append(.init(name: "mergePolicy", value: .string(mergePolicy.rawValue)))
    }
    return .object(body)
  }

  /// The temporary id of each insertion, including those that already have a permanent id. The same
  /// insertions have the same names, so that an unchanged save can be recognised.
  private func insertionNames() -> [ObjectIdentifier: String] {
    var names: [ObjectIdentifier: String] = [:]
    for object in insertions {
      names[ObjectIdentifier(object)] =
        object.objectID.isTemporary
        ? object.objectID.description : "\(object.entityName) \(object.objectID)"
    }
    return names
  }

  private func sent(
    _ object: ManagedObject, _ names: [ObjectIdentifier: String]
  ) -> ContextSave.Sent {
    let queued = object.queued
    return ContextSave.Sent(
      object: object, name: names[ObjectIdentifier(object)] ?? "",
      edits: object.edits.filter { queued?.edits[$0.key] != $0.value },
      memberEdits: object.memberEdits.filter { queued?.memberEdits[$0.key] != $0.value },
      bases: object.bases.merging(queued?.edits ?? [:]) { $1 })
  }

  /// The values of a change. Objects of the same save are referred to by temporary id.
  private func values(
    of sent: ContextSave.Sent, _ names: [ObjectIdentifier: String]
  ) -> [JSON.Member] {
    let layout = layout(of: sent.object)
    func link(_ json: JSON, _ name: String) -> JSON {
      guard let destination = layout[name]?.destination, let id = ManagedObjectID(json: json),
        let target = registeredObject(destination, id),
        let called = names[ObjectIdentifier(target)]
      else { return json }
      return ManagedObjectID.temporary(called).json
    }
    var members: [JSON.Member] = []
    for (name, json) in sent.edits.sorted(by: { $0.key < $1.key }) {
      members.append(.init(name: name, value: link(json, name)))
    }
    for (name, edits) in sent.memberEdits.sorted(by: { $0.key < $1.key }) {
      members.append(.init(name: name, value: edits.json.mappingElements { link($0, name) }))
    }
    return members
  }
}

extension JSON {
  /// This value with every element of its lists mapped: `[…]`, or `{"add":[…],"remove":[…]}`.
  fileprivate func mappingElements(_ map: (JSON) -> JSON) -> JSON {
    switch self {
    case .array(let elements): .array(elements.map(map))
    case .object(let members):
      .object(members.map { Member(name: $0.name, value: $0.value.mappingElements(map)) })
    case .null, .boolean, .number, .string: self
    }
  }
}
