// Sections made of a part of a value: `initial`, `day`, `month`, `year`.

import FetchModel
import TestSupport
import Testing

@Suite("Sections by initial, day, month and year", .mayBlock)
struct SectionOptionTests {
  private static let fixture = """
    CREATE TABLE event(id INTEGER PRIMARY KEY, name TEXT, at DATETIME, stamp DATE,
      host INTEGER REFERENCES host);
    CREATE TABLE host(id INTEGER PRIMARY KEY, name TEXT, born DATE);
    INSERT INTO host VALUES (1, 'Élodie', '1969-12-31'), (2, 'bob', '2000-02-29');
    INSERT INTO event VALUES
      (1, 'Zürich', '2024-02-29T23:59:59Z', 1709251199, 1),
      (2, 'zebra', '2024-03-01T00:00:00Z', 1709251200, 1),
      (3, 'Ärger', '1969-12-31T23:59:59Z', -1, 2),
      (4, 'apfel', '1970-01-01T00:00:00Z', 0, 2),
      (5, '', '2023-12-31T23:30:00-01:00', 1704069000, NULL),
      (6, NULL, NULL, NULL, NULL),
      (7, 'ßeta', '2024-12-31T23:30:00+01:00', 1735684200, 2),
      (8, '1st', '1900-03-01T00:00:00Z', -2203891200, 1),
      (9, '日本', '0001-01-01T00:00:00Z', -62135596800, NULL),
      (10, '👩‍👩‍👧 day', '9999-12-31T23:59:59Z', 253402300799, NULL);
    """

  /// The snapshot's sections as `value: ids | value: ids`.
  private func sections(_ json: JSON) -> String {
    let sections = (json["sections"]?.elements ?? []).map { section in
      let ids = (section["items"]?.elements ?? []).map { String($0.integer ?? -1) }
      return "\(section["value"]?.string ?? "nil"): \(ids.joined(separator: " "))"
    }
    return sections.joined(separator: " | ")
  }

  @Test("an option after a dot is refused with the form that is right")
  func dots() throws {
    let file = try ServedFile(Self.fixture)
    for (fetch, form) in [
      ("section=name.initial", "name:initial"), ("section=-at.month", "at:month"),
      ("section=host.born.year", "host.born:year"), ("sort=name.cd", "name:cd"),
    ] {
      let answer = try file.ask("/v1/objects/event?\(fetch)")
      #expect(answer.status == 400)
      #expect(answer.text.contains("write `\(form)`"), "\(answer.text)")
    }
  }

  private static let queries: [(query: String, sections: String)] =
    [
      (
        "section=name:initial",
        "nil: 6 | : 5 | 1: 8 | A: 3 4 | SS: 7 | Z: 1 2 | 日: 9 | 👩‍👩‍👧: 10"
      ),
      (
        "section=-name:initial",
        "👩‍👩‍👧: 10 | 日: 9 | Z: 1 2 | SS: 7 | A: 3 4 | 1: 8 | : 5 | nil: 6"
      ),
      (
        "section=-name:initial:nullsfirst&sort=-id",
        "nil: 6 | 👩‍👩‍👧: 10 | 日: 9 | Z: 2 1 | SS: 7 | A: 4 3 | 1: 8 | : 5"
      ),
      ("section=host.name:initial&where=host!=nil", "B: 3 4 7 | E: 1 2 8"),
      (
        "section=at:year",
        "nil: 6 | 0001: 9 | 1900: 8 | 1969: 3 | 1970: 4 | 2024: 1 2 5 7 | 9999: 10"
      ),
      (
        "section=at:month",
        "nil: 6 | 0001-01: 9 | 1900-03: 8 | 1969-12: 3 | 1970-01: 4 | 2024-01: 5 | 2024-02: 1"
          + " | 2024-03: 2 | 2024-12: 7 | 9999-12: 10"
      ),
      (
        "section=at:day",
        "nil: 6 | 0001-01-01: 9 | 1900-03-01: 8 | 1969-12-31: 3 | 1970-01-01: 4 | 2024-01-01: 5"
          + " | 2024-02-29: 1 | 2024-03-01: 2 | 2024-12-31: 7 | 9999-12-31: 10"
      ),
      (
        "section=-at:day&where=id<5",
        "2024-03-01: 2 | 2024-02-29: 1 | 1970-01-01: 4 | 1969-12-31: 3"
      ),
      (
        "section=stamp:day",
        "nil: 6 | 0001-01-01: 9 | 1900-03-01: 8 | 1969-12-31: 3 | 1970-01-01: 4 | 2024-01-01: 5"
          + " | 2024-02-29: 1 | 2024-03-01: 2 | 2024-12-31: 7 | 9999-12-31: 10"
      ),
      ("section=-stamp:year&where=id<5", "2024: 1 2 | 1970: 4 | 1969: 3"),
      ("section=-stamp:year&where=id IN {1,6}", "2024: 1 | nil: 6"),
      ("section=-stamp:year:nullsfirst&where=id IN {1,6}", "nil: 6 | 2024: 1"),
      ("section=stamp:year:nullslast&where=id IN {1,6}", "2024: 1 | nil: 6"),
      ("section=host.born:month&where=host!=nil", "1969-12: 1 2 8 | 2000-02: 3 4 7"),
      ("section=at:month&sort=-at&where=id IN {1,5,2}", "2024-01: 5 | 2024-02: 1 | 2024-03: 2"),
    ]

  @Test("each object is in the section of its part, in UTC")
  func snapshots() throws {
    let file = try ServedFile(Self.fixture)
    for (query, expected) in Self.queries {
      let answer = try file.ask("/v1/objects/event?as=ids&" + query.replacing(" ", with: "%20"))
      #expect(sections(answer.json) == expected, "\(query): \(answer.text)")
    }
  }

  @Test("an edit that changes the day moves the object into that day's section")
  func live() throws {
    let file = try ServedFile(Self.fixture)
    let path = "/v1/objects/event?as=ids&section=at:day&where=id%3C5"
    let before = try file.ask(path)
    let token = before.json["token"]?.string ?? ""
    _ = try file.ask("PATCH", "/v1/objects/event/2", body: #"{"at":"2024-02-29T00:00:00Z"}"#)
    let diff = try file.ask(path + "&since=\(token)&wait=0")
    #expect(
      diff.text.contains(
        #""sections":{"deleted":[{"index":3,"name":"2024-03-01","value":"2024-03-01"}],"inserted":[]}"#
      ), "\(diff.text)")
    #expect(diff.text.contains(#""moved":[{"from":[3,0],"to":[2,1],"id":2}]"#), "\(diff.text)")
    #expect(try Self.isApplied(before, diff, try file.ask(path)))
  }

  @Test(
    "edits across borders of sections lead from one snapshot to the next",
    arguments: [
      ("section=at:day", #"{"at":"1970-01-01T23:59:59Z"}"#),
      ("section=-at:day", #"{"at":"2025-01-01T00:30:00+01:00"}"#),
      ("section=at:month", #"{"at":null}"#),
      ("section=-at:year", #"{"at":"1969-01-01T00:00:00Z"}"#),
      ("section=stamp:month", #"{"stamp":"1969-12-31T12:00:00Z"}"#),
      ("section=name:initial", #"{"name":"Überall"}"#), ("section=name:initial", #"{"name":null}"#),
      ("section=-name:initial", #"{"name":""}"#), ("section=host.name:initial", #"{"host":2}"#),
      ("section=host.born:year", #"{"host":null}"#),
    ])
  func edits(query: String, change: String) throws {
    let file = try ServedFile(Self.fixture)
    let path = "/v1/objects/event?\(query)"
    for id in [1, 4, 6, 3] {
      let before = try file.ask(path)
      let token = before.json["token"]?.string ?? ""
      _ = try file.ask("PATCH", "/v1/objects/event/\(id)", body: change)
      let diff = try file.ask(path + "&since=\(token)&wait=0")
      #expect(try Self.isApplied(before, diff, try file.ask(path)), "\(id): \(diff.text)")
    }
  }

  @Test("a related object's edit moves those that it groups")
  func related() throws {
    let file = try ServedFile(Self.fixture)
    let path = "/v1/objects/event?section=host.name:initial"
    let before = try file.ask(path)
    let token = before.json["token"]?.string ?? ""
    _ = try file.ask("PATCH", "/v1/objects/host/2", body: #"{"name":"ådne"}"#)
    let diff = try file.ask(path + "&since=\(token)&wait=0")
    #expect(
      diff.text.contains(#""inserted":[{"index":1,"name":"A","value":"A","indexTitle":"A"}]"#))
    #expect(try Self.isApplied(before, diff, try file.ask(path)), "\(diff.text)")
  }

  /// True if `diff` applied to one snapshot gives the other.
  private static func isApplied(_ old: Answer, _ diff: Answer, _ new: Answer) throws -> Bool {
    var snapshot = try #require(ResultSnapshot(json: old.json))
    let expected = try #require(ResultSnapshot(json: new.json))
    try snapshot.apply(try #require(Diff(json: diff.json)))
    return snapshot.sections == expected.sections
  }
}
