// Maps a model's entities to the tables of a file. `Introspection` makes it; the SELECT composer,
// the history's triggers and the saves read it. Its arrays are parallel to the model's, so that an
// index in a plan is valid here as well.

import FetchModel

/// The tables of a model.
package struct Schema: Sendable, Hashable {
  /// Parallel to `Model.entities`.
  package let entities: [EntityTable]
  /// The tables that represent to-many relationships instead of entities.
  package let joinTables: [JoinTable]
  /// True if the file has a foreign key that is checked only at the commit.
  package let hasDeferredKeys: Bool
  /// True if text compares by its UTF-8 bytes. False for a file whose text encoding is UTF-16.
  package let comparesBytes: Bool
  package let dialect: Dialect

  package init(
    entities: [EntityTable], joinTables: [JoinTable], hasDeferredKeys: Bool = false,
    comparesBytes: Bool = true, dialect: Dialect = .sqlite
  ) {
    self.dialect = dialect
    self.entities = entities
    self.joinTables = joinTables
    self.hasDeferredKeys = hasDeferredKeys
    self.comparesBytes = comparesBytes
  }
}

/// The table or view of an entity.
package struct EntityTable: Sendable, Hashable {
  /// The name as in the catalog.
  package let name: String
  package let isView: Bool
  package let key: Key
  /// Every column in table order, including key columns and generated columns.
  package let columns: [Column]
  /// Parallel to `Entity.attributes`: indexes into `columns`.
  package let attributeColumns: [Int]
  /// Parallel to `Entity.relationships`.
  package let relationships: [RelationshipStorage]
  /// The table's uniqueness constraints other than the key's own.
  package let uniqueIndexes: [UniqueIndex]
  /// True if triggers record its changes.
  package let isObservable: Bool

  package init(
    name: String, isView: Bool, key: Key, columns: [Column], attributeColumns: [Int],
    relationships: [RelationshipStorage], uniqueIndexes: [UniqueIndex], isObservable: Bool
  ) {
    self.name = name
    self.isView = isView
    self.key = key
    self.columns = columns
    self.attributeColumns = attributeColumns
    self.relationships = relationships
    self.uniqueIndexes = uniqueIndexes
    self.isObservable = isObservable
  }

  package var quotedName: String { quoted(name) }

  /// Returns the column of an attribute, given the attribute's index in the entity.
  package func column(ofAttribute index: Int) -> Column { columns[attributeColumns[index]] }

  /// Returns SQL for an object's ETag, 16 hexadecimal digits: `livefetch_etag("t0"."id",
  /// "t0"."name")`. It hashes the stored values of all columns except generated ones.
  ///
  /// - Parameter hidden: The columns that the caller does not see. A hash over them would let the
  ///   caller guess their values.
  package func etagExpression(_ alias: String?, hiding hidden: Set<Int> = []) -> String {
    let hashed = columns.indices.filter { !columns[$0].isGenerated && !hidden.contains($0) }
    return key.dialect.etag(hashed.map { qualified(columns[$0].name, alias) })
  }
}

extension Schema {
  /// Returns the columns of an entity's table that hold hidden attributes of the entity, or of those
  /// that share its table.
  ///
  /// - Parameter hidden: The hidden attributes of an entity.
  package func hiddenColumns(
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

/// The form in which a statement returns a column's values.
package enum OutputForm: Sendable, Hashable { case stored, text, json }

/// The form in which values are assigned to a column.
package enum InputForm: Sendable, Hashable {
  case any
  /// Dates without a time of day: PostgreSQL would drop the time.
  case days
  /// JSON arrays as the text of PostgreSQL's arrays.
  case array
  /// The same for arrays of JSON: each element is JSON itself.
  case jsonArray
  /// Decimals with any number of digits.
  case digits
  /// Integers that are not negative: PostgreSQL's `oid` would take them as large ones.
  case unsigned
  /// Texts of at most 63 bytes: PostgreSQL's `name` would cut longer ones.
  case short
  /// Texts of at most one byte: PostgreSQL's `"char"` would cut longer ones.
  case byte
}

/// A column of a table or view.
package struct Column: Sendable, Hashable {
  package let name: String
  /// As in the table's declaration; empty without one.
  package let declaredType: String
  package let affinity: Affinity
  /// The collation of this column's comparisons: `BINARY`, `NOCASE`, `RTRIM` or another.
  package let collation: String
  package let isNotNull: Bool
  /// The SQL text of the default; nil without one.
  package let defaultSQL: String?
  package let isGenerated: Bool
  package let type: AttributeType
  /// The format of stored dates; nil for other types.
  package let dateFormat: DateFormat?
  /// The encoding of values that SQLite does not compare as the type requires; nil for others.
  package let encoding: ColumnEncoding?
  /// The form in which a statement returns its values.
  package let output: OutputForm
  /// The form in which values are assigned to it.
  package let input: InputForm

  package init(
    name: String, declaredType: String = "", affinity: Affinity = .blob,
    collation: String = "BINARY", isNotNull: Bool = false, defaultSQL: String? = nil,
    isGenerated: Bool = false, type: AttributeType, dateFormat: DateFormat? = nil,
    encoding: ColumnEncoding? = nil, output: OutputForm = .stored, input: InputForm = .any
  ) {
    self.output = output
    self.input = input
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

  /// True for a column of SQLite without a declared type, and for `ANY` in a STRICT table.
  var isUntyped: Bool {
    affinity == .blob && (declaredType.isEmpty || folded(declaredType) == "any")
  }

  /// True if SQLite compares this column's text as a number with constants that look like numbers.
  var takesTextForNumbers: Bool {
    (encoding == .text || encoding == .json) && affinity.isNumeric
  }

  /// True if the column's own collation compares text byte by byte.
  package var isBinaryCollated: Bool { folded(collation) == "binary" }
}

extension Affinity {
  /// Computes the affinity of a declared type by SQLite's rules.
  package init(declaredType: String) {
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

extension EntityTable {
  /// The attributes whose column alone has a unique index without a condition.
  package var uniqueAttributes: Set<Int> {
    let unique = uniqueIndexes.filter { $0.condition == nil && $0.parts.count == 1 }
      .compactMap { $0.parts[0].column }
    return Set(attributeColumns.indices.filter { unique.contains(column(ofAttribute: $0).name) })
  }
}

extension EntityTable {
  /// The attributes and to-one relationships whose columns are all key columns.
  package var keyProperties: Set<Property> {
    let columns = Set(key.kind == .hash ? [] : key.columns)
    let attributes = attributeColumns.indices
      .filter { columns.contains(column(ofAttribute: $0).name) }.map { Property.attribute($0) }
    let links = relationships.indices.filter {
      guard case .foreignKey(let link) = relationships[$0] else { return false }
      return columns.isSuperset(of: link.columns)
    }
    return Set(attributes + links.map { .relationship($0) })
  }
}

/// A uniqueness constraint. Finds the rows that a REPLACE deletes.
package struct UniqueIndex: Sendable, Hashable {
  package struct Part: Sendable, Hashable {
    /// SQL over the table's own column names: a quoted column, or an expression in parentheses.
    package let expression: String
    /// The name of the column; nil for an expression.
    package let column: String?
    package let collation: String

    package init(expression: String, column: String?, collation: String) {
      self.expression = expression
      self.column = column
      self.collation = collation
    }
  }

  package let name: String
  package let parts: [Part]
  /// The SQL condition of a partial index.
  package let condition: String?

  package init(name: String, parts: [Part], condition: String?) {
    self.name = name
    self.parts = parts
    self.condition = condition
  }
}

/// Columns of a table that refer to columns of another table.
package struct ForeignKey: Sendable, Hashable {
  /// The referring columns, parallel to `referenced`.
  package let columns: [String]
  /// The referenced table, as named in the catalog.
  package let table: String
  package let referenced: [String]
  /// True if `referenced` are the key's columns, in key order, and only identical values refer to
  /// them: then the columns hold the id.
  package let referencesKey: Bool
  /// For an ordered to-many relationship, the additional column that orders the rows that refer to
  /// one object. nil without an order.
  package let position: String?
  /// The comparison of each column with the column that it refers to; parallel to `columns`.
  package let comparisons: [ForeignKeyComparison]

  /// - Parameter comparisons: nil if each column refers only to the identical value.
  package init(
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

/// The place in which a relationship is stored.
package enum RelationshipStorage: Sendable, Hashable {
  /// To-one: columns of this entity's own table.
  case foreignKey(ForeignKey)
  /// To-many: columns of the destination's table that refer to this entity's.
  case inverse(ForeignKey)
  /// To-many: rows of a join table. `source` refers to this entity, `destination` to the other.
  case joinTable(table: Int, source: ForeignKey, destination: ForeignKey)
}

extension RelationshipStorage {
  /// The foreign key that refers to the relationship's owner; nil for to-one relationships.
  package var ownerKey: ForeignKey? {
    switch self {
    case .foreignKey: nil
    case .inverse(let key): key
    case .joinTable(_, let source, _): source
    }
  }

  /// False for a to-one relationship whose columns do not hold the related id.
  package var isStoredAsID: Bool {
    if case .foreignKey(let key) = self { key.referencesKey } else { true }
  }

  /// The columns by their names: `(team_id)`, `member(team_id, user_id)`.
  func text(_ joinTables: [JoinTable]) -> String {
    switch self {
    case .foreignKey(let key), .inverse(let key): "(\(key.columns.joined(separator: ", ")))"
    case .joinTable(let table, let source, let destination):
      "\(joinTables[table].name)(\((source.columns + destination.columns).joined(separator: ", ")))"
    }
  }
}

/// A table with exactly two foreign keys and at most a key of its own.
package struct JoinTable: Sendable, Hashable {
  package let name: String
  /// The key of its rows: a declared one, its two foreign keys, or the rowid.
  package let key: Key
  package let columns: [Column]
  package let first: ForeignKey
  package let second: ForeignKey
  /// The entities that `first` and `second` refer to.
  package let firstEntity: Int
  package let secondEntity: Int
  package let uniqueIndexes: [UniqueIndex]

  package init(
    name: String, key: Key, columns: [Column], first: ForeignKey, second: ForeignKey,
    firstEntity: Int, secondEntity: Int, uniqueIndexes: [UniqueIndex]
  ) {
    self.name = name
    self.key = key
    self.columns = columns
    self.first = first
    self.second = second
    self.firstEntity = firstEntity
    self.secondEntity = secondEntity
    self.uniqueIndexes = uniqueIndexes
  }

  package var quotedName: String { quoted(name) }

  /// True if two rows may link the same objects. An object is related once, however many rows link it.
  var mayRepeat: Bool {
    let columns = (first.columns + second.columns).map(folded)
    let isKeyUnique: Bool =
      switch key.kind {
      case .column, .composite, .rowidAlias: key.columns.allSatisfy { columns.contains(folded($0)) }
      case .rowid, .hash: false
      }
    let isUnique = uniqueIndexes.contains { index in
      index.condition == nil
        && index.parts.allSatisfy { part in
          part.column.map { columns.contains(folded($0)) } ?? false
        }
    }
    let isExact = (first.comparisons + second.comparisons).allSatisfy(\.isExact)
    return !isExact || !isKeyUnique && !isUnique
  }
}
