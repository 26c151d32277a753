// The parts of a model's tables, indexes and triggers that differ between databases.

import Bytes
import FetchModel
import SQLComposer

/// How one database writes the tables of a model.
package struct ModelDialect: Sendable {
  /// A column that reads a field of a transformable attribute.
  package struct Field {
    /// The declared type.
    package let type: String
    /// The text after GENERATED ALWAYS AS.
    package let generation: String

    package init(type: String, generation: String) {
      self.type = type
      self.generation = generation
    }
  }

  /// The purpose for which a trigger locks rows.
  package enum LockPurpose: Sendable {
    /// The trigger reads them.
    case read
    /// The trigger, or another one of the same statement, updates them.
    case update
  }

  /// A trigger under construction.
  package struct Trigger {
    package let name: String
    /// For example `AFTER UPDATE OF "mayor"`.
    package let event: String
    package let table: String
    /// nil fires for every row.
    package let condition: String?
    package let statements: [String]
  }

  package let dialect: Dialect
  /// The qualifier of LiveFetch's own functions.
  package let functions: String
  /// The declaration of the column `id`.
  package let key: String
  /// The type of columns that refer to objects, and of positions.
  package let integer: String
  package let text: String
  /// True if a table may refer to one that is created later.
  package let hasForwardReferences: Bool
  /// True if a trigger fires again for changes that its own statements make.
  package let firesRecursively: Bool
  /// True if names that differ only in the case of ASCII letters are one name.
  package let foldsNames: Bool
  /// An expression for the present time as a stored date, in milliseconds.
  package let now: String
  /// Returns the declared type of an attribute's column.
  package let type: @Sendable (ModelFile.Attribute) -> String
  /// Returns an attribute's default as SQL; nil without one.
  package let defaultLiteral: @Sendable (ModelFile.Attribute) -> String?
  /// Returns the column of a field; nil for a type that no column of this database can have.
  package let field:
    @Sendable (_ source: String, _ names: [String], _ type: AttributeType) -> Field?
  /// Returns the name of an index or a trigger as the database keeps it.
  package let name: @Sendable (String) -> String
  /// Returns the statements that create a trigger.
  package let trigger: @Sendable (Trigger) -> String
  /// Returns a statement of a trigger that refuses the change with a message.
  package let refusal: @Sendable (String) -> String
  /// Returns the statements of a trigger that lock the rows of a table that a condition selects, so that
  /// the next statement sees what other transactions have committed; none in a database with one writer.
  package let lock: @Sendable (_ table: String, _ condition: String, LockPurpose) -> [String]

  /// Returns a value of an old column of another type as the type of an attribute, for a migration.
  package let conversion: @Sendable (String, ModelFile.Attribute) -> String
  /// Returns the statements after which the table `draft` assigns no id that one of the tables
  /// `sources` has assigned.
  package let keepIDs: @Sendable (_ draft: String, _ sources: [String]) -> [String]
  /// Returns the statement that removes a table to which others may refer.
  package let removal: @Sendable (String) -> String

  /// Returns the statements after which a table assigns no id up to the given one, or up to that of a
  /// row.
  package let reserveIDs: @Sendable (_ table: String, _ highest: Int64) -> [String]
  /// Returns a value in the form in which a statement assigns it to an attribute's column; nil if the
  /// column cannot store it exactly.
  package let stored: @Sendable (Value, ModelFile.Attribute) -> SQLValue?

  package init(
    dialect: Dialect, functions: String, key: String, integer: String, text: String,
    hasForwardReferences: Bool,
    firesRecursively: Bool, foldsNames: Bool = false, now: String,
    type: @escaping @Sendable (ModelFile.Attribute) -> String,
    defaultLiteral: @escaping @Sendable (ModelFile.Attribute) -> String?,
    field: @escaping @Sendable (String, [String], AttributeType) -> Field?,
    name: @escaping @Sendable (String) -> String,
    trigger: @escaping @Sendable (Trigger) -> String,
    refusal: @escaping @Sendable (String) -> String,
    lock: @escaping @Sendable (String, String, LockPurpose) -> [String] = { _, _, _ in [] },
    conversion: @escaping @Sendable (String, ModelFile.Attribute) -> String,
    keepIDs: @escaping @Sendable (String, [String]) -> [String],
    removal: @escaping @Sendable (String) -> String,
    reserveIDs: @escaping @Sendable (String, Int64) -> [String],
    stored: @escaping @Sendable (Value, ModelFile.Attribute) -> SQLValue?
  ) {
    self.dialect = dialect
    self.functions = functions
    self.key = key
    self.integer = integer
    self.text = text
    self.hasForwardReferences = hasForwardReferences
    self.firesRecursively = firesRecursively
    self.foldsNames = foldsNames
    self.now = now
    self.type = type
    self.defaultLiteral = defaultLiteral
    self.field = field
    self.name = name
    self.trigger = trigger
    self.refusal = refusal
    self.lock = lock
    self.conversion = conversion
    self.keepIDs = keepIDs
    self.removal = removal
    self.reserveIDs = reserveIDs
    self.stored = stored
  }
}

// MARK: - SQLite

extension ModelDialect {
  /// SQLite's tables. The type of an attribute follows from the first word of the declared type.
  package static let sqlite = ModelDialect(
    dialect: .sqlite, functions: "",
    // An id is never assigned twice.
    key: "INTEGER PRIMARY KEY AUTOINCREMENT", integer: "INTEGER", text: "TEXT",
    hasForwardReferences: true, firesRecursively: false, foldsNames: true,
    now: "round((julianday('now') - 2440587.5) * 86400.0, 3)",
    type: { $0.isOpaque ? "BLOB" : $0.type.declaration },
    defaultLiteral: \.sqliteDefault,
    field: { source, names, type in
      let path = "$" + names.map { ".\"\($0)\"" }.joined()
      return Field(
        type: type.fieldDeclaration,
        generation: """
          (CASE WHEN json_valid(\(quoted(source))) \
          THEN json_extract(\(quoted(source)), \(literal(path))) END) VIRTUAL
          """)
    },
    name: { $0 },
    trigger: { trigger in
      let when = trigger.condition.map { " WHEN \($0)" } ?? ""
      let body = trigger.statements.map { "\($0); " }.joined()
      return """
        CREATE TRIGGER \(quoted(trigger.name)) \(trigger.event) ON \(quoted(trigger.table))\(when) \
        BEGIN \(body)END
        """
    },
    refusal: { "SELECT RAISE(ABORT, \(literal($0)))" },
    conversion: { value, _ in value },
    keepIDs: { draft, sources in
      let draft = literal(draft)
      return [
        """
        INSERT INTO sqlite_sequence(name, seq) SELECT \(draft), 0 \
        WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = \(draft))
        """,
        """
        UPDATE sqlite_sequence SET seq = max(seq, (SELECT coalesce(max(seq), 0) \
        FROM sqlite_sequence WHERE name COLLATE NOCASE IN \
        (\(sources.map(literal).joined(separator: ", "))))) WHERE name = \(draft)
        """,
      ]
    },
    removal: { "DROP TABLE \(quoted($0))" },
    reserveIDs: { table, highest in
      [
        "DELETE FROM sqlite_sequence WHERE name = \(literal(table))",
        """
        INSERT INTO sqlite_sequence(name, seq) SELECT \(literal(table)), \
        max(\(highest), coalesce(max(\(quoted(ModelTables.keyName))), 0)) FROM \(quoted(table))
        """,
      ]
    },
    stored: { value, attribute in value.stored(in: attribute.sqliteColumn) })
}

extension ModelFile.AttributeType {
  fileprivate var declaration: String {
    switch self {
    case .integer16, .integer32, .integer64: "INTEGER"
    case .decimal: "DECIMAL"
    case .double, .float: "REAL"
    case .string: "TEXT"
    case .boolean: "BOOLEAN"
    case .date: "TIMESTAMP REAL"
    case .binary: "BLOB"
    case .uuid: "UUID TEXT"
    case .uri: "URI TEXT"
    case .transformable: "JSON TEXT"
    }
  }
}

extension AttributeType {
  /// The declared type of a generated column; a date in JSON is text.
  fileprivate var fieldDeclaration: String {
    switch self {
    case .integer: "INTEGER"
    case .double: "REAL"
    case .decimal: "DECIMAL"
    case .boolean: "BOOLEAN"
    case .date: "TIMESTAMP TEXT"
    case .string, .binary, .uuid, .uri, .json: "TEXT"
    }
  }
}

extension ModelFile.Attribute {
  /// True if a registered transformer defines the stored format.
  package var isOpaque: Bool {
    transformer.map { !ModelFile.builtInTransformers.contains($0) } ?? false
  }

  fileprivate var sqliteColumn: Column {
    Column(
      name: name, affinity: Affinity(declaredType: type.declaration), type: storedType,
      dateFormat: storedType == .date ? .unixSeconds : nil)
  }

  fileprivate var sqliteDefault: String? {
    guard let json = defaultValue, let value = Value(json, as: storedType) else { return nil }
    return switch value.stored(in: sqliteColumn) {
    case .integer(let integer): "\(integer)"
    case .double(let double) where double.isInfinite: double < 0 ? "-9e999" : "9e999"
    case .double(let double): "\(double)"
    case .text(let text): literal(text)
    case .blob(let bytes): "X'\(Hexadecimal.text(of: bytes))'"
    case .null, nil: nil
    }
  }
}
