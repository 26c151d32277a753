// Access to properties by key.

extension ManagedObjectType {
  /// The current value as JSON; nil if it is not in memory or the class does not declare the key.
  ///
  /// ```swift
  /// city.value(for: .population)  // .number("9733276")
  /// ```
  public func value(for key: Key) -> JSON? { currentValue(key.rawValue) }

  /// The current value as a Swift type.
  ///
  /// - Throws: ``UnreadableValue`` if the value does not fit the type or is not in memory.
  public func value<Value: AttributeValue>(
    _ type: Value.Type, for key: Key
  ) throws(UnreadableValue) -> Value {
    guard let json = currentValue(key.rawValue) else {
      guard layout[key.rawValue] == nil else { throw UnreadableValue("is not in memory") }
      throw UnreadableValue("is declared by no property of \(Self.self)")
    }
    return try Value.attributeValue(of: json)
  }

  /// Sets a value by key. A value that the declared property cannot have is ignored, and the next
  /// save is refused with a ``ValidationFailure`` for this key unless a valid value is set first.
  public func setValue(_ value: some AttributeValue, for key: Key) {
    setValue(value, of: key.rawValue) { value throws(UnreadableValue) in
      let json = try value.attributeJSON()
      if let problem = layout[key.rawValue]?.problem(json) { throw UnreadableValue(problem) }
      return json
    }
    // The declared property may have another type than `value`.
    values[key.rawValue] = nil
  }

  /// The unsaved values by key. A to-many relationship shows added and removed members.
  public func changedValues() -> [Key: JSON] {
    Dictionary(
      changedValuesByName.compactMap { name, value in Key(rawValue: name).map { ($0, value) } }
    ) { $1 }
  }

  /// The stored value of one property; nil if unknown.
  public func committedValue(for key: Key) -> JSON? { row[key.rawValue] }

  /// True if an object of the relationship is not in memory: the object of a to-one, or any member
  /// of a to-many.
  public func hasFault(forRelationship key: Key) -> Bool { hasFault(key.rawValue) }
}

extension ManagedObject {
  /// The declaration of the object's class.
  fileprivate var layout: EntityLayout {
    managedObjectContext?.layout(of: self) ?? EntityLayout(entityType ?? UndeclaredEntity.self)
  }

  var changedValuesByName: [String: JSON] {
    edits.merging(memberEdits.mapValues(\.json)) { $1 }
  }

  func currentValue(_ name: String) -> JSON? {
    if let ids = memberEdits[name].flatMap({ _ in memberIDs(of: name) }) {
      return .array(ids.map(\.json))
    }
    return current(name)
  }

  func hasFault(_ name: String) -> Bool {
    guard let context = managedObjectContext, let property = context.layout(of: self)[name],
      let destination = property.destination
    else { return false }
    guard let ids = relatedIDs(of: property) else { return true }
    return ids.contains { context.registeredObject(destination, $0) == nil }
  }
}
