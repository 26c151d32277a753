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
    var held = try fetches.map { try LooseLinkTests.Held(file, $0) }
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

  @Test("two rows that link the same objects relate them once")
  func aRepeatedPairCountsOnce() throws {
    let file = try ServedFile(
      """
      CREATE TABLE post(id INTEGER PRIMARY KEY, t TEXT);
      CREATE TABLE tag(id INTEGER PRIMARY KEY, w INTEGER);
      CREATE TABLE pt(post_id INTEGER REFERENCES post, tag_id INTEGER REFERENCES tag);
      INSERT INTO post VALUES (1, 'p1'), (2, 'p2');
      INSERT INTO tag VALUES (1, 5), (2, 8);
      INSERT INTO pt VALUES (1, 1), (1, 1), (1, 2), (2, 1);
      """)
    let related = try file.ask("/v1/objects/post?select=tag")
    #expect(related.text.contains(#""items":[{"id":1,"tag":[1,2]},{"id":2,"tag":[1]}]"#))
    for predicate in [
      "tag.@count==2", "tag.@sum.w==13", "tag.@avg.w==6.5", "SUBQUERY(tag,$x,$x.w>0).@count==2",
    ] {
      let text = predicate.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
      let answer = try file.ask("/v1/objects/post?as=ids&where=\(text)")
      #expect(answer.text.contains(#""items":[1]"#), "\(predicate): \(answer.text)")
    }
    let fetch = "/v1/objects/post?select=tag&where=tag.@count==2"
    let token = try file.ask(fetch).json["token"]?.string ?? ""
    try file.runExternally("INSERT INTO pt VALUES (1, 2); DELETE FROM pt WHERE post_id = 2")
    try file.settle()
    let answer = try file.ask("\(fetch)&since=\(token)&wait=0")
    let diff = try #require(Diff(json: answer.json), "\(answer.text)")
    #expect(diff.deleted.isEmpty && diff.updated.isEmpty && diff.inserted.isEmpty)
  }
}
