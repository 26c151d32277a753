// Parameterized plans → SQL statements, composed once for each connection. The SQL depends on the
// positions of a plan's parameters and not on their values, so another fetch with the same plan
// only binds its own values.

import FetchModel
import SQLComposer
import SQLResults

/// The prepared plans of one connection.
struct PreparedPlanCache {
  /// The most plans. Clients determine them. Beyond this number, all statements are dropped.
  private static let capacity = 256

  private var composed: [ObjectIdentifier: PreparedPlan] = [:]
  /// The homogeneous columns at the time of composition.
  private var homogeneous: Set<ColumnPlace> = []

  /// Returns the statements of `parameterized`.
  ///
  /// - Parameter compose: Called for a new plan.
  mutating func composed(
    _ parameterized: ParameterizedPlan, homogeneous: Set<ColumnPlace>, _ compose: () -> PreparedPlan
  ) -> PreparedPlan {
    if homogeneous != self.homogeneous {
      composed.removeAll()
      self.homogeneous = homogeneous
    }
    if let known = composed[ObjectIdentifier(parameterized)] { return known }
    if composed.count >= Self.capacity { composed.removeAll() }
    let new = compose()
    composed[ObjectIdentifier(parameterized)] = new
    return new
  }
}

/// A parameterized plan's statements on one connection.
final class PreparedPlan {
  /// Retained, so that no other object can get its address, by which the cache finds it.
  private let parameterized: ParameterizedPlan
  /// The plan, with markers in place of values.
  var plan: FetchPlan { parameterized.plan }
  /// The kind of its items if they are cached. Then the rows hold only ids and order values.
  let kind: ItemKind?
  var items: CachedRows?
  let window: StatementTemplate
  /// The same statement with one more row and without an order among ties; nil if that saves
  /// nothing.
  var tieOrdered: StatementTemplate?
  /// True if SQLite sorted the window's rows, so that the tie-ordered statement may avoid the sort.
  var sortsRows = false

  init(_ parameterized: ParameterizedPlan, composer: FetchComposer, cachesItems: Bool) {
    self.parameterized = parameterized
    let plan = parameterized.plan
    kind = cachesItems ? plan.cachedKind(composer.schema) : nil
    let place = kind == nil ? ItemPlace.inRows : .apart
    window = StatementTemplate(
      composer.window(of: plan, extra: plan.isCapped ? 1 : 0, items: place), parameterized.markers)
    if kind != nil, plan.canOrderTies {
      tieOrdered = StatementTemplate(
        composer.window(of: plan, extra: 1, items: .apart, order: .terms), parameterized.markers)
    }
  }
}

/// A statement with markers in place of some bindings.
struct StatementTemplate {
  private let statement: FetchStatement
  /// The indexes of the bindings that are markers, and of the values that replace them.
  private let places: [(binding: Int, marker: Int)]

  init(_ statement: FetchStatement, _ markers: [Value]) {
    self.statement = statement
    let markers = markers.map { SQLValue($0, nil) }
    places = statement.bindings.enumerated().compactMap { index, value in
      markers.firstIndex(of: value).map { (index, $0) }
    }
  }

  /// Returns the statement with `values` in place of the markers.
  func filled(with values: [Value]) -> FetchStatement {
    var bindings = statement.bindings
    for place in places { bindings[place.binding] = SQLValue(values[place.marker], nil) }
    return statement.binding(bindings)
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
