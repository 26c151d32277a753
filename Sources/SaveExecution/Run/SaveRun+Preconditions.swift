// The preconditions of a change: the object's ETag, its values, or its existence.

import FetchModel
import SQLComposer

extension SaveRun {
  enum PreconditionResult {
    /// The change may be made.
    case holds
    /// The change is not made: a problem was reported, or the merge policy keeps the stored object.
    case ends
  }

  /// Compares a change with the stored object. Removes the values for which the merge policy keeps
  /// the stored ones.
  mutating func check(
    _ change: inout Change, at index: Int, id: ObjectID, key: [SQLValue]
  ) throws(StoreError) -> PreconditionResult {
    switch change.precondition {
    case .none: return .holds
    case .absent:
      guard try isVisible(change, id, key) else { return .holds }
      return try end(change, at: index, id: id, "there is such an object already")
    case .present:
      guard case .replace = change.operation, try !isVisible(change, id, key) else { return .holds }
      return try end(change, at: index, id: id, "there is no such object")
    case .etag(let tags):
      guard request.mergePolicy != .overwrite else { return .holds }
      return try check(tags, change, at: index, id: id, key: key)
    case .base(let base):
      guard request.mergePolicy != .overwrite else { return .holds }
      return try check(base, &change, at: index, id: id)
    }
  }

  /// True if the object of a change exists and the caller may read it.
  private func isVisible(
    _ change: Change, _ id: ObjectID, _ key: [SQLValue]
  ) throws(StoreError) -> Bool {
    guard mayRead(id, of: change.entity) else { return false }
    return try exists(key, in: table(change.entity))
  }

  private mutating func check(
    _ tags: [String], _ change: Change, at index: Int, id: ObjectID, key: [SQLValue]
  ) throws(StoreError) -> PreconditionResult {
    let access = request.access
    let hidden = executor.schema.hiddenColumns(of: change.entity, in: executor.model) {
      access?.hidden[$0] ?? []
    }
    let sql = statements.etag(of: table(change.entity), hiding: hidden)
    if mayRead(id, of: change.entity), let row = try connection.row(sql, key) {
      if case .text(let stored)? = row.first, tags.contains(stored) { return .holds }
    } else if case .replace = change.operation {
      return try end(change, at: index, id: id, "there is no such object")
    } else {
      reportMissing(at: index)
      return .ends
    }
    return try end(change, at: index, id: id, "another save changed the object since")
  }

  /// Reports that the stored object differs from the expected one, with both versions.
  private mutating func end(
    _ change: Change, at index: Int, id: ObjectID, _ detail: String
  ) throws(StoreError) -> PreconditionResult {
    var problem = ChangeProblem(change: index, code: .changed, detail: detail)
    problem.stored = try storedObject(id, entity: change.entity)?.json
    if case .delete = change.operation {} else { problem.given = json(of: change) }
    append(problem)
    failedPrecondition = problem
    return .ends
  }

  private mutating func append(_ problem: ChangeProblem) {
    progress[problem.change] = .failed
    add(problem)
  }

  /// Returns the object as JSON, as its caller reads it; nil if it does not exist.
  ///
  /// - Parameter selection: nil selects its attributes and to-one relationships.
  private func storedObject(
    _ id: ObjectID, entity: Int, selection: [SelectedValue]? = nil
  ) throws(StoreError) -> Row? {
    let model = executor.model
    let plan = FetchPlan(
      definition: ResultDefinition(entity: entity, predicate: .everything),
      selection: selection
        ?? FetchResolver(model: request.access?.model ?? model, maxItems: 1)
        .defaultSelection(of: entity))
    let statement = FetchComposer(model: model, schema: executor.schema)
      .rows(of: plan.restricted(by: request.access), ids: [id], at: .now)
    return try connection.rows(of: statement).first?.row
  }
}

// MARK: - Values expected by the client

extension SaveRun {
  /// Reads the values with which `base` is compared, before the first change: an earlier change of the
  /// save could make members of a relationship readable.
  func storedBases(
    _ readable: Set<SavePermissions.Object>
  ) throws(StoreError) -> [Int: Row] {
    var rows: [Int: Row] = [:]
    for (index, change) in request.changes.enumerated() {
      guard case .base(let base) = change.precondition, let id = change.namedID,
        readable.contains(.init(entity: change.entity, id: id))
      else { continue }
      rows[index] = try storedValues(of: base, entity: change.entity, id: id)
    }
    return rows
  }

  private func storedValues(
    of base: [PropertyValue], entity index: Int, id: ObjectID
  ) throws(StoreError) -> Row? {
    let entity = executor.model.entities[index]
    let selection = base.map { $0.property.selected(of: entity, at: index) }
    return try storedObject(id, entity: index, selection: selection)
  }

  private mutating func check(
    _ base: [PropertyValue], _ change: inout Change, at index: Int, id: ObjectID
  ) throws(StoreError) -> PreconditionResult {
    let entity = executor.model.entities[change.entity]
    let stored =
      if let permissions {
        permissions.bases[index]
      } else {
        try storedValues(of: base, entity: change.entity, id: id)
      }
    guard let row = stored else {
      reportMissing(at: index)
      return .ends
    }
    var differing: Set<Property> = []
    for (value, range) in zip(base, row.values) {
      let stored = Array(row.json[range])
      if value.isSame(as: stored, in: entity) { continue }
      differing.insert(value.property)
      guard request.mergePolicy == .error else { continue }
      let given = change.values.first { $0.property == value.property }
      if let given, given.isSame(as: stored, in: entity) { continue }
      reportConflict(given ?? value, stored: stored, entity, at: index)
    }
    guard progress[index] != .failed else { return .ends }
    guard request.mergePolicy == .storeWins, !differing.isEmpty else { return .holds }
    change.values.removeAll { value in
      if differing.contains(value.property) { return true }
      // A derived text goes with its source.
      guard case .attribute(let index) = value.property,
        case .text(_, let source)? = entity.attributes[index].declaration?.derivation,
        let property = entity.property(named: source)
      else { return false }
      return differing.contains(property)
    }
    guard case .delete = change.operation else { return .holds }
    progress[index] = .done
    return .ends
  }

  private mutating func reportConflict(
    _ value: PropertyValue, stored: [UInt8], _ entity: Entity, at index: Int
  ) {
    let name = entity.name(of: value.property)
    var given: [UInt8] = []
    append(value, of: entity, to: &given)
    append(
      ChangeProblem(
        change: index, property: name, code: .changed,
        detail: "another save changed `\(name)` since", stored: stored, given: given))
  }
}

extension Property {
  fileprivate func selected(of entity: Entity, at index: Int) -> SelectedValue {
    let source: SelectedValue.Source
    switch self {
    case .id: source = .path(PropertyPath(root: index, target: .object))
    case .attribute(let attribute):
      source = .path(PropertyPath(root: index, target: .attribute(attribute)))
    case .relationship(let relationship):
      let path = PropertyPath(root: index, steps: [relationship], target: .object)
      source = entity.relationships[relationship].isToMany ? .ids(path) : .path(path)
    }
    return SelectedValue(key: entity.name(of: self), source: source)
  }
}

extension Entity {
  func name(of property: Property) -> String {
    switch property {
    case .id: "id"
    case .attribute(let index): attributes[index].name
    case .relationship(let index): relationships[index].name
    }
  }
}

extension PropertyValue {
  /// True if the property's stored JSON has the same meaning as this value.
  fileprivate func isSame(as stored: [UInt8], in entity: Entity) -> Bool {
    guard let stored = try? JSON(stored: stored) else { return false }
    switch content {
    case .attribute(let attribute, let value):
      return value.isSame(as: stored, entity.attributes[attribute])
    case .toOne(_, nil): return stored == .null
    case .toOne(_, .id(let id)?): return id.isSame(as: stored)
    case .toOne(_, .inserted?): return false
    case .toMany(let relationship, let edit):
      guard case .all(let references) = edit, case .array(let stored) = stored else { return true }
      if entity.relationships[relationship].isOrdered {
        return references.count == stored.count
          && zip(references, stored).allSatisfy { reference, json in
            if case .id(let id) = reference { id.isSame(as: json) } else { false }
          }
      }
      let ids = Set(references)
      return ids.count == stored.count
        && stored.allSatisfy { json in
          json.integer.map { ids.contains(.id(.integer($0))) } ?? false
            || json.string.map { ids.contains(.id(.text($0))) } ?? false
        }
    }
  }
}

extension ObjectID {
  fileprivate func isSame(as json: JSON) -> Bool {
    switch self {
    case .integer(let id): json.integer == id
    // `ObjectID` compares texts byte by byte; `String` equates a letter and its decomposition.
    case .text: json.string.map(ObjectID.text) == self
    }
  }
}

extension Value {
  fileprivate func isSame(as stored: JSON, _ attribute: Attribute) -> Bool {
    switch (self, stored) {
    case (.null, _): return stored == .null
    case (.json(let text), _):
      guard let json = try? JSON(parsing: Array(text.utf8)) else { return false }
      return json.inOrder == stored.inOrder
    case (_, .number(let text)) where attribute.type == .decimal:
      return number.flatMap { DecimalDigits($0) } == DecimalDigits(text)
    case (_, .null): return false
    default: return Value(stored, of: attribute) == self
    }
  }

  private var number: String? {
    switch self {
    case .integer(let integer): integer.description
    case .double(let double): double.description
    case .string(let text): text
    case .null, .boolean, .date, .binary, .json, .id: nil
    }
  }
}

extension JSON {
  /// A normal form that is equal for JSON of the same value: members are sorted, the last of several with
  /// the same name counts, and 1.0 becomes 1. Names are compared byte by byte.
  fileprivate var inOrder: JSON {
    switch self {
    case .null, .boolean, .string: self
    case .number(let text): .number(DecimalDigits(text)?.text ?? text)
    case .array(let elements): .array(elements.map(\.inOrder))
    case .object(let members):
      .object(
        Dictionary(
          members.map { (Array($0.name.utf8), $0.value.inOrder) }, uniquingKeysWith: { $1 }
        )
        .sorted { $0.key.lexicographicallyPrecedes($1.key) }
        .map { Member(name: String(decoding: $0.key, as: UTF8.self), value: $0.value) })
    }
  }
}
