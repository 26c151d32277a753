// Imports into a file: statements that are kept, rows of the wrong length, a full disk.

import FetchModel
import LiveFetchCSQLite
import TestSupport
import Testing

@testable import SQLiteStore

@Suite("Imports into a file", .mayBlock)
struct TableImportTests {
  private static let model = """
    {"version":"1","entities":[{"name":"C","attributes":[
      {"name":"n","type":"Integer 64"},{"name":"t","type":"String"}]}]}
    """

  private static let mandatory = """
    {"version":"1","entities":[
      {"name":"L","attributes":[{"name":"t","type":"String"}],"relationships":[
        {"name":"items","destination":"I","toMany":true,"optional":false,"inverse":"list"}]},
      {"name":"I","attributes":[{"name":"t","type":"String"}],"relationships":[
        {"name":"list","destination":"L","inverse":"items"}]}]}
    """

  /// A file with the model's tables, which saves import.
  private static func modelled(_ model: String = Self.model) throws -> ScratchFile {
    let file = try ScratchFile()
    var options = SQLiteStoreOptions()
    options.model = try ModelFile(parsing: Array(model.utf8))
    try SQLiteStore(path: file.path, options: options).close()
    return file
  }

  private static func countStatements(of connection: Connection) -> Int {
    var count = 0
    var statement = sqlite3_next_stmt(connection.handle, nil)
    while let current = statement {
      count += 1
      statement = sqlite3_next_stmt(connection.handle, current)
    }
    return count
  }

  @Test("Rows with a thousand different sets of fields keep a limited number of statements")
  func presentFields() throws {
    let names = (0..<10).map { "c\($0)" }
    let columns = names.map { "\($0) INTEGER" }.joined(separator: ", ")
    let file = try ScratchFile("CREATE TABLE T(id INTEGER PRIMARY KEY, \(columns))")
    let run = try TableImport(path: file.path, entity: "T")
    try run.use(properties: names)
    let before = Self.countStatements(of: run.connection)
    for set in 1...1_000 {
      let fields = names.indices.map { column -> ImportedField in
        set >> column & 1 == 1 ? .json(.number("\(column)")) : .missing
      }
      #expect(try run.add(fields) == nil)
    }
    #expect(Self.countStatements(of: run.connection) <= before + 101)
    try run.commit()
    let connection = try file.connect(.read)
    let sum = try connection.first("SELECT count(*), sum(c9), count(c0) FROM T") {
      [$0.integer(0), $0.integer(1), $0.integer(2)]
    }
    #expect(sum == [1_000, 9 * 489, 500])
  }

  @Test("A row with more or fewer values than columns is refused, also if a model validates rows")
  func wrongCount() throws {
    let plain = try ScratchFile("CREATE TABLE C(id INTEGER PRIMARY KEY, n INTEGER, t TEXT)")
    for file in [plain, try Self.modelled()] {
      let run = try TableImport(path: file.path, entity: "C")
      try run.use(properties: ["n", "t"])
      let number = ImportedField.json(.number("1"))
      #expect(
        try run.add([number])
          == RowRefusal(detail: "1 values, where 2 are expected"))
      #expect(
        try run.add([number, .json(.string("x")), number])
          == RowRefusal(detail: "3 values, where 2 are expected"))
      #expect(try run.add([number, .json(.string("x"))]) == nil)
      try run.commit()
    }
  }

  @Test("A row of a mandatory relationship costs the same with 20,000 members as with one")
  func mandatoryMembers() throws {
    let file = try Self.modelled(Self.mandatory)
    try file.runExternally(
      """
      INSERT INTO L(id, t) VALUES (1, 'a');
      WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
      INSERT INTO I(t, list) SELECT i, 1 FROM n;
      """)
    let run = try TableImport(path: file.path, entity: "I")
    try run.use(properties: ["t", "list"])
    let steps = MachineSteps(on: run.connection)
    for _ in 1...10 {
      #expect(try run.add([.json(.string("x")), .json(.number("1"))]) == nil)
    }
    // Each row that counts the members takes 60,000 steps and more.
    #expect(steps.thousands < 60)
    withExtendedLifetime(steps) { run.cancel() }
  }

  @Test("A full disk that ends the transaction is the error of an import with a model")
  func fullDisk() throws {
    let file = try Self.modelled()
    let run = try TableImport(path: file.path, entity: "C")
    try run.use(properties: ["n", "t"])
    // Without triggers SQLite undoes the whole transaction, as it does if a write to the disk fails.
    let triggers = try run.connection.all(
      "SELECT name FROM main.sqlite_schema WHERE type = 'trigger'"
    ) { $0.text(0) }
    for trigger in triggers { try run.connection.execute("DROP TRIGGER \"\(trigger)\"") }
    try run.connection.execute("PRAGMA max_page_count = 1")
    let text = String(repeating: "x", count: 1_000_000)
    #expect(throws: StoreError.diskFull) {
      try run.add([.json(.number("1")), .json(.string(text))])
    }
    #expect(run.connection.isInAutocommit)
    run.cancel()
  }
}
