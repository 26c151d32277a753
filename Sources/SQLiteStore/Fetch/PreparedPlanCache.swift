// Parameterized plans → SQL statements, composed once for each connection. The SQL depends on the
// positions of a plan's parameters and not on their values, so another fetch with the same plan
// only binds its own values.

import FetchModel
import SQLComposer
import SQLResults

/// The prepared plans of one connection.
struct PreparedPlanCache {
  /// The maximum number of plans. Clients determine them. Beyond this number, all statements are dropped.
  private static let capacity = 256

  private var plans: [ObjectIdentifier: PreparedPlan] = [:]
  /// The homogeneous columns at the time of composition.
  private var homogeneousColumns: Set<EntityAttribute> = []

  /// Returns the statements of `parameterized`.
  ///
  /// - Parameter compose: Called for a new plan.
  mutating func plan(
    _ parameterized: ParameterizedPlan, homogeneousColumns: Set<EntityAttribute>,
    _ compose: () -> PreparedPlan
  ) -> PreparedPlan {
    if homogeneousColumns != self.homogeneousColumns {
      plans.removeAll()
      self.homogeneousColumns = homogeneousColumns
    }
    if let known = plans[ObjectIdentifier(parameterized)] { return known }
    if plans.count >= Self.capacity { plans.removeAll() }
    let new = compose()
    plans[ObjectIdentifier(parameterized)] = new
    return new
  }
}

/// A parameterized plan's statements on one connection.
final class PreparedPlan {
  /// Retained, so that no other object can get its address, by which the cache finds it.
  private let parameterized: ParameterizedPlan
  /// The plan with its parameters.
  var plan: FetchPlan { parameterized.template }
  /// The kind of its items if they are cached. Then the rows hold only ids and order values.
  let kind: ItemKind?
  var items: CachedRows?
  let window: FetchStatement
  /// The same statement with one more row and without an order among ties; nil if that saves
  /// nothing.
  var tieOrdered: FetchStatement?
  /// True if SQLite sorted the window's rows, so that the tie-ordered statement may avoid the sort.
  var sortsRows = false

  init(_ parameterized: ParameterizedPlan, composer: FetchComposer, cachesItems: Bool) {
    self.parameterized = parameterized
    let plan = parameterized.template
    kind = cachesItems ? plan.cachedKind(composer.schema) : nil
    let place = kind == nil ? ItemPlace.inRows : .separate
    window = composer.window(of: plan, extra: plan.isCapped ? 1 : 0, items: place)
    if kind != nil, plan.canOrderTies {
      tieOrdered = composer.window(of: plan, extra: 1, items: .separate, order: .terms)
    }
  }
}

extension FetchPlan {
  /// True if the reader can order the ties itself: the window begins at the first row, there is one
  /// section, and no further data is read for the items. An ascending order does not need this,
  /// because an index also orders the ids of equal values ascending.
  fileprivate var canOrderTies: Bool {
    definition.section == nil && window.offset == 0 && !isCapped && !withDigest
      && definition.order.contains { $0.direction == .descending }
  }
}
