// Plans → the statements that read some of their rows by id, composed once for each connection. A
// live fetch runs the same statement after every save that changes its objects.

import FetchModel

/// The composed statements of one connection.
struct RowStatements {
  /// The most plans. Clients determine them. Beyond this number, all statements are dropped.
  private static let capacity = 64

  /// Everything that determines the SQL text; ids and positions are bound.
  fileprivate struct Shape: Hashable {
    let plan: FetchPlan
    let isPast: Bool
    let isMaterialized: Bool
    let extent: IDRestriction.Extent
  }

  private var open: [Shape: RowsTemplate] = [:]
  /// The homogeneous columns at the time of composition.
  private var homogeneous: Set<ColumnPlace> = []

  /// Returns the statement that reads those of `ids` that are in the plan's result at `position`.
  mutating func statement(
    of plan: FetchPlan, ids: Set<ObjectID>, at position: ReadPosition, _ composer: FetchComposer
  ) -> FetchStatement {
    let key = composer.schema.entities[plan.definition.entity].key
    let bindings = IDRestriction(key: key, ids: ids).bindings
    // The parts of a composite key are bound separately, and a marker cannot be a number or a blob.
    guard bindings.count == 1, key.takesAnyText else {
      return composer.rows(of: plan, ids: ids, at: position)
    }
    if composer.homogeneous != homogeneous {
      open.removeAll()
      homogeneous = composer.homogeneous
    }
    let shape = Shape(
      plan: plan, isPast: position != .now, isMaterialized: composer.isPastMaterialized,
      extent: IDRestriction.Extent(ids))
    let open = rows(shape, key, composer)
    guard open.isReusable else { return composer.rows(of: plan, ids: ids, at: position) }
    return open.filled(ids: bindings[0], position)
  }

  private mutating func rows(_ shape: Shape, _ key: Key, _ composer: FetchComposer) -> RowsTemplate
  {
    if let known = open[shape] { return known }
    if open.count >= Self.capacity { open.removeAll() }
    let rows = RowsTemplate(shape, key, composer)
    open[shape] = rows
    return rows
  }
}

/// A statement with markers in place of the ids and of the past position.
private struct RowsTemplate {
  /// Markers are random. The probability that a predicate contains one is 2^-62.
  private static let marker = Int64.random(in: Int64.min..<(.min / 2))

  let statement: FetchStatement
  /// True if the position occurs only among the bindings. For a predicate too deep for one
  /// statement it also occurs in the text of nested statements.
  let isReusable: Bool
  private let idPlaces: [Int]
  private let positionPlaces: [Int]

  init(_ shape: RowStatements.Shape, _ key: Key, _ composer: FetchComposer) {
    let (plan, isPast) = (shape.plan, shape.isPast)
    let markers = (1...shape.extent.fewest).map { index in
      key.idType == .integer
        ? ObjectID.integer(Self.marker + Int64(index)) : .text("\(Self.marker)-\(index)")
    }
    let ids = Set(markers)
    statement = composer.rows(of: plan, ids: ids, at: isPast ? .past(Self.marker) : .now)
    isReusable =
      !isPast
      || statement.isSame(
        as: composer.rows(of: plan, ids: ids, at: .past(Self.marker &- 1)),
        but: (.integer(Self.marker), .integer(Self.marker &- 1)))
    let idMarker = IDRestriction(key: key, ids: ids).bindings.first
    idPlaces = statement.bindings.indices.filter { [statement] in
      statement.bindings[$0] == idMarker
    }
    positionPlaces = statement.bindings.indices.filter { [statement] in
      statement.bindings[$0] == .integer(Self.marker)
    }
  }

  func filled(ids: SQLValue, _ position: ReadPosition) -> FetchStatement {
    var bindings = statement.bindings
    for place in idPlaces { bindings[place] = ids }
    if case .past(let past) = position {
      for place in positionPlaces { bindings[place] = .integer(past) }
    }
    return statement.binding(bindings)
  }
}

extension Key {
  /// True if any text can be an id, so that one marker can represent every id.
  fileprivate var takesAnyText: Bool {
    parts.allSatisfy { $0.form != .real && $0.form != .binary }
  }
}

extension FetchStatement {
  /// True if `other` differs only in one bound value.
  fileprivate func isSame(
    as other: FetchStatement, but difference: (own: SQLValue, other: SQLValue)
  ) -> Bool {
    sql == other.sql && bindings.count == other.bindings.count
      && zip(bindings, other.bindings).allSatisfy { $0 == $1 || ($0, $1) == difference }
  }
}
