// Parameterized plans → SQL statements, composed once for each connection. The SQL depends on the
// positions of a plan's parameters and not on their values, so another fetch with the same plan
// only binds its own values.

import FetchModel

/// The prepared plans of one connection.
struct PreparedPlanCache {
  /// Clients determine the plans. Beyond this number, all are dropped.
  private static let capacity = 256

  private var composed: [ObjectIdentifier: PreparedPlan] = [:]
  /// The homogeneous columns at the time of composition.
  private var uniform: Set<ColumnPlace> = []

  /// Returns the statements of `form`.
  ///
  /// - Parameter compose: Called for a new plan.
  mutating func composed(
    _ form: ParameterizedPlan, uniform: Set<ColumnPlace>, _ compose: () -> PreparedPlan
  ) -> PreparedPlan {
    if uniform != self.uniform {
      composed.removeAll()
      self.uniform = uniform
    }
    if let known = composed[ObjectIdentifier(form)] { return known }
    if composed.count >= Self.capacity { composed.removeAll() }
    let new = compose()
    composed[ObjectIdentifier(form)] = new
    return new
  }
}

/// A parameterized plan's statements on one connection.
final class PreparedPlan {
  /// Retained, so that no other object can get its identity.
  private let form: ParameterizedPlan
  /// With markers in place of values.
  var plan: FetchPlan { form.plan }
  /// The kind of its items if they are cached; then the rows hold only ids and order values.
  let kind: ItemKind?
  var items: CachedRows?
  let window: OpenStatement
  /// The same statement with one more row and without an order among ties; nil if that saves
  /// nothing.
  var brief: OpenStatement?
  /// True if SQLite sorted the window's rows, so that the tie-ordered statement may avoid the sort.
  var sortsRows = false

  init(_ form: ParameterizedPlan, composer: FetchComposer, keepsItems: Bool) {
    self.form = form
    let plan = form.plan
    kind = keepsItems ? plan.keptKind(composer.schema) : nil
    let place = kind == nil ? ItemPlace.inRows : .apart
    window = OpenStatement(
      composer.window(of: plan, extra: plan.isCapped ? 1 : 0, items: place), form.markers)
    if kind != nil, plan.mayBeReadBriefly {
      brief = OpenStatement(
        composer.window(of: plan, extra: 1, items: .apart, order: .terms), form.markers)
    }
  }
}

/// A statement with markers among its bindings.
struct OpenStatement {
  private let statement: FetchStatement
  /// The bindings that are markers, and the index of each marker.
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
  /// True if the reader can put ties in order: the window begins at the first row, has one section,
  /// and items without further data. An ascending order does not need this, because there an index
  /// orders the ids of equal values as well.
  fileprivate var mayBeReadBriefly: Bool {
    definition.section == nil && window.offset == 0 && !isCapped && !withDigest
      && definition.order.contains { $0.direction == .descending }
  }
}
