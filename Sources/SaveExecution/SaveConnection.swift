// The statements and queries that a save needs of a database. Each store implements the protocol over a
// connection whose transaction is open.
//
// PostgreSQL has to know the type of a bound value, which depends on its use: it is assigned to a column,
// compared with a column, or part of a composed condition, which may compare any types. Each parameter
// with bound values below has one of these uses.
//
// Calls through the protocol are not specialised across targets. There is one per statement, not per
// value, so its cost is small compared with the statement's.

import FetchModel
import SQLComposer

/// A connection inside the transaction of a save. One thread uses it at a time.
package protocol SaveConnection: AnyObject {
  /// True if an inserted row has the id of the INSERT statement, because triggers cannot replace it.
  var storesGivenIDs: Bool { get }
  /// True if an error has ended the transaction.
  var isTransactionOver: Bool { get }
  /// The number of rows that the last statement wrote, excluding those of triggers and delete rules.
  var changedRows: Int { get }
  /// True if triggers that run at the commit may change what the save has written.
  func mayChangeAtCommit() throws(StoreError) -> Bool
  /// True if foreign keys that are checked at the commit are currently violated.
  var hasDeferredViolations: Bool { get }

  /// True if other transactions may write at the same time. Then a save locks rows in the order of their
  /// ids before it changes them: saves that lock in the same order cannot cause a deadlock.
  var locksRows: Bool { get }
  /// Runs a statement that locks rows.
  func lock(_ statement: SQLFragment) throws(StoreError)

  /// Runs a statement that writes. Returns the constraint that refused it, or nil on success.
  ///
  /// - Parameters:
  ///   - values: The first bound values, which are assigned to columns.
  ///   - more: The values after them, which columns are compared with.
  func attempt(
    _ sql: String, _ values: [SQLValue], then more: [SQLValue]
  ) throws(StoreError) -> Constraint?
  /// Runs a statement that writes: `sql`, followed by a composed condition. Returns the constraint that
  /// refused it, or nil on success.
  ///
  /// - Parameter values: The bound values of `sql`, which are assigned to columns.
  func attempt(
    _ sql: String, _ values: [SQLValue], where condition: SQLFragment
  ) throws(StoreError) -> Constraint?
  /// Returns the id of the row that the last INSERT wrote; nil if the statement returned none.
  func insertedID(in table: SaveTable) -> ObjectID?
  /// Returns the statement in a form that fails if it violates a constraint, although the table has an
  /// ON CONFLICT clause by which it would delete other rows.
  func endingAtConstraints(_ sql: String) throws(StoreError) -> String
  /// Runs a command without values, such as SAVEPOINT.
  func run(_ command: String) throws(StoreError)

  /// Returns the first row; nil without rows. The bound values are compared with columns.
  func row(_ sql: String, _ values: [SQLValue]) throws(StoreError) -> [SQLValue]?
  /// Returns of each row the id in the first column and the place in the second one; nil if that is no
  /// integer. The bound values are compared with columns.
  func places(
    _ sql: String, _ values: [SQLValue]
  ) throws(StoreError) -> [(id: ObjectID, place: Int64?)]
  /// Returns the ids in the first column of a composed query.
  func ids(_ query: SQLFragment) throws(StoreError) -> [ObjectID]
  /// Returns the integer in the first column of a composed query's first row; 0 without rows.
  func integer(_ query: SQLFragment) throws(StoreError) -> Int64
  /// True if a composed query returns a row.
  func hasRow(_ query: SQLFragment) throws(StoreError) -> Bool
  /// True if a composed query over a row that is not stored yet returns a row. The first bound values
  /// are the values of that row's columns.
  func hasRow(candidate query: SQLFragment) throws(StoreError) -> Bool
  /// Returns the ids of a composed statement's rows.
  func ids(of statement: FetchStatement) throws(StoreError) -> Set<ObjectID>
  /// Returns the rows of a composed statement.
  func rows(of statement: FetchStatement) throws(StoreError) -> [(id: ObjectID, row: Row)]

  /// Returns the indexes of the table's columns that a constraint is about; nil if they are not columns of
  /// this table.
  ///
  /// - Parameter row: The values that the refused statement assigned.
  func columns(of constraint: Constraint, in table: SaveTable, row: RowValues) -> [Int]?
  /// Returns the SQL of each CHECK of a table.
  func checks(of table: SaveTable) throws(StoreError) -> [String]
  /// Returns true if a foreign key refuses the change of a referenced row, unlike with ON DELETE CASCADE
  /// or SET NULL.
  ///
  /// - Parameter holder: the table with the referring columns.
  func refuses(
    _ change: ReferencedChange, _ key: ForeignKey, of holder: String
  ) throws(StoreError) -> Bool

  /// Returns the history position before the changes of this transaction; nil if the database has no
  /// history, or saves cannot read it.
  func historyPosition() throws(StoreError) -> Int64?
  /// Returns the changes of this transaction after a position.
  func changes(after start: Int64) throws(StoreError) -> ChangeSet
  /// Returns the changes after a token's position, including those of this transaction; nil if they are
  /// unknown. A batch whose objects were found in an earlier read transaction checks the changed ones
  /// again.
  func changes(since token: Token) throws(StoreError) -> ChangeSet?
}

extension SaveConnection {
  /// The default for a database whose saves find the objects of a batch in their own transaction.
  package func changes(since token: Token) throws(StoreError) -> ChangeSet? { nil }

  /// The default for a database without ON CONFLICT clauses of tables.
  package func endingAtConstraints(_ sql: String) throws(StoreError) -> String { sql }

  /// True if `sql` returns a row.
  func hasRow(_ sql: String, _ values: [SQLValue]) throws(StoreError) -> Bool {
    try row(sql, values) != nil
  }
}

extension SaveError {
  /// The refusal of a save that leaves violated foreign keys; see
  /// ``SaveConnection/hasDeferredViolations``.
  package static var danglingReference: SaveError {
    .conflicts([
      ChangeProblem(
        change: 0, code: .noSuchObject,
        detail: "a relationship of the save leads to an object that does not exist")
    ])
  }
}

/// A change of a row to which other rows refer.
package enum ReferencedChange: Sendable { case update, delete }

/// A constraint of the database that refused a statement, and its error.
package struct Constraint: Sendable {
  package enum Kind: Sendable {
    case unique, notNull, check, foreignKey, trigger
    /// A value does not have the column's type.
    case type
    /// Nested triggers and delete rules exceed the database's limit.
    case depth
    /// An expression in the table's definition failed for the given values.
    case other
  }

  package let kind: Kind
  /// The database's error message. Only that of a trigger may be sent to clients.
  package let message: String
  /// The columns or the expression that the constraint is about, in the database's form.
  package let subject: String
  /// The relationship whose delete rule refused the delete; nil if none did.
  package let deniedRelationship: String?

  package init(kind: Kind, message: String, subject: String, deniedRelationship: String? = nil) {
    self.kind = kind
    self.message = message
    self.subject = subject
    self.deniedRelationship = deniedRelationship
  }

  /// True if a relationship with the delete rule Deny refused the delete.
  var isDenial: Bool { deniedRelationship != nil }
  /// True if the refused delete may succeed after other changes of the same save, which delete the objects
  /// that refer to the deleted one or change their references.
  var maySucceedLater: Bool { isDenial || kind == .notNull }
}
