// What the predicate compiler needs to know about the query that it writes into: the SQL of a key
// path's value, and how to open a subquery over the objects of a to-many path. The tables, their
// joins and their aliases stay the scope's own business.

import FetchModel

/// One object's place in a query being composed: the alias of its table and the joins from it.
///
/// The compiler asks for columns and subqueries while it writes the condition, and puts ``from``
/// and ``correlation`` around it afterwards, so a scope may add joins as paths are asked for. A
/// condition inside a subquery may still ask an outer scope for columns: an outer join added then
/// must be visible there. So the aliases of a scope made by ``over(_:)`` have to differ from every
/// alias that this scope gave **or will give later** (put the scope's depth into the alias).
public protocol SQLScope {
  /// The value that `path` reads, as SQL in this scope.
  ///
  /// All steps are to-one, and `path.root` is this scope's entity. A nil step makes the value NULL
  /// (LEFT JOIN, or a correlated scalar subquery). With target `.object` it is the id of the object
  /// reached; after one step that should be the foreign-key column itself, without a join. Asking
  /// twice for the same path gives the same SQL.
  mutating func column(_ path: PropertyPath) -> SQLColumn

  /// A scope for one of the objects that `steps` reach from this scope's object.
  ///
  /// The last step is to-many; earlier ones may be either. Each way to reach an object is a row;
  /// a nil step reaches nothing. The scope's entity is the destination of the last step.
  mutating func over(_ steps: [Int]) -> Self

  /// What stands behind FROM, with every join added so far: `"city" AS t1 LEFT JOIN …`.
  var from: String { get }

  /// The condition that ties a subquery's rows to the outer scope: `t1."country_id" = t0."id"`;
  /// empty if nothing ties it (the outermost scope).
  var correlation: String { get }

  /// SQL for the object's place among the members of the ordered relationship that led here; nil
  /// where that has no order.
  var position: String? { get }

  /// Whether one object may stand in more than one row, as several to-many steps allow.
  var mayRepeat: Bool { get }

  /// Whether `path` reads an aggregate over the query's own objects.
  func isAggregate(_ path: PropertyPath) -> Bool
}

/// The SQL of a value and what comparisons must know about it.
public struct SQLColumn: Sendable, Hashable {
  /// An operand that may stand beside any operator without parentheses and be repeated:
  /// `t0."name"`, or a scalar subquery in its parentheses. It binds nothing.
  public var sql: String
  public var type: AttributeType
  /// How a date is stored; nil for other types.
  public var dateFormat: DateFormat?
  /// How its values are written, where SQL has to compare stand-ins of them; nil where it compares
  /// them as they are.
  public var form: ColumnEncoding?
  /// Whether every value is known to be in `form` and so is its own stand-in.
  public var isUniform = false
  /// Whether it can be NULL here: the column allows it, or a step before it can be nil.
  public var mayBeNull: Bool
  /// Whether comparisons of it use BINARY collation without saying so.
  public var isBinaryCollated: Bool

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
  /// SQL for what stands for its values where they are compared.
  var comparable: String {
    guard let form, !isUniform else { return sql }
    return "livefetch_value(\(sql), \(form.code))"
  }

  /// Whether ``comparable`` uses BINARY collation without saying so.
  var isComparableBinary: Bool { isBinaryCollated || (form != nil && !isUniform) }
}
