// The model that a file remembers + another version of it + the file's data → the statements that
// lead from one to the other, and every reason why they would lose something.
//
// A table whose columns stay as they are is left alone. Any other is made anew beside the old one,
// filled from it, and takes its place; so the plan is the same for every kind of change.

import FetchModel

/// What a migration will do.
public struct MigrationPlan: Sendable {
  /// A step as people read it.
  public internal(set) var steps: [String] = []
  /// Why it cannot be done; empty where it can.
  public internal(set) var refusals: [String] = []
  /// What is lost, and only done where that is allowed.
  public internal(set) var losses: [String] = []
  /// Where the copy of the file as it was before is; nil without one.
  public internal(set) var backup: String?
  var statements: [NamedStatement] = []

  /// Whether the file's tables stay as they are.
  public var isEmpty: Bool { statements.isEmpty }
}

/// Makes the plan of one migration.
struct MigrationPlanner {
  let old: ModelTables
  let new: ModelTables
  let match: ModelMatch
  let connection: Connection
  private(set) var plan = MigrationPlan()
  /// The old tables whose rows and columns stay.
  private var kept: Set<String> = []
  private var rebuilt: [String] = []

  /// - Throws: where the file's data cannot be read.
  init(
    from old: ModelFile, to new: ModelFile, on connection: Connection
  ) throws(StoreError) {
    self.old = ModelTables(old)
    self.new = ModelTables(new)
    match = ModelMatch(from: old, to: new)
    self.connection = connection
    try make()
  }

  private mutating func make() throws(StoreError) {
    try findLosses()
    for table in new.tables {
      if table.isJoin { try planJoin(table) } else { try planTable(table) }
    }
    replaceTables()
    changeIndexes()
    recompute()
  }

  mutating func refuse(_ reason: String) { plan.refusals.append(reason) }

  mutating func add(_ step: String, _ sql: [String]) {
    plan.steps.append(step)
    plan.statements += sql.map { NamedStatement(name: step, sql: $0) }
  }

  static func draft(_ table: String) -> String { "migrating_\(table)" }

  func count(_ sql: String) throws(StoreError) -> Int64 {
    try connection.first(sql) { $0.integer(0) } ?? 0
  }
}

// MARK: - Tables of entities

/// The rows of one old table that become rows of a new one.
struct MigrationSource {
  let table: PlannedTable
  /// What its entities were called and are called.
  let entities: [(old: String, new: String)]
  let isWhole: Bool
}

extension MigrationPlanner {
  private mutating func planTable(_ table: PlannedTable) throws(StoreError) {
    guard let root = table.root else { return }
    let sources = sources(of: root)
    if sources.count == 1, isUnchanged(table, sources[0]) {
      kept.insert(table.name)
      return
    }
    let draft = Self.draft(table.name)
    rebuilt.append(table.name)
    guard !sources.isEmpty else {
      return add("create the table \(table.name)", [table.creation(as: draft)])
    }
    try checkIDs(sources, table)
    var statements = [table.creation(as: draft)]
    for source in sources { statements.append(try copy(source, to: table, draft)) }
    let names = sources.map(\.table.name).joined(separator: ", ")
    add("make the table \(table.name) anew from \(names)", statements)
  }

  private func sources(of root: String) -> [MigrationSource] {
    let family = [root] + new.file.subentities(of: root).map(\.name)
    let pairs = family.compactMap { name in match.oldEntity(of: name).map { (old: $0, new: name) } }
    return old.tables.filter { !$0.isJoin }.compactMap { table in
      let mine = pairs.filter { old.file.root(of: $0.old) == table.root }
      guard !mine.isEmpty, let oldRoot = table.root else { return nil }
      let all = [oldRoot] + old.file.subentities(of: oldRoot).map(\.name)
      return MigrationSource(
        table: table, entities: mine, isWhole: Set(all) == Set(mine.map(\.old)))
    }
  }

  private func isUnchanged(_ table: PlannedTable, _ source: MigrationSource) -> Bool {
    guard source.isWhole, source.table == table,
      source.entities.allSatisfy({ $0.old == $0.new })
    else { return false }
    return source.entities.allSatisfy { pair in
      let attributes = new.file.attributes(of: pair.new).allSatisfy {
        match.oldAttribute($0, of: pair.new).map(\.name) == $0.name
      }
      let relationships = new.file.relationships(of: pair.new).allSatisfy { relationship in
        let before = match.oldRelationship(relationship, of: pair.new)
        return before?.name == relationship.name && before?.isToMany == relationship.isToMany
      }
      return attributes && relationships
    }
  }

  /// Ids are permanent: rows of two tables can only become one table's where none has the other's.
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
            + "\(common) ids stand in both")
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

  /// One value for all entities, or one for each.
  private static func choice(_ values: [(entity: String, value: String)]) -> String {
    guard let first = values.first, values.contains(where: { $0.value != first.value }) else {
      return values.first?.value ?? "NULL"
    }
    let cases = values.map { "WHEN \(literal($0.entity)) THEN \($0.value)" }
    return "CASE o.\(quoted(ModelTables.discriminatorName)) \(cases.joined(separator: " ")) END"
  }

  private mutating func value(
    of column: PlannedColumn, in source: MigrationSource, _ pair: (old: String, new: String)
  ) throws(StoreError) -> String {
    switch column.role {
    case .key: return "o.\(ModelTriggers.id)"
    case .discriminator: return literal(pair.new)
    case .field, .end: return "NULL"
    case .position(let key): return try placeValue(key, pair)
    case .property(let key):
      guard new.file.isKind(pair.new, of: key.entity) else { return "NULL" }
      let declarer = new.file.entity(named: key.entity)
      if let attribute = declarer?.attributes.first(where: { $0.name == key.property }) {
        return try attributeValue(attribute, column, source, pair)
      }
      guard let relationship = new.file.relationship(key.property, of: key.entity) else {
        return "NULL"
      }
      return try linkValue(relationship, key, pair)
    }
  }

  private mutating func attributeValue(
    _ attribute: ModelFile.Attribute, _ column: PlannedColumn, _ source: MigrationSource,
    _ pair: (old: String, new: String)
  ) throws(StoreError) -> String {
    let name = "\(pair.new).\(attribute.name)"
    let fallback = attribute.literalDefault ?? (column.defaultSQL ?? "NULL")
    let before = match.oldAttribute(attribute, of: pair.new)
    guard let before, before.derivation == nil || attribute.derivation != nil,
      !before.isTransient, let stored = old.column(before.name, of: pair.old)
    else {
      if !attribute.isOptional, attribute.derivation == nil, fallback == "NULL",
        try rows(source, pair) > 0
      {
        refuse("\(name) is not optional and has no default for the objects that are there")
      }
      return fallback
    }
    guard before.type.widens(to: attribute.type), before.transformer == attribute.transformer
    else {
      refuse(
        "\(name) was \(before.type.rawValue): no value of it is known to be a "
          + attribute.type.rawValue)
      return "NULL"
    }
    let value = "o.\(quoted(stored))"
    guard !attribute.isOptional, attribute.derivation == nil else { return value }
    guard fallback == "NULL" else { return "coalesce(\(value), \(fallback))" }
    let missing = try rows(source, pair, where: "\(value) IS NULL")
    if before.isOptional, missing > 0 {
      refuse("\(name) is not optional and has no default, and \(missing) objects have no value")
    }
    return value
  }

  private func rows(
    _ source: MigrationSource, _ pair: (old: String, new: String), where condition: String = "TRUE"
  ) throws(StoreError) -> Int64 {
    let kind =
      source.table.column(.discriminator) == nil
      ? "" : " AND o.\(quoted(ModelTables.discriminatorName)) = \(literal(pair.old))"
    return try count(
      "SELECT count(*) FROM \(quoted(source.table.name)) AS o WHERE \(condition)\(kind)")
  }
}

// MARK: - Replacing, indexes, derived values

extension MigrationPlanner {
  private mutating func replaceTables() {
    let dropped = old.tables.map(\.name).filter { !kept.contains($0) }
    let highest = rebuilt.compactMap { name -> String? in
      let sources = old.tables.filter { table in
        table.root.map { match.newEntity(of: $0).map(new.file.root(of:)) == name } ?? false
      }
      guard !sources.isEmpty else { return nil }
      // Ids that were given once are never given again.
      return """
        UPDATE sqlite_sequence SET seq = max(seq, (SELECT coalesce(max(seq), 0) \
        FROM sqlite_sequence WHERE name IN \
        (\(sources.map { literal($0.name) }.joined(separator: ", "))))) \
        WHERE name = \(literal(Self.draft(name)))
        """
    }
    plan.statements += highest.map { NamedStatement(name: "ids", sql: $0) }
    for name in dropped {
      plan.statements.append(
        NamedStatement(name: "replace \(name)", sql: "DROP TABLE \(quoted(name))"))
    }
    for name in dropped where !rebuilt.contains(name) {
      plan.steps.append("remove the table \(name)")
    }
    for name in rebuilt {
      plan.statements.append(
        NamedStatement(
          name: "replace \(name)",
          sql: "ALTER TABLE \(quoted(Self.draft(name))) RENAME TO \(quoted(name))"))
    }
  }

  mutating func keep(_ table: String) { kept.insert(table) }
  mutating func rebuild(_ table: String) { rebuilt.append(table) }

  private mutating func changeIndexes() {
    // Those of tables that went are gone with them.
    let keptNames = kept
    let isKept = { (statement: NamedStatement) in
      keptNames.contains { statement.sql.contains(" ON \(quoted($0))(") }
    }
    let before = old.indexes.filter(isKept)
    for index in before where !new.indexes.contains(index) {
      add("remove the index \(index.name)", ["DROP INDEX IF EXISTS \(quoted(index.name))"])
    }
    for index in new.indexes where !before.contains(index) {
      if isKept(index) { plan.steps.append("create the index \(index.name)") }
      plan.statements.append(index)
    }
  }

  /// Gives derived attributes the values that triggers keep from then on.
  private mutating func recompute() {
    let triggers = ModelTriggers(new)
    for entity in new.file.entities {
      for attribute in entity.attributes {
        guard let derivation = attribute.derivation, !attribute.isTransient,
          match.oldAttribute(attribute, of: entity.name)?.derivation != derivation
        else { continue }
        let key = PropertyKey(entity: entity.name, property: attribute.name)
        let sql =
          DerivedTriggers(triggers: triggers, key: key).recomputation(derivation)
          ?? textRecomputation(key, derivation)
        if let sql { add("compute \(entity.name).\(attribute.name)", [sql]) }
      }
    }
  }

  private func textRecomputation(_ key: PropertyKey, _ derivation: Derivation) -> String? {
    guard case .text(let function, let source) = derivation,
      let column = new.columnNames[key], let read = new.column(source, of: key.entity)
    else { return nil }
    return """
      UPDATE \(quoted(new.file.root(of: key.entity))) SET \(quoted(column)) = \
      livefetch_\(function.rawValue)(\(quoted(read))) WHERE \(quoted(read)) IS NOT NULL
      """
  }
}

// MARK: - Losses

extension MigrationPlanner {
  /// What the old version holds and the new one has no place for.
  private mutating func findLosses() throws(StoreError) {
    for entity in old.file.entities {
      guard let table = old.table(of: entity.name) else { continue }
      let kinds =
        table.column(.discriminator) == nil
        ? "TRUE" : "\(quoted(ModelTables.discriminatorName)) = \(literal(entity.name))"
      let heirs = match.newEntity(of: entity.name)
      if heirs == nil, !entity.isAbstract {
        try lose("every object of \(entity.name)", "\(quoted(table.name)) WHERE \(kinds)")
      }
      for attribute in entity.attributes where attribute.derivation == nil {
        guard !isKept(attribute, of: entity.name), heirs != nil,
          let column = old.column(attribute.name, of: entity.name)
        else { continue }
        try lose(
          "the values of \(entity.name).\(attribute.name)",
          "\(quoted(table.name)) WHERE \(quoted(column)) IS NOT NULL")
      }
      for relationship in entity.relationships where heirs != nil {
        try findLoss(of: relationship, in: entity.name, table)
      }
    }
  }

  private func isKept(_ attribute: ModelFile.Attribute, of entity: String) -> Bool {
    new.file.entities.contains { candidate in
      guard let before = match.oldEntity(of: candidate.name),
        old.file.isKind(before, of: entity)
      else { return false }
      return new.file.attributes(of: candidate.name).contains {
        match.oldAttribute($0, of: candidate.name)?.name == attribute.name && !$0.isTransient
      }
    }
  }

  private mutating func findLoss(
    of relationship: ModelFile.Relationship, in entity: String, _ table: PlannedTable
  ) throws(StoreError) {
    let isKept = new.file.entities.contains { candidate in
      new.file.relationships(of: candidate.name).contains { now in
        match.oldRelationship(now, of: candidate.name) == relationship
          || new.file.inverse(of: now).map {
            match.oldRelationship($0, of: now.destination) == relationship
          } ?? false
      }
    }
    // An inverse that is kept keeps the links.
    let inverseIsKept =
      old.file.inverse(of: relationship).map { inverse in
        new.file.entities.contains { candidate in
          new.file.relationships(of: candidate.name).contains {
            match.oldRelationship($0, of: candidate.name) == inverse
          }
        }
      } ?? false
    guard !isKept, !inverseIsKept else { return }
    switch old.links[PropertyKey(entity: entity, property: relationship.name)] {
    case .column(let column)?:
      try lose(
        "the links of \(entity).\(relationship.name)",
        "\(quoted(table.name)) WHERE \(quoted(column)) IS NOT NULL")
    case .join(let join, _, _)?:
      try lose("the links of \(entity).\(relationship.name)", quoted(join))
    case .members?, nil: break
    }
  }

  private mutating func lose(_ what: String, _ rows: String) throws(StoreError) {
    let lost = try count("SELECT count(*) FROM \(rows)")
    if lost > 0 { plan.losses.append("\(what) (\(lost))") }
  }
}

// MARK: - Types

extension ModelFile.AttributeType {
  /// Whether every value of it is one of `other`.
  fileprivate func widens(to other: Self) -> Bool {
    if self == other { return true }
    return switch (self, other) {
    case (.integer16, .integer32), (.integer16, .integer64), (.integer32, .integer64),
      (.integer16, .decimal), (.integer32, .decimal), (.integer64, .decimal),
      (.integer16, .float), (.integer16, .double), (.integer32, .double), (.float, .double),
      (.uuid, .string), (.uri, .string):
      true
    default: false
    }
  }
}

extension ModelFile.Attribute {
  /// The default as SQL, also of attributes whose column has none.
  fileprivate var literalDefault: String? { isOpaque ? nil : defaultLiteral }
}
