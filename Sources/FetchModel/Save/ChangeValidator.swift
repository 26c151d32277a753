// Drafts of changes → changes: names become indexes, and JSON becomes typed values. Problems of a
// change are reported, and its valid parts are passed on to the store, which may find more.

struct ChangeValidator {
  let model: Model
  let rules: ValidationRules
  /// Resolves the `where` of batches.
  private let resolver: FetchResolver
  /// The attributes of each entity that the caller does not see or may not write; empty if there are
  /// none.
  private let protected: [Set<Int>]
  /// By temporary id, the inserts that other changes may refer to.
  private(set) var inserts: [String: (change: Int, entity: String)] = [:]
  private(set) var problems: [ChangeProblem] = []
  /// The reason why the `where` of a batch is refused.
  private(set) var refusedCondition: FetchRequestError?
  private var change = 0

  init(
    resolver: FetchResolver, rules: ValidationRules, protected: [Set<Int>], drafts: [ChangeDraft]
  ) {
    self.resolver = resolver
    model = resolver.model
    self.rules = rules
    self.protected = protected
    for (index, draft) in drafts.enumerated() {
      guard let id = draft.temporaryID else { continue }
      if inserts[id] != nil {
        change = index
        report(.repeatedTemporaryID, nil, "`\(id)` names an earlier insert already")
      } else {
        inserts[id] = (index, Self.statedEntity(draft, model) ?? draft.entity)
      }
      guard let other = Int(id), other.description == id, drafts.indices.contains(other),
        drafts[other].kind == .insert, drafts[other].temporaryID == nil
      else { continue }
      change = index
      report(
        .repeatedTemporaryID, nil, "`\(id)` is what the insert without one at \(other) is called")
    }
  }

  /// The number of failures after which names are not explained by similar ones any more.
  private static let maxHints = 100

  mutating func report(
    _ code: ChangeProblem.Code, _ property: String?, _ detail: String,
    hint: @autoclosure () -> String? = nil
  ) {
    // Finding a similar name takes long.
    let hint = problems.count < Self.maxHints ? hint() : nil
    problems.append(
      ChangeProblem(change: change, property: property, code: code, detail: detail, hint: hint))
  }

  /// Returns the valid parts of `draft` as a change.
  mutating func resolve(_ draft: ChangeDraft, at index: Int) -> Change {
    change = index
    guard let entityIndex = entityIndex(of: draft) else { return Change(.nothing, entity: 0) }
    let entity = model.entities[entityIndex]
    let before = problems.count
    var id: ObjectID?
    var values = values(
      draft.members(besidesIDOf: entity), of: entity, isInsert: draft.kind == .insert, id: &id)
    var protectedDefaults: [PropertyValue] = []
    if draft.kind == .insert || draft.kind == .replace {
      checkMissing(draft, of: entity, at: entityIndex)
      let defaults = defaults(draft, of: entity, at: entityIndex)
      values += defaults.own
      protectedDefaults =
        defaults.protected + rules.derivedValues(of: entity, from: defaults.protected)
    }
    if draft.kind == .insert, entity.inheritance.isAbstract {
      report(.abstractEntity, nil, ChangeProblem.detailOfAbstract(entity))
    }
    values += rules.derivedValues(of: entity, from: values)
    let precondition = precondition(of: draft, entity: entity)
    var change = Change(
      operation(of: draft, entity: entity) ?? .nothing, entity: entityIndex, id: id,
      values: values, precondition: precondition)
    change.protectedDefaults = protectedDefaults
    change.namesEntity = draft.stated != nil && entity.inheritance.discriminator != nil
    if problems.count > before { change.faults = faults(since: before, of: entity) }
    return change
  }

  private func faults(since first: Int, of entity: Entity) -> Set<Property> {
    Set(
      problems[first...].compactMap { problem in
        problem.property.flatMap { entity.property(named: $0) }
      })
  }

  private mutating func operation(of draft: ChangeDraft, entity: Entity) -> Change.Operation? {
    if let condition = draft.condition {
      guard let predicate = predicate(condition, entity) else { return nil }
      return draft.kind == .update
        ? .updateAll(predicate) : .deleteAll(predicate)
    }
    return switch (draft.kind, target(of: draft, entity: entity)) {
    case (.insert, _): .insert(temporaryID: draft.temporaryID)
    case (.update, let target?): .update(target)
    case (.replace, .id(let id)?): .replace(id)
    case (.delete, let target?): .delete(target)
    case (_, _): nil
    }
  }

  private mutating func predicate(
    _ condition: [JSON.Member], _ entity: Entity
  ) -> ResolvedPredicate? {
    do throws(FetchRequestError) {
      let name = JSON.Member(name: "entity", value: .string(entity.name))
      let request = try FetchRequest(json: .object([name] + condition))
      return try resolver.resolve(request).definition.predicate
    } catch {
      refusedCondition = refusedCondition ?? error
      return nil
    }
  }

  private mutating func target(of draft: ChangeDraft, entity: Entity) -> ObjectReference? {
    switch draft.target {
    case .id(let id): .id(id)
    case .json(let json): reference(json, entity: entity, property: "id")
    case nil: nil
    }
  }

  private mutating func precondition(of draft: ChangeDraft, entity: Entity) -> Precondition {
    guard let base = draft.base else { return draft.precondition }
    var id: ObjectID? =
      switch draft.target {
      case .id(let id): id
      case .json(let json): entity.objectID(json)
      case nil: nil
      }
    return .base(values(base, of: entity, isInsert: false, id: &id, isBase: true))
  }

  /// A replacement keeps the values that the caller does not see or may not write.
  private mutating func checkMissing(
    _ draft: ChangeDraft, of entity: Entity, at entityIndex: Int
  ) {
    let given = draft.properties(of: entity)
    for (index, attribute) in entity.attributes.enumerated()
    where !attribute.isOptional && !attribute.hasDefault && attribute.isWritable {
      guard !given.contains(.attribute(index)) else { continue }
      if isProtected(index, of: entityIndex), draft.kind == .replace { continue }
      guard !entity.hiddenAttributes.contains(index) else {
        report(.missing, nil, ChangeProblem.detailOfHidden)
        continue
      }
      report(.missing, attribute.name, "`\(attribute.name)` needs a value")
    }
    for (index, relationship) in entity.relationships.enumerated()
    where !relationship.isOptional && !relationship.isToMany {
      guard !given.contains(.relationship(index)) else { continue }
      report(.missing, relationship.name, "`\(relationship.name)` needs an object")
    }
  }
}

// MARK: - The entity of a change

extension ChangeValidator {
  /// Returns the entity of a change: the one that it names, or the subentity that its values name.
  private mutating func entityIndex(of draft: ChangeDraft) -> Int? {
    let model = model
    guard let index = model.entityIndex(named: draft.entity) else {
      report(
        .unknownEntity, nil, "there is no entity `\(draft.entity.prefix(100))`",
        hint: nearestName(to: draft.entity, among: model.entities.map(\.name)))
      return nil
    }
    let entity = model.entities[index]
    guard entity.isWritable else {
      report(.readOnlyEntity, nil, "`\(entity.name)` is read only")
      return nil
    }
    guard entity.inheritance.discriminator != nil, let stated = draft.stated else { return index }
    return below(entity, at: index, stated)
  }

  /// Returns the entity that an object's values name: `entity` itself or a subentity.
  private mutating func below(_ entity: Entity, at index: Int, _ stated: JSON) -> Int? {
    let kinds = [index] + entity.inheritance.subentities
    guard let name = stated.string else {
      report(
        .wrongType, Inheritance.key, "`entity` takes the name of an entity, not \(stated.kind)")
      return nil
    }
    if let found = kinds.first(where: { model.entities[$0].name == name }) { return found }
    let names = kinds.map { model.entities[$0].name }
    let isEntity = model.entityIndex(named: name) != nil
    report(
      isEntity ? .wrongEntity : .unknownEntity, Inheritance.key,
      isEntity
        ? "`\(name)` is not \(entity.name), nor does it inherit from it"
        : "there is no entity `\(name)`",
      hint: isEntity ? nil : nearestName(to: name, among: names))
    return nil
  }

  /// Returns the entity that an insert's values name.
  private static func statedEntity(_ draft: ChangeDraft, _ model: Model) -> String? {
    guard let index = model.entityIndex(named: draft.entity),
      model.entities[index].inheritance.discriminator != nil
    else { return nil }
    return draft.stated?.string
  }
}

extension ChangeDraft {
  /// The entity's name among the values.
  fileprivate var stated: JSON? { values.first { $0.name == Inheritance.key }?.value }
}

// MARK: - Defaults

extension ChangeValidator {
  /// Returns the model's defaults for attributes that an insert or a replacement omits.
  private func defaults(
    _ draft: ChangeDraft, of entity: Entity, at entityIndex: Int
  ) -> (own: [PropertyValue], protected: [PropertyValue]) {
    var (own, protected): ([PropertyValue], [PropertyValue]) = ([], [])
    guard model.file != nil else { return (own, protected) }
    let given = Set(draft.values.compactMap { entity.property(named: $0.name) })
    for (index, attribute) in entity.attributes.enumerated()
    where attribute.isWritable && !given.contains(.attribute(index)) {
      guard let value = rules.defaultValue(of: attribute) else { continue }
      let content = PropertyValue(.attribute(index, value))
      if isProtected(index, of: entityIndex) {
        protected.append(content)
      } else {
        own.append(content)
      }
    }
    return (own, protected)
  }

  private func isProtected(_ attribute: Int, of entity: Int) -> Bool {
    !protected.isEmpty && protected[entity].contains(attribute)
  }
}

extension ChangeDraft {
  /// The properties that the members set, under their names or an alias.
  fileprivate func properties(of entity: Entity) -> Set<Property> {
    Set(values.compactMap { entity.property(named: $0.name) })
  }

  /// Returns the values without the target's own id, so that an object can be sent back as
  /// received.
  fileprivate func members(besidesIDOf entity: Entity) -> [JSON.Member] {
    let own: ObjectID? =
      switch target {
      case .id(let id): id
      case .json(let json): entity.objectID(json)
      case nil: nil
      }
    guard let own else { return values }
    return values.filter {
      entity.property(named: $0.name) != .id || entity.objectID($0.value) != own
    }
  }
}
