// Responses about untracked tables are compared by their bytes.

import Foundation
import SQLiteStore
import TestSupport
import Testing

@Suite("Caching of untracked tables", .mayBlock)
struct UntrackedCachingTests {
  @Test(
    "a snapshot's ETag changes with its body", arguments: ["a", "v", "keyless"], [true, false])
  func etags(entity: String, isReadOnly: Bool) throws {
    var options = SQLiteStoreOptions()
    options.isReadOnly = isReadOnly
    let file = try ServedFile(
      """
      CREATE TABLE a(id INTEGER PRIMARY KEY, n INTEGER);
      CREATE TABLE keyless(n INTEGER);
      CREATE VIEW v AS SELECT rowid AS id, n FROM keyless;
      INSERT INTO a VALUES (1, 1);
      INSERT INTO keyless VALUES (1);
      """, options: options)
    let target = "/v1/objects/\(entity)"
    let before = try #require(file.ask(target)["ETag"])
    #expect(try file.ask(target, headers: [("If-None-Match", before)]).status == 304)
    try file.runExternally("UPDATE a SET n = 2; UPDATE keyless SET n = 2")
    #expect(
      try eventually(within: .seconds(300)) {
        try file.ask(target, headers: [("If-None-Match", before)]).status == 200
      })
    let after = try file.ask(target)
    #expect(after["ETag"] != before)
    #expect(after.text.contains(#""n":2"#))
  }
}
