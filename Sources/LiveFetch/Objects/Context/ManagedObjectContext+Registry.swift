// Keeps one instance per object id.

import FetchModel

/// Identifies an object by the class of its root entity and its id.
struct RegistryKey: Hashable {
  let root: ObjectIdentifier
  let id: ManagedObjectID

  func hash(into hasher: inout Hasher) {
    // One number hashes faster than several.
    if case .permanent(.integer(let id)) = id {
      hasher.combine(UInt(bitPattern: root) &* 0x9E37_79B9_7F4A_7C15 ^ UInt(truncatingIfNeeded: id))
    } else {
      hasher.combine(root)
      hasher.combine(id)
    }
  }
}

struct WeakObject { weak var object: ManagedObject? }

extension ManagedObjectContext {
  func layout(of type: any ManagedEntity.Type) -> EntityLayout {
    let key = ObjectIdentifier(type)
    if let layout = layouts[key] { return layout }
    let layout = EntityLayout(type)
    layouts[key] = layout
    return layout
  }

  func layout(of object: ManagedObject) -> EntityLayout {
    layout(of: object.entityType ?? UndeclaredEntity.self)
  }

  func registeredObject(
    _ type: any ManagedEntity.Type, _ id: ManagedObjectID
  ) -> ManagedObject? {
    registry[RegistryKey(root: layout(of: type).root, id: id)]?.object
  }

  func register(_ object: ManagedObject, _ layout: EntityLayout) {
    object.managedObjectContext = self
    if root.classes[layout.entityName] == nil { root.classes[layout.entityName] = layout.type }
    registry[RegistryKey(root: layout.root, id: object.objectID)] = WeakObject(object: object)
    object.registerAsOwner()
    if object.hasEdits || parent != nil { registerReferences(from: object) }
    makeRoom()
  }

  /// Removes released objects from the registry if it is large.
  ///
  /// - Parameter count: the number of objects that will be registered next.
  func makeRoom(for count: Int = 0) {
    guard registry.count + count > registryLimit else { return }
    registry = registry.filter { $0.value.object != nil }
    ownersOfLists = ownersOfLists.mapValues { $0.filter { $0.value.object != nil } }
    registryLimit = max(1024, (registry.count + count) * 2)
    registry.reserveCapacity(registry.count + count)
  }

  /// The reason why objects of a class cannot be registered: their entity already has another
  /// class.
  func classProblem(_ layout: EntityLayout) -> String? {
    if let problem = destinationProblem(layout) { return problem }
    guard let known = root.classes[layout.entityName], self.layout(of: known).root != layout.root
    else { return nil }
    return "is no \(layout.type) here: `\(layout.entityName)` is the class \(known) in this context"
  }

  /// Forgets which objects refer to an object that is not new any more.
  func forgetReferrers(of object: ManagedObject) {
    referrers[object.objectID] = nil
    obtainedIDs.remove(object.objectID)
  }

  /// Removes an object from the context.
  func unregister(_ object: ManagedObject, as stage: ManagedObject.Stage) {
    let key = key(of: object)
    if registry[key]?.object === object { registry[key] = nil }
    insertions.remove(object)
    updates.remove(object)
    deletions.remove(object)
    forgetReferrers(of: object)
    ownersOfLists[ObjectIdentifier(type(of: object))]?[ObjectIdentifier(object)] = nil
    object.ownsList = false
    object.stage = stage
    object.queued = nil
    object.related = [:]
    object.managedObjectContext = nil
  }

  /// Returns the object of `item`: the registered one with the item's values, or a new one.
  func register(
    _ item: Item, as type: any ManagedEntity.Type
  ) throws(MaterializationError) -> ManagedObject {
    let layout = layout(of: concreteType(of: item, type))
    if checkedLayout !== layout, let problem = classProblem(layout) {
      throw MaterializationError(entity: layout.entityName, id: item.id, reason: problem)
    }
    checkedLayout = layout
    let key = RegistryKey(root: layout.root, id: .permanent(item.id))
    var values = item.propertyValues
    if !completedItems.isEmpty, let whole = completedItems[key] {
      values = whole.propertyValues.merging(values)
    }
    let readTime = currentReading ?? ReadTime(saves: saves)
    if let object = registry[key]?.object {
      try check(values, layout, item)
      root.update(values, of: key, asOf: readTime)
      return object
    }
    if let problem = layout.problem(in: values) {
      throw MaterializationError(entity: layout.entityName, id: item.id, reason: problem)
    }
    if parent != nil || !children.isEmpty { root.update(values, of: key, asOf: readTime) }
    let object: ManagedObject = layout.type.init()
    object.objectID = .permanent(item.id)
    object.stage = .stored
    object.row = shown(values, of: key)
    object.rowReadTime = readTime
    register(object, layout)
    object.awakeFromFetch()
    return object
  }

  /// Throws if a value does not fit its declared type.
  func check(
    _ values: ItemValues, _ layout: EntityLayout, _ item: Item
  ) throws(MaterializationError) {
    for (name, value) in zip(values.names, values.values) {
      guard let problem = layout[name]?.problem(with: value) else { continue }
      throw MaterializationError(
        entity: layout.entityName, id: item.id, reason: "`\(name)` \(problem)")
    }
  }

  /// The keys that an id may have: one for each hierarchy of classes.
  func keys(of id: ManagedObjectID) -> [RegistryKey] {
    Set(layouts.values.map(\.root)).map { RegistryKey(root: $0, id: id) }
  }

  /// The object of this context with the same identity as one of another context.
  func registeredTwin(of object: ManagedObject) -> ManagedObject? {
    registry[key(of: object)]?.object
  }

  func key(of object: ManagedObject) -> RegistryKey {
    RegistryKey(root: layout(of: object).root, id: object.objectID)
  }

  /// The class of the item's entity: `type` or one of its subclasses.
  func concreteType(of item: Item, _ type: any ManagedEntity.Type) -> any ManagedEntity.Type {
    guard let name = item.entity else { return type }
    if let found = Self.find(name, below: type, depth: 0) { return found }
    root.unlistedEntities[layout(of: type).root, default: []].insert(name)
    return type
  }

  private static func find(
    _ name: String, below type: any ManagedEntity.Type, depth: Int
  ) -> (any ManagedEntity.Type)? {
    if type.entityName == name { return type }
    guard depth < 32 else { return nil }
    for sub in type.subentities where sub != type {
      if let found = find(name, below: sub, depth: depth + 1) { return found }
    }
    return nil
  }

  private static func addNames(of type: any ManagedEntity.Type, to names: inout Set<String>) {
    guard names.insert(type.entityName).inserted else { return }
    for sub in type.subentities { addNames(of: sub, to: &names) }
  }

  /// The names of a type's entity and of the entities that share its ids, if classes declare them or an
  /// object of them was read.
  func familyNames(of type: any ManagedEntity.Type) -> Set<String> {
    let hierarchy = layout(of: type).root
    var names: Set<String> = []
    Self.addNames(of: type, to: &names)
    names.formUnion(root.unlistedEntities[hierarchy] ?? [])
    for layout in layouts.values where layout.root == hierarchy { names.insert(layout.entityName) }
    return names
  }
}

extension Item {
  /// The values without the entity's name.
  var propertyValues: ItemValues {
    var properties = values
    properties["entity"] = nil
    return properties
  }
}

/// The class of an object that declares no entity; it has no properties.
final class UndeclaredEntity: ManagedObject, ManagedEntity {
  static let entityName = ""
}
