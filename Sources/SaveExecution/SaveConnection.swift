// A database as a save sees it. A store implements the protocol over a connection of its own; the
// save's transaction is open.
//
// A database with strict types has to know the use of a bound value: the value of a column that it
// is assigned to, a value that a column is compared with, or a value in a condition of the composer,
// which may compare any types. The parameters below say which.
//
// Across targets neither generic nor existential code is specialised. The calls are per statement and
// not per value, so a call through the protocol costs little compared with its statement.

import FetchModel
import SQLComposer

/// A connection inside the transaction of a save. One thread uses it at a time.
package protocol SaveConnection: AnyObject {
  /// True if an insert stores the id that it is given, whatever the triggers of the table do.
  var storesGivenIDs: Bool { get }
  /// True if an error has ended the transaction.
  var isTransactionOver: Bool { get }
  /// The number of rows that the last statement wrote, excluding those of triggers and delete rules.
  var changedRows: Int { get }
  /// True if foreign keys that are checked at the commit are currently violated.
  var hasDeferredViolations: Bool { get }

  /// True if other transactions write at the same time. Then a save locks rows in the order of their
  /// ids before it changes them: two saves that lock in the same order never wait for each other.
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
  /// Runs a statement that writes: `sql`, whose values are assigned to columns, followed by a
  /// condition of the composer.
  func attempt(
    _ sql: String, _ values: [SQLValue], where condition: SQLFragment
  ) throws(StoreError) -> Constraint?
  /// Returns the id of the row that the last INSERT wrote; nil if the statement returned none.
  func insertedID(in table: SaveTable) -> ObjectID?
  /// Returns a statement that writes so that it ends at every violated constraint: no clause of the
  /// table lets it delete other rows.
  func endingAtConstraints(_ sql: String) throws(StoreError) -> String
  /// Runs a command without values, such as SAVEPOINT.
  func run(_ command: String) throws(StoreError)

  /// Returns the first row; nil without rows. The bound values are compared with columns.
  func row(_ sql: String, _ values: [SQLValue]) throws(StoreError) -> [SQLValue]?
  /// Returns the first column of each row, which is an id, and the second one if it is an integer. The
  /// bound values are compared with columns.
  func places(
    _ sql: String, _ values: [SQLValue]
  ) throws(StoreError) -> [(id: ObjectID, place: Int64?)]
  /// Returns the ids in the first column of a query of the composer.
  func ids(_ query: SQLFragment) throws(StoreError) -> [ObjectID]
  /// Returns the integer in the first row's first column; 0 without rows.
  func integer(_ query: SQLFragment) throws(StoreError) -> Int64
  /// True if a query of the composer returns a row.
  func hasRow(_ query: SQLFragment) throws(StoreError) -> Bool
  /// True if a query over the row that a save would write returns a row. The first bound values are
  /// values of that row's columns.
  func hasRow(candidate query: SQLFragment) throws(StoreError) -> Bool
  /// Reads the ids of a composed statement's rows.
  func ids(of statement: FetchStatement) throws(StoreError) -> Set<ObjectID>
  /// Reads the rows of a composed statement.
  func rows(of statement: FetchStatement) throws(StoreError) -> [(id: ObjectID, row: Row)]

  /// Returns the columns of the table that a constraint is about; nil if they are not the table's.
  ///
  /// - Parameter row: The values that the refused statement assigned.
  func columns(of constraint: Constraint, in table: SaveTable, row: RowValues) -> [Int]?
  /// Returns the SQL of each CHECK of a table.
  func checks(of table: SaveTable) throws(StoreError) -> [String]
  /// Returns true if a foreign key refuses the change of a referenced row instead of cascading it.
  ///
  /// - Parameter holder: the table with the referring columns.
  func refuses(
    _ change: ReferencedChange, _ key: ForeignKey, of holder: String
  ) throws(StoreError) -> Bool

  /// Returns the position of the history before the changes of this transaction; nil if the database
  /// has none that saves can read.
  func historyPosition() throws(StoreError) -> Int64?
  /// Returns the objects that this transaction has changed after a position.
  func changes(after start: Int64) throws(StoreError) -> ChangeSet
  /// Returns the changes since a token, those of this transaction included; nil if they are unknown.
  func changes(since token: Token) throws(StoreError) -> ChangeSet?
}

extension SaveConnection {
  /// For databases whose saves find the objects of a batch themselves.
  package func changes(since token: Token) throws(StoreError) -> ChangeSet? { nil }

  /// For databases whose tables have no such clauses.
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

/// A statement that a constraint of the database refused.
package struct Constraint: Sendable {
  package enum Kind: Sendable {
    case unique, notNull, check, foreignKey, trigger, type
    /// Nested triggers and delete rules exceed the database's limit.
    case depth
    /// An expression of the table's own failed for the given values.
    case other
  }

  package let kind: Kind
  /// The database's words. Only those of a trigger may reach clients.
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

  var isDenial: Bool { deniedRelationship != nil }
  /// True if a delete that this constraint refused may succeed after other changes: an object that
  /// needs the deleted one is deleted or moved too.
  var mayHoldLater: Bool { isDenial || kind == .notNull }
}
