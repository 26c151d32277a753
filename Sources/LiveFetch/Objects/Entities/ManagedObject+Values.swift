// Reading and setting values by name, for the declared properties and the keyed methods.

import FetchModel

extension ManagedObject {
  /// The current value; nil if it is not in memory.
  func current(_ name: String) -> JSON? { edits[name] ?? row[name] }

  func value<Value>(
    of name: String, initial: Value, _ coding: AttributeCoding<Value>
  ) -> Value {
    registerRead()
    if let known = values[name], let value = known as? Value { return value }
    if edits[name] == nil, let index = row.index(of: name),
      let value = coding.unconverted(row.values[index])
    {
      return value
    }
    // The row was validated when it was received; only a new object can lack a value.
    guard let json = current(name), let value = try? coding.decode(json) else { return initial }
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
      notifyContext()
    }
    values[name] = value
  }

  /// Sets a value. A value equal to the stored one is not a change.
  func set(_ json: JSON, of name: String) {
    let wasUnstorable = unstorable[name] != nil
    if wasUnstorable { unstorable[name] = nil }
    guard current(name) != json else {
      if wasUnstorable { notifyContext() }
      return
    }
    values[name] = nil
    related[name] = nil
    if stage == .inserted || stage == .detached {
      edits[name] = json
    } else if row[name] == json, queued?.edits[name] == nil, !isBeingSaved(name) {
      edits[name] = nil
      bases[name] = nil
    } else {
      if bases[name] == nil { bases[name] = row[name] ?? .null }
      edits[name] = json
    }
    managedObjectContext?.registerReference(in: json, from: self)
    notifyContext()
  }

  /// True if a save in progress contains a value of this property.
  func isBeingSaved(_ name: String) -> Bool {
    managedObjectContext?.sending?.contains(name, of: self) == true
  }

  /// Notifies the context of a change.
  func notifyContext() { managedObjectContext?.objectDidChange(self) }

  /// Merges stored values. Unsaved values are kept.
  ///
  /// - Returns: true if a visible value differs.
  @discardableResult
  func merge(_ received: ItemValues) -> Bool {
    var isShown = false
    let differing = received.differing(from: row)
    managedObjectContext?.registerStoredReferences(in: differing, from: self)
    for (name, value) in differing {
      // Members and undeclared values that were not in memory are read, not changed.
      let isRead = row[name] == nil && !isItemProperty(name)
      row[name] = value
      guard edits[name] == nil else { continue }
      values[name] = nil
      releaseRelated(name, except: value)
      isShown = isShown || !isRead
    }
    return isShown
  }

  /// True for a declared attribute or to-one relationship, which is in memory once it is stored.
  private func isItemProperty(_ name: String) -> Bool {
    managedObjectContext?.layout(of: self)[name].map { !$0.isToMany } ?? false
  }

  /// Releases the objects of a relationship that do not belong to it any more.
  private func releaseRelated(_ name: String, except ids: JSON) {
    guard let objects = related[name] else { return }
    guard case .array(let elements) = ids else {
      related[name] = nil
      return
    }
    let kept = Set(elements.compactMap(ManagedObjectID.init(json:)))
    related[name] = objects.filter { object in
      kept.contains(object.objectID) || memberEdits[name]?.holds(object.objectID) == true
    }
  }

  /// Drops the cached value, so that it is decoded again.
  func clearValue(of name: String) {
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
    registerRead()
    guard let json = current(name), let id = ManagedObjectID(json: json) else { return nil }
    return Fault(id: id, owner: self, name: name)
  }

  func setFault<Destination: ManagedEntity>(_ fault: Fault<Destination>?, of name: String) {
    set(fault?.id.json ?? .null, of: name)
    if let object = fault?.object { retain([object], as: name) }
  }

  /// Replaces temporary ids by permanent ones.
  func resolve(_ id: (String) -> ObjectID?) {
    func resolved(_ json: JSON) -> JSON? {
      guard case .temporary(let name)? = ManagedObjectID(json: json) else { return nil }
      return id(name)?.predicateArgument
    }
    queued?.resolve(id)
    for (name, json) in row {
      if let json = resolved(json) { row[name] = json }
      if case .array(let elements) = json, elements.contains(where: { resolved($0) != nil }) {
        row[name] = .array(elements.map { resolved($0) ?? $0 })
      }
    }
    for (name, json) in edits { if let json = resolved(json) { edits[name] = json } }
    for (name, json) in bases { if let json = resolved(json) { bases[name] = json } }
    for name in memberEdits.keys { memberEdits[name]?.resolve(id) }
    if case .temporary(let name) = objectID, let id = id(name) { objectID = .permanent(id) }
  }
}
