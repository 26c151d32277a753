// The system catalogue → tables with their columns, keys and foreign keys.

/// The tables and views of some schemas.
struct Catalogue: Hashable, Sendable {
  var tables: [CatalogueTable]

  func table(_ id: UInt32) -> CatalogueTable? { tables.first { $0.id == id } }
  func table(named name: String) -> CatalogueTable? { tables.first { $0.name == name } }
}

/// A table or a view.
struct CatalogueTable: Hashable, Sendable {
  enum Kind: String, Hashable, Sendable {
    case table = "r"
    case partitionedTable = "p"
    case view = "v"
    case materializedView = "m"
    case foreignTable = "f"
  }

  var id: UInt32
  var schema: String
  var name: String
  var kind: Kind
  /// True if other tables inherit from it, so that its rows include theirs.
  var hasInheritingTables: Bool
  /// True if it belongs to a role that this one does not have, or to an extension.
  var isForeign = false
  var columns: [CatalogueColumn] = []
  /// The columns of the primary key; empty if there is none.
  var primaryKey: [String] = []
  /// The columns of each further unique index without a condition and without expressions.
  var uniqueKeys: [[String]] = []
  /// Unique indexes with a condition.
  var partialKeys: [UniqueKey] = []
  var foreignKeys: [CatalogueForeignKey] = []
  /// The partitions that contain rows, of a partitioned table.
  var partitions: [UInt32] = []

  /// The name with its schema, quoted.
  var quotedName: String { "\(quoted(schema)).\(quoted(name))" }

  func column(_ name: String) -> CatalogueColumn? { columns.first { $0.name == name } }

  /// The columns that identify a row: the primary key, or else the first unique key whose columns
  /// cannot be NULL; nil if there is none.
  var key: [String]? {
    if !primaryKey.isEmpty { return primaryKey }
    return uniqueKeys.first { $0.allSatisfy { column($0)?.isNullable == false } }
  }
}

/// A unique index without expressions.
struct UniqueKey: Hashable, Sendable {
  var columns: [String]
  /// The condition in SQL of the rows that it contains; nil for all rows.
  var condition: String?
}

/// A column.
struct CatalogueColumn: Hashable, Sendable {
  enum TypeKind: String, Hashable, Sendable {
    case base = "b"
    case composite = "c"
    case enumeration = "e"
    case pseudo = "p"
    case range = "r"
    case multirange = "m"
  }

  var name: String
  /// The type, of a domain its base type.
  var type: UInt32
  /// The type's name with its length or precision, as SQL.
  var typeName: String
  var typeKind: TypeKind
  /// The element's type of an array; nil for other types.
  var elementType: UInt32?
  var elementKind: TypeKind?
  /// The labels of an enum in their order.
  var labels: [String] = []
  var isNullable: Bool
  /// True for a generated column, which cannot be written.
  var isGenerated: Bool
  /// `a` for GENERATED ALWAYS AS IDENTITY, `d` for BY DEFAULT; nil for others.
  var identity: String?
  var defaultExpression: String?

  /// The type of this column in a history table. Enums are stored as text, so that the history does
  /// not keep their types from being dropped.
  var historyType: String {
    if typeKind == .enumeration { return "text" }
    if elementKind == .enumeration { return "text[]" }
    return typeName
  }
}

/// A foreign key.
struct CatalogueForeignKey: Hashable, Sendable {
  var name: String
  var columns: [String]
  var target: UInt32
  var targetColumns: [String]
  /// The action on deletion: `a` none, `r` restrict, `c` cascade, `n` set null, `d` set default.
  var deleteAction: String
}
