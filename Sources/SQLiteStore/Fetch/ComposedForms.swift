// Forms → statements, composed once a connection. What is composed depends on where a form's
// values stand and not on what they are, so another fetch of the form only binds its own.

import FetchModel

/// The composed forms of one connection.
struct ComposedForms {
  /// Forms come from clients: beyond this many, all are forgotten.
  private static let capacity = 256

  private var composed: [ObjectIdentifier: ComposedForm] = [:]
  /// The columns that were known to be uniform when these were composed.
  private var uniform: Set<ColumnPlace> = []

  /// What was composed for `form`.
  ///
  /// - Parameter compose: makes it where it is not known yet.
  mutating func composed(
    _ form: FetchForm, uniform: Set<ColumnPlace>, _ compose: () -> ComposedForm
  ) -> ComposedForm {
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

/// A form's statements on one connection.
final class ComposedForm {
  /// Kept, so that its identity is nobody else's.
  private let form: FetchForm
  /// With markers in place of values.
  var plan: FetchPlan { form.plan }
  /// The kind of its items where they are kept; then the rows hold ids and order alone.
  let kind: ItemKind?
  var items: KeptItems?
  let window: OpenStatement
  /// The same, and one row more, in an order that leaves ties to the reader; nil where that has
  /// no use.
  var brief: OpenStatement?
  /// Whether SQLite was seen to sort the window's rows, so that a brief order may spare that.
  var sortsRows = false

  init(_ form: FetchForm, composer: FetchComposer, keepsItems: Bool) {
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
  /// The bindings that are markers, and which of them.
  private let places: [(binding: Int, marker: Int)]

  init(_ statement: FetchStatement, _ markers: [Value]) {
    self.statement = statement
    let markers = markers.map { SQLValue($0, nil) }
    places = statement.bindings.enumerated().compactMap { index, value in
      markers.firstIndex(of: value).map { (index, $0) }
    }
  }

  /// The statement with `values` in place of the markers.
  func filled(with values: [Value]) -> FetchStatement {
    var bindings = statement.bindings
    for place in places { bindings[place.binding] = SQLValue(values[place.marker], nil) }
    return statement.binding(bindings)
  }
}

extension FetchPlan {
  /// Whether its rows can be put in order while they are read: a window from the first row on, in
  /// one section, of items that need nothing else. An ascending order needs no such thing: there
  /// an index has the ids of equal values in order too.
  fileprivate var mayBeReadBriefly: Bool {
    definition.section == nil && window.offset == 0 && !isCapped && !withDigest
      && definition.order.contains { $0.direction == .descending }
  }
}
