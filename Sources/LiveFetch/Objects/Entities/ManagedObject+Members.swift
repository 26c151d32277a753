// The members of to-many relationships: the stored ones and their unsaved changes.

import FetchModel

extension ManagedObject {
  /// The ids of a to-many relationship with its unsaved changes; nil if they were not fetched.
  func memberIDs(of name: String) -> [ManagedObjectID]? {
    registerRead()
    let edits = memberEdits[name]
    if let all = edits?.all { return all.elements }
    guard let stored = storedMembers(of: name) ?? membersOfUnsavedObject else { return nil }
    guard let edits else { return stored.elements }
    return stored.filter { !edits.removed.contains($0) }
      + edits.added.filter { !stored.contains($0) }
  }

  /// The ids of a relationship's objects; nil if its members were not fetched.
  func relatedIDs(of property: PropertyLayout) -> [ManagedObjectID]? {
    if property.isToMany { return memberIDs(of: property.name) }
    return current(property.name).flatMap(ManagedObjectID.init(json:)).map { [$0] } ?? []
  }

  /// True if the object with this id is a member; nil if the members were not fetched. O(1), except
  /// after a change of the stored members.
  func isMember(_ id: ManagedObjectID, of name: String) -> Bool? {
    registerRead()
    let edits = memberEdits[name]
    if let all = edits?.all { return all.contains(id) }
    guard let stored = storedMembers(of: name) ?? membersOfUnsavedObject else { return nil }
    guard let edits else { return stored.contains(id) }
    return edits.added.contains(id) || stored.contains(id) && !edits.removed.contains(id)
  }

  /// Adds this object to the context's ``ManagedObjectContext/ownersOfLists`` once its row has a list.
  func registerAsOwner() {
    guard !ownsList, let context = managedObjectContext else { return }
    ownsList = row.values.contains { if case .json(.array) = $0 { true } else { false } }
    if ownsList {
      let type = ObjectIdentifier(type(of: self))
      context.ownersOfLists[type, default: [:]][ObjectIdentifier(self)] = WeakObject(object: self)
    }
  }

  /// The stored members; nil if they were not fetched.
  private func storedMembers(of name: String) -> InsertionOrderedSet<ManagedObjectID>? {
    if let known = storedMembers[name] { return known }
    guard case .array(let elements)? = row[name] else { return nil }
    let members = InsertionOrderedSet(elements.compactMap(ManagedObjectID.init(json:)))
    storedMembers[name] = members
    return members
  }

  /// No members for an object that is not stored; nil for every other.
  private var membersOfUnsavedObject: InsertionOrderedSet<ManagedObjectID>? {
    stage == .inserted || stage == .detached ? [] : nil
  }

  /// Changes the members.
  ///
  /// - Parameters:
  ///   - name: the relationship.
  ///   - ids: the members that `edit` adds or removes. O(1) for each.
  ///   - edit: changes the unsaved changes.
  func editMembers(
    of name: String, _ ids: [ManagedObjectID], _ edit: (inout MemberEdits) -> Void
  ) {
    edit(&memberEdits[name, default: MemberEdits()])
    if queued?.memberEdits[name] == nil, !isBeingSaved(name), let stored = storedMembers(of: name) {
      for id in ids { memberEdits[name]?.cancelOut(id, isStored: stored.contains(id)) }
    }
    if memberEdits[name]?.isEmpty == true { memberEdits[name] = nil }
    for id in ids { managedObjectContext?.registerReference(to: id, from: self) }
    notifyContext()
  }

  /// True if a property has an unsaved value.
  func hasEdit(of name: String) -> Bool { edits[name] != nil || memberEdits[name] != nil }
}

extension ManagedObjectContext {
  /// Records the new objects to which an object's values refer.
  func registerReferences(from object: ManagedObject) {
    for json in object.edits.values { registerReferences(in: json, from: object) }
    for edits in object.memberEdits.values {
      for id in edits.all ?? edits.added { registerReference(to: id, from: object) }
    }
    registerStoredReferences(in: object.row, from: object)
  }

  /// Records the new objects to which stored values refer. Only a child context has such values: it
  /// shows the unsaved values of its parents as stored ones.
  func registerStoredReferences(in values: ItemValues, from object: ManagedObject) {
    guard parent != nil else { return }
    for (_, json) in values { registerReferences(in: json, from: object) }
  }

  private func registerReferences(in json: JSON, from object: ManagedObject) {
    if case .array(let elements) = json {
      for element in elements { registerReferences(in: element, from: object) }
    } else {
      registerReference(in: json, from: object)
    }
  }

  /// Records that a value refers to a new object, if it does.
  func registerReference(in json: JSON, from object: ManagedObject) {
    let id = ManagedObjectID(temporaryJSON: json)
    if let id = id ?? (obtainedIDs.isEmpty ? nil : ManagedObjectID(json: json)) {
      registerReference(to: id, from: object)
    }
  }
}

/// The unsaved changes of a to-many relationship.
struct MemberEdits: Equatable {
  /// The complete new list; nil if members were only added and removed.
  var all: InsertionOrderedSet<ManagedObjectID>?
  var added: InsertionOrderedSet<ManagedObjectID> = []
  var removed: InsertionOrderedSet<ManagedObjectID> = []

  var isEmpty: Bool { all == nil && added.isEmpty && removed.isEmpty }

  mutating func insert(_ id: ManagedObjectID) {
    guard all == nil else {
      all?.insert(id)
      return
    }
    removed.remove(id)
    added.insert(id)
  }

  mutating func remove(_ id: ManagedObjectID) {
    guard all == nil else {
      all?.remove(id)
      return
    }
    added.remove(id)
    removed.insert(id)
  }

  func holds(_ id: ManagedObjectID) -> Bool { (all ?? added).contains(id) }

  /// Removes `id` from the edits.
  mutating func dropEdit(of id: ManagedObjectID) {
    all?.remove(id)
    added.remove(id)
  }

  /// Removes the addition of a stored member, and the removal of one that is not stored.
  mutating func cancelOut(_ id: ManagedObjectID, isStored: Bool) {
    if isStored { added.remove(id) } else { removed.remove(id) }
  }

  /// Applies the edits of `later` to these.
  mutating func merge(_ later: MemberEdits) {
    if let all = later.all { self = MemberEdits(all: all) }
    for id in later.removed { remove(id) }
    for id in later.added { insert(id) }
  }

  /// Replaces temporary ids by permanent ones.
  mutating func resolve(_ id: (String) -> ObjectID?) {
    func isResolved(_ member: ManagedObjectID) -> Bool {
      if case .temporary(let name) = member { id(name) != nil } else { false }
    }
    func resolve(_ members: inout InsertionOrderedSet<ManagedObjectID>) {
      guard members.contains(where: isResolved) else { return }
      members = InsertionOrderedSet(
        members.map { member in
          guard case .temporary(let name) = member, let permanent = id(name) else { return member }
          return .permanent(permanent)
        })
    }
    if var all {
      resolve(&all)
      self.all = all
    }
    resolve(&added)
    resolve(&removed)
  }

  /// The edits as a value of a save.
  var json: JSON {
    if let all { return .array(all.map(\.json)) }
    return .object([
      .init(name: "add", value: .array(added.map(\.json))),
      .init(name: "remove", value: .array(removed.map(\.json))),
    ])
  }
}
