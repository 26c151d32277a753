// What a file remembers of each table that it follows or followed.
//
//     livefetch_table(name, number, since, shape, relationships)
//
// A table that was altered, rebuilt or dropped loses its own history and nobody else's: `since` is
// the position at which what is kept of it begins, and a fetch that touches it can be continued
// from tokens of that position on. Records of tables that are gone stay, so that a number is never
// given twice, nor a relationship's name another meaning unnoticed.

import FetchModel

/// The record of one table.
struct TableRecord {
  static let table = """
    CREATE TABLE IF NOT EXISTS livefetch_table(name TEXT PRIMARY KEY, number INTEGER NOT NULL, \
    since INTEGER NOT NULL, shape TEXT NOT NULL, relationships TEXT NOT NULL) WITHOUT ROWID;
    """

  /// What `livefetch_position.source` says for its rows.
  let number: Int
  /// The position at which its history begins.
  let since: Int64
  let shape: String
  /// Every to-many relationship that its objects ever had, see ``TableSignature``.
  let relationships: [String: String]

  /// Whether fetches of before go on: nothing that they can have asked means something else now.
  func isContinued(by signature: TableSignature) -> Bool {
    shape == signature.shape && hasKept(signature)
  }

  /// Whether no to-many relationship means something else now.
  func hasKept(_ signature: TableSignature) -> Bool {
    signature.relationships.allSatisfy { relationships[$0] ?? $1 == $1 }
  }

  /// Whether there is nothing new to remember.
  func knows(_ signature: TableSignature) -> Bool {
    signature.relationships.keys.allSatisfy { relationships[$0] != nil }
  }
}

extension History {
  /// By the table's name; empty where nothing is followed.
  static func records(on connection: Connection) throws(StoreError) -> [String: TableRecord] {
    let isThere = try connection.first(
      "SELECT 1 FROM main.sqlite_schema WHERE type = 'table' AND name = 'livefetch_table'"
    ) { _ in true }
    guard isThere == true else { return [:] }
    let rows = try connection.all(
      "SELECT name, number, since, shape, relationships FROM main.livefetch_table"
    ) { row in
      (
        row.text(0),
        TableRecord(
          number: Int(row.integer(1)), since: row.integer(2), shape: row.text(3),
          relationships: Self.relationships(row.text(4)))
      )
    }
    return Dictionary(rows, uniquingKeysWith: { first, _ in first })
  }

  private static func relationships(_ text: String) -> [String: String] {
    guard case .object(let members)? = try? JSON(parsing: Array(text.utf8)) else { return [:] }
    let pairs = members.compactMap { member in member.value.string.map { (member.name, $0) } }
    return Dictionary(pairs, uniquingKeysWith: { first, _ in first })
  }

  /// Remembers what `table` is now; with the relationships that it had.
  func remember(
    _ table: FollowedTable, since: Int64, _ known: TableRecord?, on connection: Connection
  ) throws(StoreError) {
    let signature = TableSignature(table, schema, model)
    let all = (known?.relationships ?? [:]).merging(signature.relationships) { $1 }
    let members = all.sorted { $0.key < $1.key }
      .map { JSON.Member(name: $0.key, value: .string($0.value)) }
    var json: [UInt8] = []
    json.append(json: .object(members))
    try connection.run(
      "INSERT OR REPLACE INTO main.livefetch_table VALUES (?, ?, ?, ?, ?)",
      [
        .text(table.layout.table), .integer(Int64(table.number)), .integer(since),
        .text(signature.shape), .text(String(decoding: json, as: UTF8.self)),
      ])
  }
}

// MARK: - Tokens of one fetch

extension History {
  /// Whether history reaches back to `token` for everything that `plan` touches.
  func standing(
    of token: Token, for plan: FetchPlan, on connection: Connection
  ) throws(StoreError) -> TokenStanding {
    guard try standing(of: token, on: connection) == .known else { return .expired }
    let cut = try connection.all(
      "SELECT number FROM main.livefetch_table WHERE since > ?", [.integer(token.position)]
    ) { Int($0.integer(0)) }
    guard cut.isEmpty || numbers(of: plan).isDisjoint(with: cut) else { return .expired }
    let columns = try columns(changedAfter: token.position, on: connection)
    return columns.isEmpty ? .known : PlanColumns(plan, self).standing(columns)
  }

  /// The tables that the answers to `plan` hang on.
  private func numbers(of plan: FetchPlan) -> Set<Int> {
    var names: Set<String> = [schema.entities[plan.definition.entity].name]
    let expansion = Set(plan.expansion)
    for path in plan.paths { addTables(of: path, isWhole: expansion.contains(path), to: &names) }
    return Set(tables.filter { names.contains($0.layout.table) }.map(\.number))
  }

  /// - Parameter isWhole: whether the objects at the end are shown, and not their ids alone: these
  ///   may stand where the path comes from.
  private func addTables(of path: PropertyPath, isWhole: Bool, to names: inout Set<String>) {
    var entity = path.root
    for (place, step) in path.steps.enumerated() {
      let storage = schema.entities[entity].relationships[step]
      entity = model.entities[entity].relationships[step].destination
      let isEnd = place == path.steps.count - 1 && path.target == .object && !isWhole
      if isEnd, case .foreignKey(let key) = storage, key.referencesKey { return }
      if case .joinTable(let join, _, _) = storage { names.insert(schema.joinTables[join].name) }
      names.insert(schema.entities[entity].name)
    }
  }
}
