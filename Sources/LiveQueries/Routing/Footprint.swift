// Plan → which properties of which objects its answer depends on.

import FetchModel

/// What a live query looks at, by the way from its objects.
struct Footprint {
  /// The objects at the end of one way, and what is looked at of them.
  struct Reach {
    /// From the fetch's entity; empty for its objects themselves.
    let steps: [Int]
    let entity: Int
    var mask: PropertyMask
  }

  /// The fetch's own objects come first.
  private(set) var reaches: [Reach]

  init(of plan: FetchPlan, in model: Model) {
    reaches = [Reach(steps: [], entity: plan.definition.entity, mask: .existence)]
    for path in plan.definition.paths { add(path, model) }
    for path in plan.expansion { add(path, model, isWhole: true) }
    for value in plan.selection {
      switch value.source {
      case .path(let path), .ids(let path): add(path, model)
      case .etag: reaches[0].mask = .all
      }
    }
  }

  /// - Parameter isWhole: whether the objects along the way are looked at as a whole.
  private mutating func add(_ path: PropertyPath, _ model: Model, isWhole: Bool = false) {
    var entity = path.root
    for (index, step) in path.steps.enumerated() {
      add(Array(path.steps[..<index]), entity, model.entities[entity].mask(of: .relationship(step)))
      entity = model.entities[entity].relationships[step].destination
      if isWhole { add(Array(path.steps[...index]), entity, .all) }
    }
    var mask = PropertyMask.existence
    if case .attribute(let index) = path.target {
      mask.formUnion(model.entities[entity].mask(of: .attribute(index)))
    }
    add(path.steps, entity, mask)
  }

  private mutating func add(_ steps: [Int], _ entity: Int, _ mask: PropertyMask) {
    if let known = reaches.firstIndex(where: { $0.steps == steps }) {
      reaches[known].mask.formUnion(mask)
    } else {
      reaches.append(Reach(steps: steps, entity: entity, mask: mask.union(.existence)))
    }
  }

  /// What is looked at of the objects that `steps` lead to.
  func mask(at steps: [Int]) -> PropertyMask {
    reaches.first { $0.steps == steps }?.mask ?? []
  }

  /// Whether something of what was touched is looked at.
  ///
  /// - Parameter only: the only object of the fetch's that matters; nil for all.
  func isTouched(by touched: TouchedObjects, only: ObjectID? = nil) -> Bool {
    reaches.contains { reach in
      guard isTouched(reach, by: touched) else { return false }
      guard let only, reach.steps.isEmpty else { return true }
      let mask = touched.entities[reach.entity]?.masks[only]
      return mask.map { !$0.isDisjoint(with: reach.mask) } ?? false
    }
  }

  /// The same of related objects.
  func isTouchedBehindSteps(by touched: TouchedObjects) -> Bool {
    reaches.contains { !$0.steps.isEmpty && isTouched($0, by: touched) }
  }

  private func isTouched(_ reach: Reach, by touched: TouchedObjects) -> Bool {
    touched.entities[reach.entity].map { !$0.union.isDisjoint(with: reach.mask) } ?? false
  }
}
