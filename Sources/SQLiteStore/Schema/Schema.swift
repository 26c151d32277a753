// Maps a model's entities to the tables of a file. `Introspection` makes it; the SELECT composer,
// the history's triggers and the saves read it. Its arrays are parallel to the model's, so that an
// index in a plan is valid here as well.

import FetchModel

/// The tables of a model.
struct Schema: Sendable, Hashable {
  /// Parallel to `Model.entities`.
  let entities: [EntityTable]
  /// The tables that represent to-many relationships instead of entities.
  let joinTables: [JoinTable]
  /// True if the file has a foreign key that is checked only at the commit.
  let hasDeferredKeys: Bool
  /// True if text compares by its UTF-8 bytes. False for a file whose text encoding is UTF-16.
  let comparesBytes: Bool

  init(
    entities: [EntityTable], joinTables: [JoinTable], hasDeferredKeys: Bool = false,
    comparesBytes: Bool = true
  ) {
    self.entities = entities
    self.joinTables = joinTables
    self.hasDeferredKeys = hasDeferredKeys
    self.comparesBytes = comparesBytes
  }
}

/// The table or view of an entity.
struct EntityTable: Sendable, Hashable {
  /// The name as in the catalogue.
  let name: String
  let isView: Bool
  let key: Key
  /// Every column in table order, including key columns and generated columns.
  let columns: [Column]
  /// Parallel to `Entity.attributes`: indexes into `columns`.
  let attributeColumns: [Int]
  /// Parallel to `Entity.relationships`.
  let relationships: [RelationshipStorage]
  /// The table's uniqueness constraints other than the key's own.
  let uniqueIndexes: [UniqueIndex]
  /// True if triggers record its changes.
  let isObservable: Bool

  var quotedName: String { quoted(name) }

  /// Returns the column of an attribute, given the attribute's index in the entity.
  func column(ofAttribute index: Int) -> Column { columns[attributeColumns[index]] }

  /// Returns SQL for an object's ETag, 16 hexadecimal digits: `livefetch_etag("t0"."id",
  /// "t0"."name")`. It hashes the stored values of all columns except generated ones.
  ///
  /// - Parameter hidden: The columns that the caller does not see. A hash over them would let the
  ///   caller guess their values.
  func etagExpression(_ alias: String?, hiding hidden: Set<Int> = []) -> String {
    let hashed = columns.indices.filter { !columns[$0].isGenerated && !hidden.contains($0) }
    return etagCall(hashed.map { qualified(columns[$0].name, alias) })
  }
}

extension Schema {
  /// Returns the columns of an entity's table that hold hidden attributes of the entity, or of those
  /// that share its table.
  ///
  /// - Parameter hidden: The hidden attributes of an entity.
  func hiddenColumns(
    of entity: Int, in model: Model, hidden: (_ entity: Int) -> Set<Int>
  ) -> Set<Int> {
    let root = model.entities[entity].inheritance.root ?? entity
    let sharing = [root] + model.entities[root].inheritance.subentities
    let names = sharing.flatMap { entity in
      hidden(entity).map { entities[entity].column(ofAttribute: $0).name }
    }
    guard !names.isEmpty else { return [] }
    let columns = entities[entity].columns
    return Set(columns.indices.filter { names.contains(columns[$0].name) })
  }
}

/// A column of a table or view.
struct Column: Sendable, Hashable {
  let name: String
  /// As in the table's declaration; empty without one.
  let declaredType: String
  let affinity: Affinity
  /// The collation of this column's comparisons: `BINARY`, `NOCASE`, `RTRIM` or another.
  let collation: String
  let isNotNull: Bool
  /// The SQL text of the default; nil without one.
  let defaultSQL: String?
  let isGenerated: Bool
  let type: AttributeType
  /// How dates are stored; nil for other types.
  let dateFormat: DateFormat?
  /// How values are encoded, where SQLite does not compare the stored values as the type requires.
  let encoding: ColumnEncoding?

  init(
    name: String, declaredType: String = "", affinity: Affinity = .blob,
    collation: String = "BINARY", isNotNull: Bool = false, defaultSQL: String? = nil,
    isGenerated: Bool = false, type: AttributeType, dateFormat: DateFormat? = nil,
    encoding: ColumnEncoding? = nil
  ) {
    self.name = name
    self.declaredType = declaredType
    self.affinity = affinity
    self.collation = collation
    self.isNotNull = isNotNull
    self.defaultSQL = defaultSQL
    self.isGenerated = isGenerated
    self.type = type
    self.dateFormat = dateFormat
    self.encoding = encoding
  }

  /// True if SQLite compares this column's text as a number with constants that look like numbers.
  var takesTextForNumbers: Bool {
    (encoding == .text || encoding == .json) && affinity.isNumeric
  }

  /// True if the column's own collation compares text byte by byte.
  var isBinary: Bool { folded(collation) == "binary" }
}

extension Affinity {
  /// Computes the affinity of a declared type by SQLite's rules.
  init(declaredType: String) {
    let type = folded(declaredType)
    if type.contains("int") {
      self = .integer
    } else if ["char", "clob", "text"].contains(where: type.contains) {
      self = .text
    } else if type.isEmpty || type.contains("blob") {
      self = .blob
    } else if ["real", "floa", "doub"].contains(where: type.contains) {
      self = .real
    } else {
      self = .numeric
    }
  }
}

/// A uniqueness constraint. Finds the rows that a REPLACE deletes.
struct UniqueIndex: Sendable, Hashable {
  struct Part: Sendable, Hashable {
    /// SQL over the table's own column names: a quoted column, or an expression in parentheses.
    let expression: String
    /// The name of the column; nil for an expression.
    let column: String?
    let collation: String
  }

  let name: String
  let parts: [Part]
  /// The SQL condition of a partial index.
  let condition: String?
}

/// Columns of a table that refer to columns of another table.
struct ForeignKey: Sendable, Hashable {
  /// The referring columns, parallel to `referenced`.
  let columns: [String]
  /// The referenced table, as named in the catalogue.
  let table: String
  let referenced: [String]
  /// True if `referenced` are the key's columns, in key order, and only identical values refer to
  /// them: then the columns hold the id.
  let referencesKey: Bool
  /// For an ordered to-many relationship, the additional column that orders the rows that refer to
  /// one object. nil without an order.
  let position: String?
  /// How each column is compared with the column that it refers to; parallel to `columns`.
  let comparisons: [ForeignKeyComparison]

  /// - Parameter comparisons: nil if each column refers only to the identical value.
  init(
    columns: [String], table: String, referenced: [String], referencesKey: Bool,
    position: String? = nil, comparisons: [ForeignKeyComparison]? = nil
  ) {
    self.columns = columns
    self.table = table
    self.referenced = referenced
    let comparisons = comparisons ?? columns.map { _ in ForeignKeyComparison.plain }
    self.referencesKey = referencesKey && comparisons.allSatisfy(\.isExact)
    self.position = position
    self.comparisons = comparisons
  }
}

/// Where a relationship is stored.
enum RelationshipStorage: Sendable, Hashable {
  /// To-one: columns of this entity's own table.
  case foreignKey(ForeignKey)
  /// To-many: columns of the destination's table that refer to this entity's.
  case inverse(ForeignKey)
  /// To-many: rows of a join table. `source` refers to this entity, `destination` to the other.
  case joinTable(table: Int, source: ForeignKey, destination: ForeignKey)
}

/// A table with exactly two foreign keys and at most a key of its own.
struct JoinTable: Sendable, Hashable {
  let name: String
  /// The key of its rows: a declared one, its two foreign keys, or the rowid.
  let key: Key
  let columns: [Column]
  let first: ForeignKey
  let second: ForeignKey
  /// The entities that `first` and `second` refer to.
  let firstEntity: Int
  let secondEntity: Int
  let uniqueIndexes: [UniqueIndex]

  var quotedName: String { quoted(name) }
}
