// The time of a response tells nothing about unreadable objects.

import FetchModel
import Foundation
import SQLiteStore
import TestSupport
import Testing

@Suite("What an unreadable object holds decides nothing about the time of an answer", .mayBlock)
struct AccessTimeTests {
  /// Note 500 is unreadable for Eve. A condition on its title takes minutes.
  private static let sql =
    AccessFixture.sql + """
      INSERT INTO note VALUES
        (500, replace(printf('%.*c', 2000000, 'x'), 'x', 'ab'), 1, NULL, 77, 'x');
      """
  private static let endless = "title MATCHES '(a|b)*c'"

  /// Fetches that take minutes if they test the title of an unreadable note.
  static let fetches: [(entity: String, predicate: String)] = [
    ("note", "SELF == 500 AND \(endless)"), ("note", endless),
    ("note", "size > 50 AND \(endless)"), ("note", "NOT (\(endless)) AND SELF == 500"),
    ("note", "uppercase(title) == 'X' AND \(endless)"),
    ("user", "ANY note.\(endless)"),
    ("user", "SUBQUERY(note, $n, $n.id == 500 AND $n.\(endless)).@count > 0"),
    ("user", "SELF == 1 AND SUBQUERY(note, $n, $n.\(endless)).@count > 0"),
    ("team", "ANY user.note.\(endless)"),
  ]

  private func total(_ fixture: AccessFixture, _ entity: String, _ predicate: String) throws
    -> Int64?
  {
    var body: [UInt8] = []
    body.append(
      json: .object([
        .init(name: "entity", value: .string(entity)), .init(name: "as", value: .string("count")),
        .init(name: "where", value: .string(predicate)),
      ]))
    let answer = try fixture.ask(
      "3", "POST", "/v1/fetch", String(decoding: body, as: UTF8.self))
    #expect(answer.status == 200, "\(predicate): \(answer.text)")
    return answer.json["total"]?.integer
  }

  @Test func aConditionThatMayTakeLongIsTestedForReadableObjectsAlone() throws {
    var options = SQLiteStoreOptions()
    options.queryTimeout = 20
    let fixture = try AccessFixture(Self.sql, options: options)
    for (entity, predicate) in Self.fetches {
      #expect(try total(fixture, entity, predicate) == 0, "\(predicate)")
    }
  }

  @Test(.onlyForFiles) func aViewsRowsAreTestedByTheRuleFirst() throws {
    var options = SQLiteStoreOptions()
    options.queryTimeout = 20
    let view = "CREATE VIEW titles AS SELECT title FROM note;"
    let rules = #"{"entities":{"titles":{"access":{"read":"title MATCHES '[ef].*'"}}}}"#
    let fixture = try AccessFixture(Self.sql + view, rules: rules, options: options)
    #expect(try total(fixture, "titles", Self.endless) == 0)
    #expect(try total(fixture, "titles", "NOT (\(Self.endless))") == 2)
  }

  @Test func pagesInAnOrderThatIgnoresCaseContainTheReadableObjects() throws {
    let fixture = try AccessFixture()
    let page = "/v1/objects/note?sort=title:cd,-size&limit=1"
    var (ids, cursor): ([Int64], String?) = ([], nil)
    repeat {
      let target = page + (cursor.map { "&after=\($0)" } ?? "")
      ids += try fixture.ids("1", target)
      cursor = try fixture.ask("1", "GET", target + "&as=ids").json["next"]?.string
    } while cursor != nil
    #expect(ids == [1, 2])
  }

  @Test func aLongArgumentIsSearchedForReadableObjectsAlone() throws {
    var options = SQLiteStoreOptions()
    options.queryTimeout = 20
    let fixture = try AccessFixture(options: options)
    // Note 1 has the size 1, and is unreadable for Eve.
    let argument = String(repeating: "ab", count: 2_000_000)
    for condition in ["size > 0", "size > 1"] {
      let answer = try fixture.ask(
        "3", "POST", "/v1/fetch",
        """
        {"entity":"note","as":"count","where":"SELF == 1 AND \(condition) AND %@ CONTAINS[cd] title",
         "arguments":["\(argument)"]}
        """)
      #expect(answer.status == 200, "\(condition)")
      #expect(answer.json["total"]?.integer == 0)
    }
  }

  @Test func conditionsWithFunctionsFindTheSameReadableObjects() throws {
    let fixture = try AccessFixture()
    #expect(try total(fixture, "note", "title MATCHES 'e.*'") == 1)
    #expect(try total(fixture, "note", "NOT (title MATCHES 'a.*')") == 1)
    #expect(try total(fixture, "note", "owner.name CONTAINS[c] 'EVE'") == 1)
    #expect(try total(fixture, "note", "NOT (owner.name CONTAINS[c] 'x') AND title LIKE 'e?'") == 1)
    #expect(try total(fixture, "user", "ANY note.title ENDSWITH[cd] '1'") == 1)
    #expect(try total(fixture, "team", "ANY user.note.title LIKE '*1'") == 1)
    #expect(try total(fixture, "team", "NONE user.name CONTAINS 'A'") == 1)
    #expect(try total(fixture, "note", "TERNARY(title CONTAINS 'e', size, 0) == 4") == 1)
  }
}
