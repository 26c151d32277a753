// The tables of the served schema with their columns, keys and foreign keys, as ``CatalogReader`` reads them
// from the system catalog.

import SQLComposer

/// PostgreSQL's number of a table, a type or another object of the catalog.
typealias OID = UInt32

/// The tables and views of the served schema.
struct Catalog: Hashable, Sendable {
  /// The schema whose tables are served.
  static let schema = "public"

  /// Sorted by name.
  var tables: [CatalogTable]

  func table(_ oid: OID) -> CatalogTable? { tables.first { $0.oid == oid } }
}

/// A table or a view.
struct CatalogTable: Hashable, Sendable {
  /// The column `relkind` of `pg_class`.
  enum Kind: String, Hashable, Sendable {
    case table = "r"
    case partitionedTable = "p"
    case view = "v"
    case materializedView = "m"
    case foreignTable = "f"
  }

  var oid: OID
  var name: String
  var kind: Kind
  /// True if other tables inherit from it, so that its rows include theirs.
  var hasInheritingTables: Bool
  /// True if the connection's role is not a member of the role that owns the table, or if the table
  /// belongs to an extension.
  var isOwnedByOthers = false
  /// True for an unlogged table, which crash recovery empties without triggers, and for a table with a
  /// row-level security policy that applies to the connection's role.
  var hasUnrecordableChanges = false
  /// True if the connection's role may lock the table, or the view with the tables that it reads.
  var isLockable = true
  var columns: [CatalogColumn] = []
  /// The columns of the primary key; empty if there is none.
  var primaryKey: [String] = []
  /// The columns of each further unique index without a condition and without expressions.
  var uniqueKeys: [[String]] = []
  /// The unique indexes with a condition and without expressions.
  var partialUniqueIndexes: [PartialUniqueIndex] = []
  var foreignKeys: [CatalogForeignKey] = []
  /// The leaf partitions of a partitioned table.
  var leafPartitions: [OID] = []

  /// The name with its schema, quoted.
  var quotedName: String { "\(quoted(Catalog.schema)).\(quoted(name))" }

  func column(_ name: String) -> CatalogColumn? { columns.first { $0.name == name } }

  /// The columns that identify a row: the primary key, or else the first unique key whose columns
  /// cannot be NULL; nil if there is none.
  var key: [String]? {
    if !primaryKey.isEmpty { return primaryKey }
    return uniqueKeys.first { $0.allSatisfy { column($0)?.isNullable == false } }
  }
}

/// A unique index that contains only some rows.
struct PartialUniqueIndex: Hashable, Sendable {
  var columns: [String]
  /// The WHERE clause of the index, as SQL.
  var condition: String
}

/// A column of a table or a view.
struct CatalogColumn: Hashable, Sendable {
  /// The column `typtype` of `pg_type`.
  enum TypeKind: String, Hashable, Sendable {
    case base = "b"
    case composite = "c"
    case enumeration = "e"
    case pseudo = "p"
    case range = "r"
    case multirange = "m"
  }

  /// The column `attidentity` of `pg_attribute`.
  enum Identity: String, Hashable, Sendable {
    case always = "a"
    case byDefault = "d"
  }

  var name: String
  /// The type; for a domain, its base type.
  var type: OID
  /// The name of ``type`` with its length or precision, as SQL.
  var typeName: String
  var typeKind: TypeKind
  /// The type of an array's elements; nil for other types.
  var elementType: OID?
  var elementKind: TypeKind?
  /// The labels of an enum in their order.
  var labels: [String] = []
  var isNullable: Bool
  /// True for a generated column, which cannot be written.
  var isGenerated: Bool
  /// For GENERATED … AS IDENTITY; nil for other columns.
  var identity: Identity?
  var defaultExpression: String?
  /// True for `citext` and for a nondeterministic collation: different texts are equal.
  var ignoresCase = false

  /// The type of this column in a history table. Enums are stored as text: a column of an enum type
  /// would make its `DROP TYPE` fail.
  var historyType: String {
    if typeKind == .enumeration { return "text" }
    if elementKind == .enumeration { return "text[]" }
    return typeName
  }
}

/// A foreign key.
struct CatalogForeignKey: Hashable, Sendable {
  /// The column `confdeltype` of `pg_constraint`.
  enum Action: String, Hashable, Sendable {
    case noAction = "a"
    case restrict = "r"
    case cascade = "c"
    case setNull = "n"
    case setDefault = "d"
  }

  var name: String
  var columns: [String]
  var targetTable: OID
  var targetColumns: [String]
  var deleteAction: Action
}
