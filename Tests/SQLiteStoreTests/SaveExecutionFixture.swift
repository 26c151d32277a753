// A test's file with its executor: saves in the JSON of clients, in a transaction that is rolled
// back if the save is refused, and rows as text.

import FetchModel
import SQLComposer

@testable import SQLiteStore

struct SaveExecutionFixture {
  let file: ScratchFile
  let connection: Connection
  let model: Model
  let schema: Schema
  let executor: SQLiteSaveExecutor

  init(_ sql: String) throws {
    file = try ScratchFile(sql)
    connection = try file.connect()
    try connection.execute("PRAGMA synchronous = OFF")
    let introspection = try Introspection(of: connection)
    model = introspection.model
    schema = introspection.schema
    executor = SQLiteSaveExecutor(model: introspection.model, schema: introspection.schema)
  }

  /// Executes a save, given as the body of `POST /v1/save`.
  @discardableResult
  func save(_ body: String) throws -> SaveResult {
    try execute(SaveResolver(model: model).resolve(JSON(parsing: Array(body.utf8))))
  }

  /// Executes the change of a single-object request.
  @discardableResult
  func single(
    _ kind: ChangeDraft.Kind, _ entity: String, _ id: ObjectID?, _ values: String? = nil,
    _ precondition: Precondition = .none
  ) throws -> SaveResult {
    let values = try values.map { try JSON(parsing: Array($0.utf8)) }
    return try execute(
      SaveResolver(model: model).single(
        kind, entity: model.entityIndex(named: entity) ?? 0, id: id, values: values,
        precondition: precondition))
  }

  @discardableResult
  func execute(_ request: SaveRequest) throws -> SaveResult {
    try connection.run("BEGIN IMMEDIATE")
    do {
      let result = try executor.execute(request, on: connection)
      try connection.run("COMMIT")
      return result
    } catch {
      if !connection.isInAutocommit { try connection.run("ROLLBACK") }
      throw error
    }
  }

  /// Returns the lines of a save's refusal, such as `409 1 code not-unique`; none for a completed save.
  func refusal(_ body: () throws -> Void) throws -> [String] {
    do {
      try body()
      return []
    } catch let error as SaveError {
      return Self.lines(error)
    }
  }

  func refusal(_ body: String) throws -> [String] {
    try refusal { try save(body) }
  }

  static func lines(_ error: SaveError) -> [String] {
    func lines(_ status: Int, _ problems: [ChangeProblem]) -> [String] {
      problems.map { "\(status) \($0.change) \($0.property ?? "-") \($0.code.rawValue)" }
    }
    return switch error {
    case .malformed(let detail): ["400 \(detail)"]
    case .condition(let error): ["400 \(error)"]
    case .forbidden(let problems): lines(403, problems)
    case .invalid(let problems): lines(422, problems)
    case .conflicts(let problems): lines(409, problems)
    case .preconditionFailed(let problem): lines(412, [problem])
    case .notFound(let problems): lines(404, problems)
    case .tooManyAffected(let limit): ["too many \(limit)"]
    case .keyReused: ["422 key reused"]
    case .store(let error): ["store \(error)"]
    }
  }

  /// Returns the rows of a query, with SQL literals separated by `|`.
  func rows(_ sql: String) throws -> [String] {
    try connection.all(sql) { row in
      (0..<row.columnCount).map { column in
        switch row.value(column) {
        case .null: "NULL"
        case .integer(let integer): "\(integer)"
        case .double(let double): "\(double)"
        case .text(let text): "'\(text)'"
        case .blob(let bytes): "x\(bytes)"
        }
      }.joined(separator: "|")
    }
  }

  func rows(of table: String) throws -> [String] {
    try rows("SELECT * FROM \(table) ORDER BY 1, 2")
  }
}

extension SaveResult {
  /// `c1=7 1=9 +2 ~1 -0`
  var summary: String {
    (ids.map { "\($0.name)=\($0.id)" } + ["+\(inserted)", "~\(updated)", "-\(deleted)"])
      .joined(separator: " ")
  }
}

let sampleSQL = """
  CREATE TABLE Country(id INTEGER PRIMARY KEY, name TEXT NOT NULL, code CHAR(2) UNIQUE,
    capital_id INTEGER REFERENCES City);
  CREATE TABLE City(id INTEGER PRIMARY KEY, name TEXT NOT NULL,
    population INT DEFAULT 5 CHECK(population >= 0),
    country_id INTEGER NOT NULL REFERENCES Country, twin_id INTEGER REFERENCES City,
    UNIQUE(country_id, name));
  INSERT INTO Country(id, name, code) VALUES (1, 'Japan', 'JP'), (2, 'China', 'CN');
  INSERT INTO City(id, name, population, country_id) VALUES
    (10, 'Tokyo', 9, 1), (11, 'Osaka', 2, 1), (20, 'Beijing', 18, 2);
  """
