// The model that a file stores, another version of it, and the file's tables and data → the statements
// that migrate the file, and every reason why something would be lost.
//
// A table whose columns stay the same is left unchanged. Any other is created again under another
// name, filled from the old one, and replaces it. So every kind of change has the same plan.

import FetchModel
import SQLComposer

/// Makes the plan of a migration.
package struct MigrationPlanner {
  let old: ModelTables
  let new: ModelTables
  let match: ModelMatch
  /// The tables of the store.
  let catalog: [TableDescription]
  /// The objects that are dropped with a table of the catalog, by its name: `index mine`.
  let dependents: [String: [String]]
  /// Returns the number that a query returns.
  let count: (String) throws(StoreError) -> Int64
  /// Returns the statements that give a new table the privileges of the old ones whose rows it takes
  /// over, and those that are lost.
  private let privileges:
    (_ table: String, _ origins: [String]) -> (statements: [String], losses: [String])
  package private(set) var plan = MigrationPlan()
  /// The statements of the migration; empty if the tables stay the same.
  package private(set) var statements: [NamedStatement] = []
  /// The old tables whose rows and columns stay.
  var kept: Set<String> = []
  var rebuilt: [String] = []

  /// - Parameters:
  ///   - catalog: The tables of the store.
  ///   - dependents: By a table's name: the objects that are dropped with it and that no model makes.
  ///   - count: Returns the number that a query of the old tables returns.
  ///   - privileges: Returns the statements that give a new table the privileges of old ones, and those
  ///     that are lost. Without it a table has none.
  /// - Throws: An error if the store's data cannot be read.
  package init(
    from old: ModelTables, to new: ModelTables, catalog: [TableDescription],
    dependents: [String: [String]],
    count: @escaping (String) throws(StoreError) -> Int64,
    privileges:
      @escaping (_ table: String, _ origins: [String]) -> (
        statements: [String], losses: [String]
      ) = { _, _ in ([], []) }
  ) throws(StoreError) {
    self.old = old
    self.new = new
    match = ModelMatch(from: old.file, to: new.file)
    self.catalog = catalog
    self.dependents = dependents
    self.count = count
    self.privileges = privileges
    try make()
  }

  private mutating func make() throws(StoreError) {
    kept = Set(new.tables.filter(isUnchanged).map(\.name))
    checkNames()
    guard plan.refusals.isEmpty else { return }
    try findLosses()
    try findUnknownObjects()
    let repeated = old.repeatedNames
    for problem in new.repeatedNames where !repeated.contains(problem) { refuse(problem) }
    for table in new.tables where !kept.contains(table.name) {
      if table.isJoin { try planJoin(table) } else { try planTable(table) }
    }
    try checkUniqueness()
    try checkDestinations()
    replaceTables()
    addReferences()
    changeIndexes()
    // Before values are computed: a table with deferred checks cannot be altered.
    movePrivileges()
    recompute()
  }

  private mutating func movePrivileges() {
    for table in new.tables where !kept.contains(table.name) {
      let origins = table.root.map { sources(of: $0).map(\.table.name) } ?? origins(ofJoin: table)
      let moves = privileges(table.name, origins)
      for loss in moves.losses { append(loss: loss) }
      for sql in moves.statements {
        add(NamedStatement(name: "privileges of \(table.name)", sql: sql))
      }
    }
  }

  mutating func refuse(_ reason: String) { plan.refusals.append(reason) }

  mutating func add(_ step: String, _ sql: [String]) {
    plan.steps.append(step)
    statements += sql.map { NamedStatement(name: step, sql: $0) }
  }

  mutating func add(_ statement: NamedStatement) { statements.append(statement) }
  mutating func append(step: String) { plan.steps.append(step) }
  mutating func append(loss: String) { plan.losses.append(loss) }

  /// The name of a new table until the old one is removed.
  func draft(_ table: String) -> String { new.dialect.name("migrating_\(table)") }

  /// Returns the statement that creates a table under another name. References may follow later.
  func creation(_ table: PlannedTable, as draft: String) -> String {
    table.creation(as: draft, hasReferences: new.dialect.hasForwardReferences)
  }
}

// MARK: - Tables of entities

/// The rows of an old table that become rows of a new one.
struct MigrationSource {
  let table: PlannedTable
  /// The old and new names of its entities.
  let entities: [(old: String, new: String)]
  let isWhole: Bool
}

extension MigrationPlanner {
  private mutating func planTable(_ table: PlannedTable) throws(StoreError) {
    guard let root = table.root else { return }
    let sources = sources(of: root)
    let draft = draft(table.name)
    rebuilt.append(table.name)
    guard !sources.isEmpty else {
      return add("create the table \(table.name)", [creation(table, as: draft)])
    }
    try checkIDs(sources, table)
    var statements = [creation(table, as: draft)]
    for source in sources { statements.append(try copy(source, to: table, draft)) }
    let names = sources.map(\.table.name).joined(separator: ", ")
    add("rebuild the table \(table.name) from \(names)", statements)
  }

  private func sources(of root: String) -> [MigrationSource] {
    let family = [root] + new.file.subentities(of: root).map(\.name)
    let pairs = family.compactMap { name in match.oldEntity(of: name).map { (old: $0, new: name) } }
    return old.tables.filter { !$0.isJoin }.compactMap { table in
      let matching = pairs.filter { old.file.root(of: $0.old) == table.root }
      guard !matching.isEmpty, let oldRoot = table.root else { return nil }
      let all = [oldRoot] + old.file.subentities(of: oldRoot).map(\.name)
      return MigrationSource(
        table: table, entities: matching, isWhole: Set(all) == Set(matching.map(\.old)))
    }
  }

  /// True if the rows and columns of a new table are those of an old one.
  private func isUnchanged(_ table: PlannedTable) -> Bool {
    guard let root = table.root else { return isUnchangedJoin(table) }
    let sources = sources(of: root)
    guard sources.count == 1, let source = sources.first, source.isWhole, source.table == table,
      source.entities.allSatisfy({ $0.old == $0.new })
    else { return false }
    return source.entities.allSatisfy { pair in
      // A subentity's column may be NULL, also if the property is required: its values are checked.
      let attributes = new.file.attributes(of: pair.new).allSatisfy { attribute in
        let before = match.oldAttribute(attribute, of: pair.new)
        return before?.name == attribute.name
          && (attribute.isOptional || before?.isOptional == false || attribute.derivation != nil)
      }
      let relationships = new.file.relationships(of: pair.new).allSatisfy { relationship in
        let before = match.oldRelationship(relationship, of: pair.new)
        return before?.name == relationship.name && before?.isToMany == relationship.isToMany
          && (relationship.isOptional || before?.isOptional == false || relationship.isToMany)
      }
      return attributes && relationships
    }
  }

  /// Ids are permanent. Rows of two tables can become rows of one table only if no id occurs in
  /// both.
  private mutating func checkIDs(
    _ sources: [MigrationSource], _ table: PlannedTable
  ) throws(StoreError) {
    for (index, source) in sources.enumerated() {
      for other in sources[(index + 1)...] {
        let common = try count(
          """
          SELECT count(*) FROM \(quoted(source.table.name)) WHERE \(ModelTriggers.id) IN \
          (SELECT \(ModelTriggers.id) FROM \(quoted(other.table.name)))
          """)
        guard common > 0 else { continue }
        refuse(
          "\(source.table.name) and \(other.table.name) would share the table \(table.name), and "
            + "\(common) ids occur in both")
      }
    }
  }

  private mutating func copy(
    _ source: MigrationSource, to table: PlannedTable, _ draft: String
  ) throws(StoreError) -> String {
    var names: [String] = []
    var values: [String] = []
    for column in table.storedColumns {
      let byEntity = try source.entities.map { pair throws(StoreError) in
        (pair.old, try value(of: column, in: source, pair))
      }
      names.append(quoted(column.name))
      values.append(Self.choice(byEntity))
    }
    let condition =
      source.isWhole || source.table.column(.discriminator) == nil
      ? ""
      : " WHERE o.\(quoted(ModelTables.discriminatorName)) IN "
        + "(\(source.entities.map { literal($0.old) }.joined(separator: ", ")))"
    return """
      INSERT INTO \(quoted(draft))(\(names.joined(separator: ", "))) \
      SELECT \(values.joined(separator: ", ")) FROM \(quoted(source.table.name)) AS o\(condition)
      """
  }

  /// Returns SQL for one value for all entities, or for a value for each.
  private static func choice(_ values: [(entity: String, value: String)]) -> String {
    guard let first = values.first, values.contains(where: { $0.value != first.value }) else {
      return values.first?.value ?? "NULL"
    }
    let cases = values.map { "WHEN \(literal($0.entity)) THEN \($0.value)" }
    return "CASE o.\(quoted(ModelTables.discriminatorName)) \(cases.joined(separator: " ")) END"
  }
}
