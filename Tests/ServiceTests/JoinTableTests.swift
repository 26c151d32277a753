// Rows between two objects count for both, whatever the key of their table.

import FetchModel
import Foundation
import TestSupport
import Testing

@Suite("Join tables", .mayBlock)
struct JoinTableTests {
  static let keys = [
    "post_id INTEGER REFERENCES post, tag_id INTEGER REFERENCES tag, PRIMARY KEY(post_id, tag_id)",
    "tag_id INTEGER REFERENCES tag, post_id INTEGER REFERENCES post, PRIMARY KEY(post_id, tag_id)",
    "post_id REFERENCES post NOT NULL, tag_id REFERENCES tag NOT NULL, "
      + "PRIMARY KEY(tag_id, post_id)) WITHOUT ROWID; SELECT (1",
    "post_id INTEGER REFERENCES post, tag_id INTEGER REFERENCES tag, UNIQUE(post_id, tag_id)",
    "post_id INTEGER REFERENCES post, tag_id INTEGER REFERENCES tag",
    "id INTEGER PRIMARY KEY, post_id INTEGER REFERENCES post, tag_id INTEGER REFERENCES tag",
  ]

  @Test("a row that is inserted, moved or deleted is reported at both ends", arguments: keys)
  func bothSidesOfARowAreReported(columns: String) throws {
    let file = try ServedFile(
      """
      CREATE TABLE post(id INTEGER PRIMARY KEY, t TEXT);
      CREATE TABLE tag(id INTEGER PRIMARY KEY, n TEXT);
      CREATE TABLE pt(\(columns));
      INSERT INTO post VALUES (1, 'p1'), (2, 'p2');
      INSERT INTO tag VALUES (1, 'x'), (2, 'y');
      INSERT INTO pt(post_id, tag_id) VALUES (1, 1);
      """)
    let fetches = [
      "post?select=tag", "post?where=ANY+tag.n=='y'&as=ids", "tag?select=post",
      "tag?where=post.@count>0&as=ids",
    ]
    var held = try fetches.map { try Held(file, $0) }
    let changes = [
      "INSERT INTO pt(post_id, tag_id) VALUES (2, 2)",
      "UPDATE pt SET post_id = 2 WHERE tag_id = 1", "DELETE FROM pt WHERE tag_id = 2",
    ]
    for change in changes {
      try file.runExternally(change)
      try file.settle()
      for index in held.indices { try held[index].advance(file, change) }
    }
    #expect(
      try file.ask("PATCH", "/v1/objects/post/1", body: #"{"tag":{"add":[2]}}"#).status == 200)
    for index in held.indices { try held[index].advance(file, "PATCH") }
  }

  /// A fetch's snapshot, kept in step by diffs.
  private struct Held {
    let fetch: String
    var snapshot: ResultSnapshot

    init(_ file: ServedFile, _ fetch: String) throws {
      self.fetch = fetch
      snapshot = try #require(ResultSnapshot(json: file.ask("/v1/objects/\(fetch)").json))
    }

    mutating func advance(_ file: ServedFile, _ change: String) throws {
      let answer = try file.ask("/v1/objects/\(fetch)&since=\(snapshot.token)&wait=0")
      try snapshot.apply(#require(Diff(json: answer.json), "\(answer.text)"))
      let fresh = try #require(ResultSnapshot(json: file.ask("/v1/objects/\(fetch)").json))
      #expect(snapshot.sections == fresh.sections, "\(fetch) after \(change)")
    }
  }
}
