// Computes which properties of which objects a fetch's result depends on.

import FetchModel

/// The properties that a live query reads, grouped by relationship path from its own entity.
struct ReadSet {
  /// The objects at the end of one relationship path, and the properties read of them.
  struct Entry {
    /// Relationship indexes from the fetch's entity; empty for the fetch's own objects.
    let steps: [Int]
    let entity: Int
    var mask: PropertyMask
  }

  /// One entry per relationship path. The first is the fetch's own entity.
  private(set) var entries: [Entry]

  init(of plan: FetchPlan, in model: Model) {
    entries = [Entry(steps: [], entity: plan.definition.entity, mask: .existence)]
    for path in plan.paths(in: model) { add(path, model) }
    for path in plan.expansion { add(path, model, isWhole: true) }
    if plan.selection.contains(where: { $0.source == .etag }) { entries[0].mask = .all }
  }

  /// - Parameter isWhole: true if every property of the objects along the path is read.
  private mutating func add(_ path: PropertyPath, _ model: Model, isWhole: Bool = false) {
    var entity = path.root
    for (index, step) in path.steps.enumerated() {
      add(
        Array(path.steps[..<index]), entity: entity,
        mask: model.entities[entity].mask(of: .relationship(step)))
      entity = model.entities[entity].relationships[step].destination
      if isWhole { add(Array(path.steps[...index]), entity: entity, mask: .all) }
    }
    var mask = PropertyMask.existence
    if case .attribute(let index) = path.target {
      mask.formUnion(model.entities[entity].mask(of: .attribute(index)))
    }
    add(path.steps, entity: entity, mask: mask)
  }

  private mutating func add(_ steps: [Int], entity: Int, mask: PropertyMask) {
    if let known = entries.firstIndex(where: { $0.steps == steps }) {
      entries[known].mask.formUnion(mask)
    } else {
      entries.append(Entry(steps: steps, entity: entity, mask: mask.union(.existence)))
    }
  }

  /// The properties read of the objects at the end of `steps`.
  func mask(at steps: [Int]) -> PropertyMask {
    entries.first { $0.steps == steps }?.mask ?? []
  }

  /// True if a changed property is among those read.
  ///
  /// - Parameter only: restricts the fetch's own objects to this one; nil for all.
  func isAffected(by changed: ChangedObjects, only: ObjectID? = nil) -> Bool {
    entries.contains { entry in
      guard isAffected(entry, by: changed) else { return false }
      guard let only, entry.steps.isEmpty else { return true }
      let mask = changed.entities[entry.entity]?.masks[only]
      return mask.map { !$0.isDisjoint(with: entry.mask) } ?? false
    }
  }

  /// True if a changed property of a related object is among those read.
  func isAffectedAfterSteps(by changed: ChangedObjects) -> Bool {
    entries.contains { !$0.steps.isEmpty && isAffected($0, by: changed) }
  }

  private func isAffected(_ entry: Entry, by changed: ChangedObjects) -> Bool {
    changed.entities[entry.entity].map { !$0.union.isDisjoint(with: entry.mask) } ?? false
  }
}
