// The methods that take a property's name take its key. Each stands twice: for the entity's own
// keys, which need no more than `.name`, and for those of any other enumeration of keys.

extension ManagedObjectType {
  /// The present value as the store would tell it; nil where it is not in memory. A key that no
  /// property of the class declares never is: objects hold what is declared.
  ///
  /// ```swift
  /// city.value(for: .population)  // .number("9733276")
  /// ```
  public func value(for key: Key) -> JSON? { currentValue(key.rawValue) }

  /// The present value as a type of one's own.
  ///
  /// - Throws: ``UnreadableValue`` where the value is none of that type, or is not in memory.
  public func value<Value: AttributeValue>(
    _ type: Value.Type, for key: Key
  ) throws(UnreadableValue) -> Value {
    guard let json = currentValue(key.rawValue) else {
      guard layout[key.rawValue] == nil else { throw UnreadableValue("is not in memory") }
      throw UnreadableValue("is declared by no property of \(Self.self)")
    }
    return try Value.attributeValue(of: json)
  }

  /// Assigns a value by its key. One that the declared property cannot have is not taken: the property
  /// stays as it is, and the next save is refused with a ``ValidationFailure`` of this key unless a
  /// fitting value was assigned by then.
  public func setValue(_ value: some AttributeValue, for key: Key) {
    setValue(value, of: key.rawValue) { value throws(UnreadableValue) in
      let json = try value.attributeJSON()
      if let problem = layout[key.rawValue]?.problem(json) { throw UnreadableValue(problem) }
      return json
    }
    // The declared property may be of another type than `value`.
    values[key.rawValue] = nil
  }

  /// The unsaved values by their keys. A to-many relationship shows what is added and removed.
  public func changedValues() -> [Key: JSON] { changedValues(Key.self) }

  /// The unsaved value of one property; nil where it has none.
  public func changedValue(for key: Key) -> JSON? { changedValuesByName[key.rawValue] }

  /// What the store last told of some properties; of all of them without keys.
  public func committedValues(for keys: [Key] = Array(Key.allCases)) -> [Key: JSON] {
    committedValues(Key.self).filter { keys.contains($0.key) }
  }

  /// What the store last told of one property; nil where it told nothing.
  public func committedValue(for key: Key) -> JSON? { row[key.rawValue] }

  /// Whether an object of the relationship is not in memory: the one of a to-one, any of a to-many.
  public func hasFault(forRelationship key: Key) -> Bool { hasFault(key.rawValue) }
}

extension ManagedObject {
  /// What the object's class declares.
  fileprivate var layout: EntityLayout {
    managedObjectContext?.layout(of: self) ?? EntityLayout(entityType ?? UndeclaredEntity.self)
  }

  /// The unsaved values by keys: for a class whose keys are not its superclass' own.
  public func changedValues<Key: KeyCodable>(_ keys: Key.Type) -> [Key: JSON] {
    Self.keyed(changedValuesByName)
  }

  /// What the store last told, by keys.
  public func committedValues<Key: KeyCodable>(_ keys: Key.Type) -> [Key: JSON] { Self.keyed(row) }

  private static func keyed<Key: KeyCodable>(_ values: [String: JSON]) -> [Key: JSON] {
    Dictionary(
      values.compactMap { name, value in Key(rawValue: name).map { ($0, value) } }
    ) { $1 }
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
    let ids: [ManagedObjectID]
    if property.isToMany {
      guard let members = memberIDs(of: name) else { return true }
      ids = members
    } else {
      ids = current(name).flatMap(ManagedObjectID.init(json:)).map { [$0] } ?? []
    }
    return ids.contains { context.registeredObject(destination, $0) == nil }
  }
}
