// Reading and setting values by name, for the declared properties and the keyed methods.

extension ManagedObject {
  /// The current value; nil if it is not in memory.
  func current(_ name: String) -> JSON? { edits[name] ?? row[name] }

  func value<Value>(
    of name: String, initial: Value, _ decode: (JSON) throws(UnreadableValue) -> Value
  ) -> Value {
    if let known = values[name], let value = known as? Value { return value }
    // The row was validated when it was received; only a new object can lack a value.
    guard let json = current(name), let value = try? decode(json) else { return initial }
    values[name] = value
    return value
  }

  func setValue<Value>(
    _ value: Value, of name: String, _ encode: (Value) throws(UnreadableValue) -> JSON
  ) {
    do throws(UnreadableValue) {
      set(try encode(value), of: name)
    } catch {
      unstorable[name] = error
      noteChange()
    }
    values[name] = value
  }

  /// Sets a value. A value equal to the stored one is not a change.
  func set(_ json: JSON, of name: String) {
    unstorable[name] = nil
    guard current(name) != json else { return }
    values[name] = nil
    related[name] = nil
    if stage == .inserted || stage == .detached {
      edits[name] = json
    } else if row[name] == json {
      edits[name] = nil
      bases[name] = nil
    } else {
      if bases[name] == nil { bases[name] = row[name] ?? .null }
      edits[name] = json
    }
    noteChange()
  }

  /// Notifies the context of a change.
  func noteChange() { managedObjectContext?.objectDidChange(self) }

  /// Merges stored values. Unsaved values are kept.
  ///
  /// - Returns: true if a visible value differs.
  @discardableResult
  func take(_ received: [String: JSON]) -> Bool {
    var isShown = false
    for (name, value) in received where row[name] != value {
      row[name] = value
      guard edits[name] == nil else { continue }
      values[name] = nil
      related[name] = nil
      isShown = true
    }
    return isShown
  }

  /// Drops the cached value, so that it is decoded again.
  func forgetValue(of name: String) {
    values[name] = nil
    related[name] = nil
  }

  /// Discards the unsaved values.
  func discardEdits() {
    for name in edits.keys { values[name] = nil }
    for name in unstorable.keys { values[name] = nil }
    related = related.filter { edits[$0.key] == nil && memberEdits[$0.key] == nil }
    edits = [:]
    memberEdits = [:]
    bases = [:]
    unstorable = [:]
  }

  // MARK: - Relationships

  func fault<Destination: ManagedEntity>(of name: String) -> Fault<Destination>? {
    guard let json = current(name), let id = ManagedObjectID(json: json) else { return nil }
    return Fault(id: id, owner: self, name: name)
  }

  func setFault<Destination: ManagedEntity>(_ fault: Fault<Destination>?, of name: String) {
    set(fault?.id.json ?? .null, of: name)
    if let object = fault?.object { related[name] = [object] }
  }

  /// The ids of a to-many relationship with its unsaved changes; nil if they were not fetched.
  func memberIDs(of name: String) -> [ManagedObjectID]? {
    let edits = memberEdits[name] ?? MemberEdits()
    if let all = edits.all { return all }
    let stored: [ManagedObjectID]
    if case .array(let elements)? = row[name] {
      stored = elements.compactMap(ManagedObjectID.init(json:))
    } else if stage == .inserted || stage == .detached {
      stored = []
    } else {
      return nil
    }
    return stored.filter { !edits.removed.contains($0) }
      + edits.added.filter { !stored.contains($0) }
  }

  func editMembers(of name: String, _ edit: (inout MemberEdits) -> Void) {
    var edits = memberEdits[name] ?? MemberEdits()
    edit(&edits)
    if case .array(let stored)? = row[name] {
      let ids = stored.compactMap(ManagedObjectID.init(json:))
      edits.added.removeAll(where: ids.contains)
      edits.removed.removeAll { !ids.contains($0) }
    }
    memberEdits[name] = edits.isEmpty ? nil : edits
    noteChange()
  }

  /// Replaces temporary ids by permanent ones.
  func resolve(_ ids: [String: ObjectID]) {
    func resolved(_ json: JSON) -> JSON? {
      guard case .temporary(let name)? = ManagedObjectID(json: json) else { return nil }
      return ids[name]?.predicateArgument
    }
    for (name, json) in row {
      if let json = resolved(json) { row[name] = json }
      if case .array(let elements) = json {
        row[name] = .array(elements.map { resolved($0) ?? $0 })
      }
    }
    for (name, json) in edits { if let json = resolved(json) { edits[name] = json } }
    for (name, json) in bases { if let json = resolved(json) { bases[name] = json } }
    for name in memberEdits.keys { memberEdits[name]?.resolve(ids) }
    if case .temporary(let name) = objectID, let id = ids[name] { objectID = .permanent(id) }
  }
}

/// The unsaved changes of a to-many relationship.
struct MemberEdits: Hashable {
  /// The complete new list; nil if members were only added and removed.
  var all: [ManagedObjectID]?
  var added: [ManagedObjectID] = []
  var removed: [ManagedObjectID] = []

  var isEmpty: Bool { all == nil && added.isEmpty && removed.isEmpty }

  mutating func insert(_ id: ManagedObjectID) {
    if all?.contains(id) == false { all?.append(id) }
    guard all == nil else { return }
    removed.removeAll { $0 == id }
    if !added.contains(id) { added.append(id) }
  }

  mutating func remove(_ id: ManagedObjectID) {
    all?.removeAll { $0 == id }
    guard all == nil else { return }
    added.removeAll { $0 == id }
    if !removed.contains(id) { removed.append(id) }
  }

  func holds(_ id: ManagedObjectID) -> Bool {
    all?.contains(id) == true || added.contains(id)
  }

  /// Removes `id` from the edits.
  mutating func forget(_ id: ManagedObjectID) {
    all?.removeAll { $0 == id }
    added.removeAll { $0 == id }
  }

  mutating func resolve(_ ids: [String: ObjectID]) {
    func resolved(_ id: ManagedObjectID) -> ManagedObjectID {
      guard case .temporary(let name) = id else { return id }
      return ids[name].map { .permanent($0) } ?? id
    }
    all = all?.map(resolved)
    added = added.map(resolved)
    removed = removed.map(resolved)
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
