// How a model's entities lie in the tables of a file. Introspection makes it; the SELECT composer,
// the history's triggers and the saves read it. Everything in it is parallel to Model's indexes, so
// an index that a plan holds is good here too.

import FetchModel

/// The tables behind a model.
struct Schema: Sendable, Hashable {
  /// Parallel to `Model.entities`.
  let entities: [EntityTable]
  /// The tables that are no entities but to-many relationships of two.
  let joinTables: [JoinTable]
  /// Whether a foreign key of the file is checked only at a commit.
  let hasDeferredKeys: Bool
  /// Whether text compares by its UTF-8, as it does unless the file holds UTF-16.
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

/// The table or view behind one entity.
struct EntityTable: Sendable, Hashable {
  /// The name as the catalogue has it.
  let name: String
  let isView: Bool
  let key: Key
  /// Every column in the table's order, the key's and generated ones among them.
  let columns: [Column]
  /// Parallel to `Entity.attributes`: indexes into `columns`.
  let attributeColumns: [Int]
  /// Parallel to `Entity.relationships`.
  let relationships: [RelationshipStorage]
  /// The table's uniqueness constraints besides the key's own.
  let uniqueIndexes: [UniqueIndex]
  /// Whether saves of it are followed by triggers.
  let isObservable: Bool

  var quotedName: String { quoted(name) }

  /// The column of an attribute, by the attribute's index in the entity.
  func column(ofAttribute index: Int) -> Column { columns[attributeColumns[index]] }

  /// The columns whose stored values an ETag is the hash of: all but generated ones.
  var etagColumns: [Column] { columns.filter { !$0.isGenerated } }

  /// SQL for an object's ETag, 16 hexadecimal digits: `livefetch_etag("t0"."id", "t0"."name")`.
  func etagExpression(_ alias: String?) -> String {
    let columns = etagColumns.map { qualified($0.name, alias) }
    return etagCall(columns)
  }
}

/// One column of a table or view.
struct Column: Sendable, Hashable {
  let name: String
  /// As written in the table's declaration; empty where none was.
  let declaredType: String
  let affinity: Affinity
  /// The collation that comparisons of this column use: `BINARY`, `NOCASE`, `RTRIM` or another.
  let collation: String
  let isNotNull: Bool
  /// The SQL text of its default; nil without one.
  let defaultSQL: String?
  let isGenerated: Bool
  let type: AttributeType
  /// How its dates are stored; nil for other types.
  let dateFormat: DateFormat?
  /// How its values are written, where SQLite does not compare them as what they are.
  let form: StoredForm?

  init(
    name: String, declaredType: String = "", affinity: Affinity = .blob,
    collation: String = "BINARY", isNotNull: Bool = false, defaultSQL: String? = nil,
    isGenerated: Bool = false, type: AttributeType, dateFormat: DateFormat? = nil,
    form: StoredForm? = nil
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
    self.form = form
  }

  /// Whether SQLite compares its text with constants that look like numbers as numbers.
  var takesTextForNumbers: Bool {
    (form == .text || form == .json) && affinity.isNumeric
  }

  /// Whether SQLite compares its text byte by byte unless told otherwise.
  var isBinary: Bool { folded(collation) == "binary" }
}

extension Affinity {
  /// The affinity of a declared type, by SQLite's rules.
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

/// The columns of a uniqueness constraint, for what REPLACE takes away.
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

/// Columns of one table that refer to columns of another.
struct ForeignKey: Sendable, Hashable {
  /// The referring columns, parallel to `referenced`.
  let columns: [String]
  /// The table referred to, as the catalogue has it.
  let table: String
  let referenced: [String]
  /// Whether `referenced` are the key's columns, in the key's order, and only their very values refer
  /// to them: the columns hold the id then.
  let referencesKey: Bool
  /// The column beside `columns` by whose values those who refer to one object are ordered: of the
  /// members of an ordered to-many relationship. nil where they have no order.
  let position: String?
  /// How each of the columns is compared with what it refers to; parallel to `columns`.
  let ties: [LinkTie]

  /// - Parameter ties: nil where each refers to nothing but the very value that it holds.
  init(
    columns: [String], table: String, referenced: [String], referencesKey: Bool,
    position: String? = nil, ties: [LinkTie]? = nil
  ) {
    self.columns = columns
    self.table = table
    self.referenced = referenced
    let ties = ties ?? columns.map { _ in LinkTie.plain }
    self.referencesKey = referencesKey && ties.allSatisfy(\.isExact)
    self.position = position
    self.ties = ties
  }
}

/// Where a relationship is kept.
enum RelationshipStorage: Sendable, Hashable {
  /// To-one: columns of this entity's own table.
  case foreignKey(ForeignKey)
  /// To-many: columns of the destination's table that refer to this entity's.
  case inverse(ForeignKey)
  /// To-many: rows of a table between. `source` refers to this entity, `destination` to the other.
  case joinTable(table: Int, source: ForeignKey, destination: ForeignKey)
}

/// A table of exactly two foreign keys and at most a key.
struct JoinTable: Sendable, Hashable {
  let name: String
  /// What tells its rows apart: a key of its own, its two foreign keys, or the row's number.
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
