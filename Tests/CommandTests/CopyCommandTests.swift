// `livefetch copy` between files and PostgreSQL databases: objects, keys, refused destinations.

import FetchModel
import Foundation
import SQLiteStore
import TestSupport
import Testing

@testable import PostgresStore

@Suite("livefetch copy", .mayBlock)
struct CopyCommandTests {
  /// Every type, a hierarchy, ordered and unordered relationships of every kind, derived attributes.
  private static let model = """
    {"entities":[
    {"name":"Person","attributes":[
      {"name":"name","type":"String","optional":false},
      {"name":"age","type":"Integer 16"},{"name":"price","type":"Decimal"},
      {"name":"size","type":"Double"},{"name":"isOpen","type":"Boolean"},
      {"name":"born","type":"Date"},{"name":"photo","type":"Binary"},
      {"name":"key","type":"UUID"},{"name":"page","type":"URI"},
      {"name":"style","type":"Transformable"},
      {"name":"changedAt","type":"Date","derivation":"now()"}],
     "relationships":[
      {"name":"team","destination":"Team","inverse":"members"},
      {"name":"friends","destination":"Person","toMany":true,"inverse":"friends"},
      {"name":"tags","destination":"Tag","toMany":true,"ordered":true,"inverse":"people"},
      {"name":"partner","destination":"Person","inverse":"partner"}]},
    {"name":"Chief","parent":"Person","attributes":[{"name":"rank","type":"Integer 32"}]},
    {"name":"Team","attributes":[
      {"name":"title","type":"String"},
      {"name":"memberCount","type":"Integer 64","derivation":"members.@count"}],
     "relationships":[
      {"name":"members","destination":"Person","toMany":true,"ordered":true,"inverse":"team"}]},
    {"name":"Tag","attributes":[{"name":"word","type":"String"}],"relationships":[
      {"name":"people","destination":"Person","toMany":true,"inverse":"tags"}]}]}
    """

  private static let changes = """
    [{"insert":"Team","temporaryID":"t","values":{"title":"L'équipe"}},
    {"insert":"Team","temporaryID":"gone","values":{"title":"gone"}},
    {"insert":"Tag","temporaryID":"x","values":{"word":"x"}},
    {"insert":"Tag","temporaryID":"y","values":{"word":"y"}},
    {"insert":"Person","temporaryID":"a","values":{"name":"Ann","age":40,
      "price":1234567890.25,"size":0.1,"isOpen":true,"born":"1999-12-31T23:59:59.125Z",
      "photo":"AP8=","key":"0e984725-c51c-4bf4-9960-e1c80e27aba0","page":"https://a.example/?q=1",
      "style":{"b":[1,2.50,"x"],"a":null},"team":{"temporaryID":"t"},
      "tags":[{"temporaryID":"y"},{"temporaryID":"x"}]}},
    {"insert":"Chief","temporaryID":"b","values":{"name":"Bob \\"the\\" \\n boss","rank":1,
      "isOpen":false,"team":{"temporaryID":"t"},"friends":[{"temporaryID":"a"}],
      "partner":{"temporaryID":"a"},"tags":[{"temporaryID":"x"}]}},
    {"insert":"Person","temporaryID":"c","values":{"name":"Cid","size":-1e300}}]
    """

  /// A file with objects, an order that is not the order of the ids, and a deleted highest id. It is
  /// made once.
  private static func folder() throws -> Folder {
    let folder = try Folder()
    try folder.write(model, to: "model.json")
    try store.get().write(to: URL(fileURLWithPath: folder.file("app.sqlite")))
    return folder
  }

  private static let store: Result<Data, any Error> = Result {
    let folder = try Folder()
    try folder.write(model, to: "model.json")
    try folder.write("", to: "app.sqlite")
    try folder.serveOnce("app.sqlite", ["--model", "model.json"])
    for body in [
      changes, #"[{"update":"Team","id":1,"values":{"members":[2,1]}},{"delete":"Team","id":2}]"#,
    ] {
      let saved = try folder.run("save", "app.sqlite", input: body)
      #expect(saved.status == 0, "\(saved.errors) \(saved.output)")
    }
    let key = try folder.run(["key", "create", "app.sqlite", "--name", "phone", "--scope", "read"])
    #expect(key.status == 0, "\(key.errors)")
    // The log is in the file.
    try #require(!folder.has("app.sqlite-wal"))
    return try Data(contentsOf: URL(fileURLWithPath: folder.file("app.sqlite")))
  }

  private static let report = """
    Person: 2 objects, compared
    Chief: 1 objects, compared
    Team: 1 objects, compared
    Tag: 2 objects, compared
    1 API keys, 1 idempotency keys

    """

  private static func objects(_ folder: Folder, _ store: String) throws -> [String] {
    try [
      ("Person", "name,age,price,size,isOpen,born,photo,key,page,style,team,friends,tags,partner"),
      ("Chief", "name,rank"), ("Team", "title,memberCount,members"), ("Tag", "word,people"),
    ].map { entity, names in
      let export = try folder.run(
        ["export", store, entity, "--format", "ndjson", "--sort", "id", "--select", names])
      #expect(export.status == 0, "\(export.errors)")
      return export.output
    }
  }

  @Test("A file becomes a database and a file again, with the same objects, keys and next ids")
  func thereAndBack() throws {
    let folder = try Self.folder()
    try SQLiteStore.addIdempotencyRecords(
      [IdempotencyRecord(key: "k", at: 2_000_000_000.5, fingerprint: "f", bytes: [0x7B, 0x7D])],
      path: folder.file("app.sqlite"))
    let target = try PostgresServer.shared().newDatabase()
    let there = try folder.run(["copy", "app.sqlite", target])
    #expect(there.status == 0, "\(there.errors)")
    #expect(there.output == Self.report)
    let expected = try Self.objects(folder, "app.sqlite")
    #expect(expected[2].contains(#""members":[2,1]"#), "\(expected)")
    #expect(try Self.objects(folder, target) == expected)
    let connection = try PostgresConnection(target)
    let estimate = try connection.query(
      #"SELECT reltuples::bigint FROM pg_class WHERE oid = '"Person"'::regclass"#)
    #expect(try estimate.integer(0, 0) == 3)
    connection.close()
    let back = try folder.run(["copy", target, "back.sqlite"])
    #expect(back.status == 0, "\(back.errors)")
    #expect(back.output == Self.report)
    #expect(try Self.objects(folder, "back.sqlite") == expected)
    #expect(
      try folder.sql(
        "SELECT key, at, fingerprint, CAST(answer AS TEXT) FROM livefetch_answer",
        on: "back.sqlite") == ["k|2000000000.5|f|{}"])
    for store in [target, "back.sqlite"] {
      let keys = try folder.run(["key", "list", store])
      #expect(keys.output.contains("phone"), "\(keys.output) \(keys.errors)")
      // The rules hold, and no id is assigned again.
      try folder.write(
        #"[{"insert":"Team","values":{"title":"new","members":[1]}}]"#, to: "changes.json")
      let saved = try folder.run(["save", store, "changes.json"])
      #expect(saved.status == 0, "\(saved.errors)")
      let teams = try folder.run(
        ["export", store, "Team", "--select", "memberCount,members", "--sort", "id"])
      #expect(teams.output == "id,memberCount,members\n1,1,[2]\n3,1,[1]\n")
      #expect(try folder.run(["check", store]).status == 0)
    }
  }

  @Test("Tables that the model did not make are copied, and the next id follows the highest")
  func ownTables() throws {
    let folder = try Folder()
    try folder.write(
      #"{"entities":[{"name":"City","attributes":[{"name":"name","type":"String"}]}]}"#,
      to: "model.json")
    try folder.sql(
      """
      CREATE TABLE city(id INTEGER PRIMARY KEY, name TEXT);
      INSERT INTO city VALUES (1, 'a'), (9, 'b');
      """, on: "own.sqlite")
    try folder.serveOnce("own.sqlite", ["--model", "model.json"])
    let target = try PostgresServer.shared().newDatabase()
    let there = try folder.run(["copy", "own.sqlite", target])
    #expect(there.status == 0, "\(there.errors)")
    #expect(there.output.hasPrefix("City: 2 objects, compared\n"), "\(there.output)")
    let connection = try PostgresConnection(target)
    let inserted = try connection.query(#"INSERT INTO "City"(name) VALUES ('c') RETURNING id"#)
    #expect(try inserted.integer(0, 0) == 10)
    // A sequence does not know ids that a program chooses.
    try connection.execute(#"INSERT INTO "City"(id, name) VALUES (20, 'd')"#)
    let back = try folder.run(["copy", target, "back.sqlite"])
    #expect(back.status == 0, "\(back.errors)")
    #expect(
      try folder.sql("SELECT seq FROM sqlite_sequence WHERE name = 'City'", on: "back.sqlite")
        == ["20"])
  }

  @Test("Decimals that the stores write differently are equal in a copy, there and back")
  func decimals() throws {
    let folder = try Folder()
    let target = try PostgresServer.shared().newDatabase()
    try folder.write(
      #"{"entities":[{"name":"A","attributes":[{"name":"d","type":"Decimal"}]}]}"#, to: "m.json")
    try folder.write("", to: "a.sqlite")
    try folder.serveOnce("a.sqlite", ["--model", "m.json"])
    let decimals = ["0.00001", "1e-10", "1e20", "1e30", "0.0001", "12.50", "-7"]
    let inserts = decimals.map { #"{"insert":"A","values":{"d":\#($0)}}"# }.joined(separator: ",")
    try folder.write("[\(inserts)]", to: "changes.json")
    #expect(try folder.run(["save", "a.sqlite", "changes.json"]).status == 0)
    let there = try folder.run(["copy", "a.sqlite", target])
    #expect(there.output.hasPrefix("A: 7 objects, compared\n"), "\(there.errors)")
    let back = try folder.run(["copy", target, "b.sqlite", "--quiet"])
    #expect(back.status == 0, "\(back.errors)")
    let query = "SELECT quote(d) FROM A ORDER BY id"
    #expect(
      try folder.sql(query, on: "b.sqlite") == folder.sql(query, on: "a.sqlite"))
    #expect(!folder.has("b.sqlite.partial"))
  }

  @Test("A copy that fails at its end leaves an empty database, and no file")
  func lateFailure() throws {
    let folder = try Folder()
    let target = try PostgresServer.shared().newDatabase()
    let model = try ModelFile(
      parsing: Array(#"{"entities":[{"name":"A","attributes":[]}]}"#.utf8))
    let keys = ["1", "2"].map { id in
      APIKeyRecord(
        id: id, name: "same", digest: [1], scopes: ["read"], roles: [], userID: nil, created: 0,
        expires: nil, revoked: nil)
    }
    let state = CopiedState(highestIDs: [:], idempotencyRecords: [], apiKeys: keys)
    let copies: [any CopyDestination] = [
      try CopyToDatabase(target, model: model),
      try CopyToFile(path: folder.file("a.sqlite"), model: model),
    ]
    for copy in copies {
      try copy.write([JSON(parsing: Array(#"{"id":1}"#.utf8))], of: "A")
      #expect(throws: StoreError.self) { try copy.finish(state) }
      copy.cancel()
    }
    let tables = try PostgresConnection(target).query(
      "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace")
    #expect(try tables.integer(0, 0) == 0)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
  }

  @Test("A copy to a file that exists is refused and leaves it as it is")
  func existingFile() throws {
    let folder = try Folder()
    try folder.write("not a database", to: "app.sqlite")
    try folder.write("its log", to: "app.sqlite-wal")
    let path = folder.file("app.sqlite")
    #expect(throws: StoreError.self) {
      try CopyToFile(path: path, model: ModelFile(parsing: Array(Self.model.utf8)))
    }
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "not a database")
    #expect(try String(contentsOfFile: path + "-wal", encoding: .utf8) == "its log")
  }

  @Test("A revoked key is revoked in the copy, and its name can be another key's")
  func revokedKeys() throws {
    let folder = try Self.folder()
    let target = try PostgresServer.shared().newDatabase()
    func run(_ arguments: String...) throws {
      let outcome = try folder.run(arguments)
      #expect(outcome.status == 0, "\(outcome.errors)")
    }
    try run("key", "revoke", "app.sqlite", "phone")
    try run("key", "create", "app.sqlite", "--name", "phone", "--scope", "read")
    let keys = try SQLiteStore.apiKeys(path: folder.file("app.sqlite"))
    #expect(keys.map(\.name) == ["phone", "phone"])
    #expect(keys.filter { $0.revoked == nil }.count == 1)
    try run("copy", "app.sqlite", target, "--quiet")
    #expect(try PostgresStore.apiKeys(target) == keys)
    try run("copy", target, "back.sqlite", "--quiet")
    #expect(try SQLiteStore.apiKeys(path: folder.file("back.sqlite")) == keys)
  }

  @Test("Keys and stored responses are copied as they were when the objects were read")
  func oneState() throws {
    let folder = try Self.folder()
    let path = folder.file("app.sqlite")
    let model = try #require(try SQLiteStore.storedModel(path: path))
    var options = SQLiteStoreOptions()
    options.isReadOnly = true
    let store = try SQLiteStore(path: path, options: options)
    defer { store.close() }
    let record = IdempotencyRecord(key: "k", at: 2_000_000_000, fingerprint: "f", bytes: [0x7B])
    let before = try store.readResponses { transaction throws(StoreError) -> CopiedState in
      // The first query of a transaction decides which state it reads.
      _ = try transaction.copiedState(of: model)
      try SQLiteStore.addIdempotencyRecords([record], path: path)
      _ = try SQLiteStore.revokeAPIKey("phone", path: path)
      return try transaction.copiedState(of: model)
    }
    #expect(before.idempotencyRecords.isEmpty)
    #expect(before.apiKeys.map { $0.revoked == nil } == [true])
    let after = try store.readResponses { transaction throws(StoreError) -> CopiedState in
      try transaction.copiedState(of: model)
    }
    #expect(after.idempotencyRecords == [record])
    #expect(after.apiKeys.map { $0.revoked == nil } == [false])
  }

  @Test("A destination that is there, and a source without a model, are refused")
  func refusals() throws {
    let folder = try Self.folder()
    let target = try PostgresServer.shared().newDatabase()
    let onto = try folder.run(["copy", target, "model.json"])
    #expect(onto.status == 65)
    #expect(onto.errors == "livefetch: model.json: already exists and would be overwritten\n")
    let connection = try PostgresConnection(target)
    try connection.execute("CREATE TABLE mine(id int PRIMARY KEY)")
    let used = try folder.run(["copy", "app.sqlite", target])
    #expect(used.status == 65)
    #expect(used.errors.contains("the database has tables already"), "\(used.errors)")
    #expect(try folder.run(["copy", "nothing.sqlite", target]).status == 66)
    let files = try folder.run(["copy", "app.sqlite", "new.sqlite"])
    #expect(files.status == 64)
    #expect(
      files.errors == "livefetch: copy needs a database: `livefetch backup` copies a file\n")
    try folder.sql("CREATE TABLE T(id INTEGER PRIMARY KEY)", on: "plain.sqlite")
    let plain = try folder.run(["copy", "plain.sqlite", target])
    #expect(plain.status == 65)
    #expect(plain.errors == "livefetch: plain.sqlite: the store contains no model\n")
    #expect(!FileManager.default.fileExists(atPath: folder.file("new.sqlite")))
  }

  @Test("A value that PostgreSQL cannot store ends the copy, and leaves an empty database")
  func unstorable() throws {
    let folder = try Self.folder()
    let target = try PostgresServer.shared().newDatabase()
    try folder.write(
      #"[{"insert":"Tag","temporaryID":"z","values":{"word":"a\u0000b"}}]"#, to: "changes.json")
    #expect(try folder.run(["save", "app.sqlite", "changes.json"]).status == 0)
    let refused = try folder.run(["copy", "app.sqlite", target])
    #expect(refused.status == 65)
    #expect(refused.errors.contains("U+0000"), "\(refused.errors)")
    try folder.write(#"[{"delete":"Tag","id":3}]"#, to: "changes.json")
    #expect(try folder.run(["save", "app.sqlite", "changes.json"]).status == 0)
    let copied = try folder.run(["copy", "app.sqlite", target, "--quiet"])
    #expect(copied.status == 0, "\(copied.errors)")
    #expect(copied.output.isEmpty)
  }
}
