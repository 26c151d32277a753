// Evaluates a request over unsaved objects and sorts them among the stored ones. Values that are
// not in memory are reported, so that the caller can fetch them and try again.

import FetchModel

/// Evaluates objects by their current values.
final class UnsavedEvaluator {
  /// Values that were not in memory.
  struct Missing {
    var objects: [RegistryKey: (type: any ManagedEntity.Type, id: ObjectID)] = [:]
    var members: [(owner: ManagedObject, name: String)] = []

    var isEmpty: Bool { objects.isEmpty && members.isEmpty }
  }

  private let context: ManagedObjectContext
  private let classes: ClassModel
  private let definition: ResultDefinition
  fileprivate let compiled: PredicateEvaluator
  private(set) var missing = Missing()
  /// Retains fetched objects during the evaluation.
  var kept: [ManagedObject] = []

  /// nil if the classes do not declare everything in the request.
  ///
  /// - Parameter section: groups the objects; it precedes the request's order.
  init?<Element>(
    _ request: FetchRequest<Element>, section: SortTerm? = nil, in context: ManagedObjectContext
  ) {
    guard let type = Element.self as? any ManagedEntity.Type else { return nil }
    self.context = context
    classes = ClassModel(
      of: type, layout: { context.layout(of: $0) }, hasTextIDs: { context.hasTextIDs($0) })
    let resolver = FetchResolver(model: classes.model, maxItems: .max)
    let left: Set = ["select", "limit", "offset", "subentities"]
    let body = request.body(section: section).filter { !left.contains($0.name) }
    guard let asked = try? FetchModel.FetchRequest(json: .object(body)),
      let plan = try? resolver.resolve(asked)
    else { return nil }
    definition = plan.definition
    compiled = PredicateEvaluator(
      definition.predicate.condition, model: classes.model,
      columns: ClassComparisonRules(model: classes.model))
  }

  /// The relationship key paths of the order, which stored objects must provide.
  var orderPaths: [String] {
    terms.map(\.path).filter { !$0.steps.isEmpty }.map(classes.model.text)
  }

  /// The section's term and those of the order.
  private var terms: [OrderTerm] { (definition.section.map { [$0] } ?? []) + definition.order }

  /// True if the request includes the object; nil if ``missing`` values prevent a decision.
  func matches(_ object: ManagedObject) -> Bool? {
    compiled.evaluate(UnsavedRow(object: object, evaluator: self))
  }

  func takeMissing() -> Missing {
    defer { missing = Missing() }
    return missing
  }

  // MARK: - Order

  /// The sort key of an object; nil if unknown.
  func place(of object: ManagedObject) -> [UInt8]? {
    place(of: object.objectID) { value(at: $0, of: object) }
  }

  /// The sort key of a stored object.
  func place(of item: Item) -> [UInt8]? {
    place(of: .permanent(item.id)) { path in
      let name = classes.model.text(of: path)
      return name == "SELF"
        ? StoredValue(.id(item.id), nil) : item[name].flatMap { stored($0, at: path) }
    }
  }

  private func place(
    of id: ManagedObjectID, _ value: (PropertyPath) -> StoredValue?
  ) -> [UInt8]? {
    var encoder = OrderKeyEncoder()
    for term in terms {
      guard let value = value(term.path), encoder.append(value, of: term) else { return nil }
    }
    switch id {
    case .permanent(let id): encoder.append(id)
    // After every other object with equal values.
    case .temporary: encoder.appendNil(.last)
    }
    return encoder.bytes
  }

  /// The section of an object; nil if unknown.
  func section(of object: ManagedObject) -> SectionInfo? {
    guard let term = definition.section else { return .unsectioned }
    var encoder = OrderKeyEncoder()
    guard let value = value(at: term.path, of: object), encoder.append(value, of: term) else {
      return nil
    }
    return SectionInfo(section: encoder.bytes[...], term: term, model: classes.model)
  }

  // MARK: - Values

  fileprivate func value(at path: PropertyPath, of object: ManagedObject) -> StoredValue? {
    guard let reached = objects(along: path.steps, from: object, entity: path.root) else {
      return nil
    }
    guard let end = reached.first else { return .null }
    guard case .attribute(let index) = path.target else { return StoredValue(end.objectID) }
    let name = classes.model.entities[classes.model.walk(path).end].attributes[index].name
    if let json = end.currentValue(name) { return stored(json, at: path) }
    return context.storedID(of: end) == nil ? .null : nil
  }

  private func stored(_ json: JSON, at path: PropertyPath) -> StoredValue? {
    if case .null = json { return .null }
    let end = classes.model.entities[classes.model.walk(path).end]
    guard case .attribute(let index) = path.target else {
      return ManagedObjectID(json: json).map(StoredValue.init)
    }
    let attribute = end.attributes[index]
    guard attribute.type != .json else { return nil }
    return Value(json, as: attribute.type).map { StoredValue($0, attribute.dateFormat) }
  }

  /// The distinct objects at the end of a relationship path; nil if one is not in memory.
  fileprivate func objects(
    along steps: [Int], from object: ManagedObject, entity: Int
  ) -> [ManagedObject]? {
    var (reached, entity) = ([object], entity)
    for step in steps {
      let relationship = classes.model.entities[entity].relationships[step]
      entity = relationship.destination
      var next: InsertionOrderedSet<ManagedObject> = []
      var isComplete = true
      // All missing values are reported at once.
      for owner in reached {
        let found = objects(of: owner, relationship, entity)
        isComplete = isComplete && found != nil
        for object in found ?? [] { next.insert(object) }
      }
      guard isComplete else { return nil }
      reached = next.elements
    }
    return reached
  }

  private func objects(
    of owner: ManagedObject, _ relationship: Relationship, _ entity: Int
  ) -> [ManagedObject]? {
    var ids: [ManagedObjectID] = []
    if relationship.isToMany {
      guard let members = owner.memberIDs(of: relationship.name) else {
        missing.members.append((owner, relationship.name))
        return nil
      }
      ids = members
    } else if let id = owner.current(relationship.name).flatMap(ManagedObjectID.init(json:)) {
      ids = [id]
    }
    let type = classes.types[entity]
    let found = ids.compactMap { object(type, $0) }
    return found.count == ids.count ? found : nil
  }

  private func object(_ type: any ManagedEntity.Type, _ id: ManagedObjectID) -> ManagedObject? {
    if let object = context.registerFromParent(type, id) { return object }
    guard let permanentID = id.permanentID else { return nil }
    missing.objects[RegistryKey(root: context.layout(of: type).root, id: id)] = (
      type, permanentID
    )
    return nil
  }
}

/// An object, or a member of a relationship, as a row for the evaluator.
private struct UnsavedRow: EvaluatedRow {
  let object: ManagedObject
  let evaluator: UnsavedEvaluator

  func value(of slot: Int) -> StoredValue? {
    evaluator.value(at: evaluator.compiled.paths[slot].path, of: object)
  }

  func elements(of collection: Int) -> [UnsavedRow]? {
    let collection = evaluator.compiled.collections[collection]
    return evaluator.objects(along: collection.steps, from: object, entity: collection.entity)?.map
    {
      UnsavedRow(object: $0, evaluator: evaluator)
    }
  }
}

extension StoredValue {
  /// An id as a row value; a temporary id equals no other.
  fileprivate init(_ id: ManagedObjectID) {
    switch id {
    case .permanent(let id): self.init(.id(id), nil)
    case .temporary(let name): self = .text("\u{0}" + name)
    }
  }
}
