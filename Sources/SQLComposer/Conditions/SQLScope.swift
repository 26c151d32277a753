// The interface between the predicate compiler and the query that it writes into: the SQL of a key
// path's value, and subqueries over the objects of a to-many path. Tables, joins and aliases are
// the scope's own business.

import FetchModel

/// One object in a query that is being composed: the alias of its table and the joins that start
/// from it.
///
/// The compiler requests columns and subqueries while it writes the condition, and puts ``from``
/// and ``correlation`` around the condition afterwards. So a scope may add joins while paths are
/// requested. A condition inside a subquery may still request columns of an outer scope; a join
/// that the outer scope adds then must be visible inside the subquery. Therefore the aliases of a
/// scope made by ``over(_:)`` must differ from every alias that this scope gave **or will give
/// later** (put the scope's depth into the alias).
package protocol SQLScope {
  /// The value that `path` reads, as SQL in this scope.
  ///
  /// All steps are to-one, and `path.root` is this scope's entity. A nil step makes the value NULL
  /// (LEFT JOIN, or a correlated scalar subquery). With target `.object` it is the id of the object
  /// reached; after one step that should be the foreign-key column itself, without a join. The same
  /// path always gives the same SQL.
  mutating func column(_ path: PropertyPath) -> SQLColumn

  /// A scope for one of the objects that `steps` reach from this scope's object.
  ///
  /// The last step is to-many; earlier ones may be either. Each path to an object is a row; a nil
  /// step reaches nothing. The scope's entity is the destination of the last step.
  mutating func over(_ steps: [Int]) -> Self

  /// The dialect of the query.
  var dialect: Dialect { get }

  /// The content of the FROM clause, with every join added so far: `"city" AS t1 LEFT JOIN …`.
  var from: String { get }

  /// The condition that correlates a subquery's rows with the outer scope: `t1."country_id" =
  /// t0."id"`; empty for the outermost scope.
  var correlation: String { get }

  /// SQL for the object's position among the members of the ordered relationship that led here; nil
  /// if the relationship is not ordered.
  var position: String? { get }

  /// Conditions that hold if the objects which are joined so far are readable; empty if nothing
  /// restricts them.
  var readabilities: [String] { get }

  /// True if access rules restrict the query's tables.
  var isRestricted: Bool { get }

  /// True if several rows may hold the same object, as several to-many steps allow.
  var mayRepeat: Bool { get }

  /// True if `path` reads an aggregate over the query's own objects.
  func isAggregate(_ path: PropertyPath) -> Bool
}

extension SQLFragment {
  /// True if the condition calls functions or calculates, which may take long or fail.
  var isCalculation: Bool { ["livefetch_", "::numeric"].contains(where: text.contains) }

  /// The condition, evaluated only if the objects that a scope has joined are readable. Its value for
  /// other objects does not matter: their rows are left out.
  ///
  ///     CASE WHEN <the objects are readable> THEN livefetch_contains(…) END
  func whereReadable(in scope: (some SQLScope)?) -> SQLFragment {
    let tests = scope?.readabilities ?? []
    guard !tests.isEmpty else { return self }
    return SQLFragment(
      "CASE WHEN \(tests.joined(separator: " AND ")) THEN \(text) END", bindings: bindings)
  }
}

/// A value in a form that an index serves, for comparisons with constants.
package struct IndexedValue: Sendable, Hashable {
  /// SQL that equals a constant exactly if the value's comparison key does.
  package let sql: String
  /// The function that converts the constant's comparison key, a text, to the type of ``sql``; nil for
  /// none. It returns NULL for a text that no value equals.
  package let conversion: String?

  package init(_ sql: String, conversion: String? = nil) {
    self.sql = sql
    self.conversion = conversion
  }

  /// Returns SQL for the constant, given that of its comparison key.
  func constant(_ key: String) -> String { conversion.map { "\($0)(\(key))" } ?? key }
}

/// The SQL of a value and the properties that comparisons need.
public struct SQLColumn: Sendable, Hashable {
  /// An operand that needs no parentheses next to any operator and may be repeated: `t0."name"`, or
  /// a scalar subquery in its parentheses. It has no bound values.
  public var sql: String
  /// The type of its values.
  public var type: AttributeType
  /// The format of stored dates; nil for other types.
  public var dateFormat: DateFormat?
  /// The encoding of its values, if SQL has to compare comparison keys of them; nil if SQL compares
  /// the values as they are.
  public var encoding: ColumnEncoding?
  /// True if every value is known to be in ``encoding`` already and so is its own comparison key.
  public var isHomogeneous = false
  /// The dialect's own comparison key of its values; nil if the encoding determines it.
  package var comparisonKey: String?
  /// The value in a form that an index serves; nil for the comparison key.
  package var lookup: IndexedValue?
  /// SQL of the value in the form in which a statement returns it; nil for ``sql``.
  package var output: String?
  /// SQL of its values for ORDER BY, which an index serves; nil for ``comparable``.
  package var ordered: String?
  /// SQL of the doubles by which sections divide its values; nil for the values themselves.
  package var sectioned: String?
  /// True if it may hold any text as well as numbers: a column of SQLite without a declared type.
  package var isUntyped = false
  /// True if the value is calculated when it is read.
  package var isGenerated = false
  /// True if it can be NULL: the column allows it, or a step before it can be nil.
  public var mayBeNull: Bool
  /// True if comparisons of it use BINARY collation without a COLLATE clause.
  public var isBinaryCollated: Bool

  /// Makes a column of SQL.
  public init(
    sql: String, type: AttributeType, dateFormat: DateFormat? = nil, mayBeNull: Bool = true,
    isBinaryCollated: Bool = true
  ) {
    self.sql = sql
    self.type = type
    self.dateFormat = dateFormat
    self.mayBeNull = mayBeNull
    self.isBinaryCollated = isBinaryCollated
  }
}

extension SQLColumn {
  /// The SQL of the values' comparison keys.
  package var comparable: String {
    if let comparisonKey { return comparisonKey }
    guard let encoding, !isHomogeneous else { return sql }
    return "livefetch_value(\(sql), \(encoding.code))"
  }

  /// True if ``comparable`` uses BINARY collation without a COLLATE clause.
  var isComparableBinary: Bool { isBinaryCollated || (encoding != nil && !isHomogeneous) }
}
