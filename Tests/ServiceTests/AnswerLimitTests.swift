// The maximum number of bytes of a response, `--max-answer`.

import FetchModel
import Foundation
import LiveFetchHTTPServer
import SQLiteStore
import Service
import Synchronization
import TestSupport
import Testing

#if canImport(Glibc)
  import Glibc
#endif

@Suite("The bytes of an answer are limited", .mayBlock)
struct AnswerLimitTests {
  private static let fixture = """
    CREATE TABLE maker(id INTEGER PRIMARY KEY, name TEXT, note TEXT);
    CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, note TEXT, picture BLOB,
      maker_id INTEGER REFERENCES maker(id));
    INSERT INTO maker VALUES (1, 'a', replace(hex(zeroblob(1000)), '0', 'm')), (2, 'b', 'short');
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
      INSERT INTO item SELECT i, 'item ' || i, 'n', NULL, 2 FROM n;
    UPDATE item SET note = replace(hex(zeroblob(1100)), '0', '"') WHERE id = 7;
    UPDATE item SET picture = zeroblob(1600) WHERE id = 8;
    UPDATE item SET maker_id = 1 WHERE id = 9;
    """

  private static func file(_ limit: Int = 2_000, sql: String = fixture) throws -> ServedFile {
    var options = SQLiteStoreOptions()
    options.maxResponseBytes = limit
    var configuration = ServiceConfiguration()
    configuration.maxResponseBytes = limit
    return try ServedFile(sql, options: options, configuration: configuration)
  }

  @Test(
    "a save whose objects are too large together is made, and the response leaves them out",
    arguments: [nil, "a key"])
  func objectsOfASave(key: String?) throws {
    let file = try Self.file()
    let changes = (1...60).map { #"{"update":"item","id":\#($0),"values":{"name":"new"}}"# }
    var headers = [(name: "Prefer", value: "return=representation")]
    if let key { headers.append((name: "Idempotency-Key", value: key)) }
    let answer = try file.ask(
      "POST", "/v1/save", body: #"{"changes":[\#(changes.joined(separator: ","))]}"#,
      headers: headers)
    #expect(answer.status == 200, "\(answer.text.prefix(200))")
    #expect(answer.json["updated"]?.integer == 60)
    #expect(answer.json["included"] == nil)
    #expect(answer["Preference-Applied"] == "return=minimal")
    let stored = try file.ask("/v1/objects/item?where=name=='new'&as=count")
    #expect(stored.json["total"]?.integer == 60)
  }

  private static let repeated = (0..<100).map { "a\($0):note" }.joined(separator: ",")

  static let tooLarge = [
    "item", "item?limit=100", "item?section=name", "item?where=id==7", "item?where=id==8",
    "item?where=id==7&select=note", "item?as=ids&where=id%3E0&digest=true&section=name",
    "item?as=dictionaries", "item?as=dictionaries&select=note&where=id==7",
    "item?as=dictionaries&where=id%3C5&select=\(repeated)",
    "item?as=dictionaries&select=x:@distinctUnionOfObjects.name",
    "item?where=id==9&expand=maker", "maker?where=id==2&expand=item", "item/7", "item/8",
    "item/7/note",
  ]

  @Test func aLargerAnswerIsRefusedWithAHint() throws {
    let file = try Self.file()
    for target in Self.tooLarge {
      let answer = try file.ask("/v1/objects/\(target)")
      #expect(answer.status == 400, "\(target): \(answer.text.prefix(200))")
      #expect(answer.code == "answer-too-large", "\(target)")
      #expect(answer.json["detail"]?.string == "The answer has more than 2000 bytes.")
      let hint = answer.json["hint"]?.string ?? ""
      #expect(hint.contains("`limit`") && hint.contains("`select`"), "\(target)")
    }
  }

  static let smallEnough = [
    "item?limit=5", "item?where=id==7&select=name", "item?as=count", "item/1", "item/8/picture",
    "item?as=dictionaries&select=name&limit=10", "item?where=id==1&expand=maker", "item/7/name",
  ]

  @Test func aSmallerAnswerIsServed() throws {
    let file = try Self.file()
    for target in Self.smallEnough {
      let answer = try file.ask("/v1/objects/\(target)")
      #expect(answer.status == 200, "\(target): \(answer.text.prefix(200))")
      #expect((1...2_000).contains(answer.bytes.count), "\(target)")
    }
  }

  @Test func theLimitCountsBytesWithEscapes() throws {
    let whole = try Self.file(1 << 20).ask("/v1/objects/item?where=id==7&select=note").bytes
    let text = String(repeating: "\"", count: 2_200)
    #expect(String(decoding: whole, as: UTF8.self).contains(text.replacing("\"", with: "\\\"")))
    for (limit, status) in [(whole.count - 200, 400), (whole.count, 200)] {
      let answer = try Self.file(limit).ask("/v1/objects/item?where=id==7&select=note")
      #expect(answer.status == status)
    }
  }

  @Test func bodiesAndGroupsOfFetchesHaveTheSameLimit() throws {
    let file = try Self.file()
    let fetch = try file.ask("POST", "/v1/fetch", body: #"{"entity":"item"}"#)
    #expect(fetch.code == "answer-too-large")
    let body = #"{"fetches":{"a":{"entity":"item","limit":3},"b":{"entity":"item"}}}"#
    let live = try file.ask("POST", "/v1/live", body: body)
    #expect(live.status == 400)
    #expect(live.code == "answer-too-large")
    #expect(live.json["fetch"]?.string == "b")
    let changes = try file.ask(
      "PATCH", "/v1/objects/item?where=TRUEPREDICATE", body: #"{"note":"x"}"#)
    #expect(changes.status == 200)
    let history = try file.ask("/v1/changes")
    #expect(history.code == "answer-too-large")
    #expect(history.json["hint"]?.string == "a smaller `limit` asks for fewer saves")
  }

  @Test func theHistoryHasFewerSavesAtATimeIfTheirRowsAreLong() throws {
    let file = try Self.file(6_000)
    var since = try #require(file.ask("/v1").json["token"]?.string)
    for number in 1...8 {
      let save = try file.ask("PATCH", "/v1/objects/item/7", body: "{\"name\":\"n\(number)\"}")
      #expect(save.status == 200)
    }
    var counts: [Int] = []
    while counts.last != 0, counts.count < 20 {
      let page = try file.ask("/v1/changes?since=\(since)&wait=0")
      counts.append(try #require(page.json["saves"]?.elements, "\(page.text)").count)
      since = page.json["to"]?.string ?? ""
    }
    #expect(counts.reduce(0, +) == 8)
    #expect(counts.count > 3, "\(counts)")
  }

  @Test func aDiffThatIsTooLargeIsRefusedAndSmallerOnesGoOn() throws {
    let file = try Self.file()
    let token = try #require(file.ask("/v1").json["token"]?.string)
    let live = #"{"fetches":{"a":{"entity":"item","where":"name == 'new'","since":"\#(token)"}}}"#
    let waiting = [
      file.begin("GET", "/v1/objects/item?where=name=='new'&since=\(token)&wait=30"),
      file.begin("POST", "/v1/live", body: live),
    ]
    let since = "since=\(token)&wait=30"
    let small = file.begin("GET", "/v1/objects/item?where=name=='new'&limit=3&\(since)")
    let count = file.begin("GET", "/v1/objects/item?where=name=='new'&as=count&\(since)")
    try awaitWaitingFetches(4) { try file.ask($0) }
    let update = try file.ask(
      "PATCH", "/v1/objects/item?where=id%3E100", body: #"{"name":"new"}"#)
    #expect(update.status == 200)
    for pending in waiting {
      let answer = try #require(pending.wait())
      #expect(answer.status == 400, "\(answer.text.prefix(200))")
      #expect(answer.code == "answer-too-large")
    }
    #expect(try #require(small.wait()).status == 200)
    #expect(try #require(count.wait()).text.contains("\"total\":100"))
    // A later request gets the same answer.
    let late = try file.ask("/v1/objects/item?where=name=='new'&since=\(token)&wait=0")
    #expect(late.code == "answer-too-large")
  }

  static let streams = [
    ("GET", "/v1/objects/item", nil as String?),
    ("GET", "/v1/objects/item?as=dictionaries", nil),
    ("POST", "/v1/live", #"{"fetches":{"a":{"entity":"item"}}}"#),
  ]

  @Test(arguments: streams)
  func aStreamEndsWithAnError(method: String, target: String, body: String?) throws {
    let file = try Self.file()
    let pending = file.begin(
      method, target, body: body, headers: [("Accept", "text/event-stream")])
    _ = try #require(pending.wait())
    let reader = EventReader(try #require(pending.stream))
    let event = try #require(reader.next())
    #expect(event.kind == "error")
    #expect(event.data.contains("answer-too-large"))
  }

  @Test func aStreamEndsWithAnErrorWhereADiffIsTooLarge() throws {
    let file = try Self.file()
    let pending = file.begin(
      "GET", "/v1/objects/item?where=name=='new'", headers: [("Accept", "text/event-stream")])
    _ = try #require(pending.wait())
    let reader = EventReader(try #require(pending.stream))
    #expect(reader.next()?.kind == "snapshot")
    _ = try file.ask("PATCH", "/v1/objects/item?where=id==1", body: #"{"name":"new"}"#)
    #expect(reader.next()?.kind == "diff")
    _ = try file.ask("PATCH", "/v1/objects/item?where=id%3E50", body: #"{"name":"new"}"#)
    let event = reader.next()
    #expect(event?.kind == "error")
    #expect(event?.data.contains("answer-too-large") == true)
  }

  @Test func longTextsAreWrittenCompletelyInEveryEncoding() throws {
    // Longer than a piece, with characters of all lengths, escapes, and bytes that are not UTF-8.
    let parts = ["a", "é", "日", "😀", "\"", "\\", "\n", "\u{1}", "z"]
    var random = SeededRandom(seed: 3)
    let text = (0..<60_000).map { _ in parts.randomElement(using: &random) ?? "" }.joined()
    let table = "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT, b BLOB);"
    let file = try Self.file(1 << 30, sql: table)
    var bytes: [UInt8] = []
    bytes.append(jsonString: text)
    let json = String(decoding: bytes, as: UTF8.self)
    #expect(try file.ask("POST", "/v1/objects/t", body: "{\"v\":\(json)}").status == 201)
    try file.runExternally(
      """
      INSERT INTO t(id, v)
        VALUES (2, replace(hex(zeroblob(50000)), '0', 'a') || CAST(x'F09F98' AS TEXT));
      UPDATE t SET b = randomblob(200001) WHERE id = 1;
      """)
    let item = try file.ask("/v1/objects/t/1")
    #expect(item.json["v"]?.string == text)
    let cut = String(repeating: "a", count: 100_000) + "\u{FFFD}"
    #expect(try file.ask("/v1/objects/t/2").json["v"]?.string == cut)
    let raw = try file.ask("/v1/objects/t/1/b").bytes
    #expect(raw.count == 200_001)
    #expect(item.json["b"]?.string == Data(raw).base64EncodedString())
    let columns = try file.ask("/v1/objects/t?as=dictionaries&select=v,w:v&where=id==1").text
    #expect(columns.components(separatedBy: json).count == 3)
  }
}

/// The time limit, and the end of the server, while an answer is written.
@Suite("An answer that takes long to write ends", .mayBlock)
struct SlowAnswerTests {
  /// Texts that take seconds to write as often as the queries select them.
  private static let fixture = """
    CREATE TABLE long(id INTEGER PRIMARY KEY, v TEXT, b BLOB);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60)
      INSERT INTO long SELECT i, hex(randomblob(250000)) || '"', zeroblob(500000) FROM n;
    """

  private static func file(timeout: Double) throws -> ServedFile {
    var options = SQLiteStoreOptions()
    options.queryTimeout = timeout
    return try ServedFile(fixture, options: options)
  }

  private static let columns = (0..<250).map { "a\($0):v" }.joined(separator: ",")

  static let slow = [
    "select=v", "select=b", "as=dictionaries&select=\(columns)",
    "as=dictionaries&select=v&distinct=true&sort=v",
    "as=dictionaries&select=x:@distinctUnionOfObjects.v",
    "as=count&where=length(v)==1", "as=count&where=uppercase(v)=='a'",
    "as=count&where=lowercase(v)=='A'", "as=count&where=canonical(v)=='b'",
    "as=count&where=v%20LIKE%20'*0?0?0?0?x*'", "as=count&where=v%20LIKE[c]%20'*0?0?0?0?x*'",
    "as=count&where=v%20CONTAINS[cd]%20'xyz'", "as=count&where=v%20MATCHES%20'%5CX*x'",
    "as=count&where=v%20==[cd]%20'x'", "sort=v:cd&as=ids",
    "as=dictionaries&select=n:@count&group=v",
  ]

  @Test func itIsRefusedWhenItsTimeIsOver() throws {
    let file = try Self.file(timeout: 0.001)
    for query in Self.slow {
      let answer = try file.ask("/v1/objects/long?\(query)")
      #expect(answer.status == 504, "\(query.prefix(60)): \(answer.text.prefix(200))")
      #expect(answer.code == "query-timeout", "\(query.prefix(60))")
    }
  }

  /// Each row takes fewer steps than SQLite, or a match, makes between two looks at the clock.
  @Test("MATCHES over many short texts ends at the time limit")
  func matchesOfShortTexts() throws {
    var options = SQLiteStoreOptions()
    options.queryTimeout = 0.001
    let file = try ServedFile(
      """
      CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT);
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
        INSERT INTO item SELECT i, replace(hex(zeroblob(1500)), '0', 'a') FROM n;
      """, options: options)
    let answer = try file.ask("/v1/objects/item?as=count&where=name%20MATCHES%20'(.*)*x'")
    #expect(answer.status == 504, "\(answer.text.prefix(200))")
    #expect(answer.code == "query-timeout")
  }

  private static let rendering = "/v1/objects/long?as=dictionaries&select=\(columns)"

  @Test func theEndOfTheServerEndsIt() throws {
    let file = try Self.file(timeout: 600)
    let select = Self.columns.replacing(",", with: "\",\"")
    let body = #"{"fetches":{"a":{"entity":"long","as":"dictionaries","select":["\#(select)"]}}}"#
    let pending = [
      file.begin("GET", Self.rendering), file.begin("POST", "/v1/live", body: body),
    ]
    let streamed = file.begin("GET", Self.rendering, headers: [("Accept", "text/event-stream")])
    _ = try #require(streamed.wait())
    let reader = EventReader(try #require(streamed.stream))
    #expect(reader.next(seconds: 0.1) == nil)
    let runs = try eventually(within: .seconds(300)) {
      try MetricsText(file.ask("/metrics").text)["livefetch_slow_queries_running"] == 3
    }
    #expect(runs)
    file.service.drain()
    for pending in pending {
      let answer = try #require(pending.wait())
      #expect(answer.status == 503)
      #expect(answer.code == "shutting-down")
    }
    #expect(reader.next()?.data.contains("shutting-down") == true)
  }

  @Test func aLargeBodyIsParsedOnAnotherThread() throws {
    let file = try ServedFile("CREATE TABLE t(id INTEGER PRIMARY KEY);")
    for (count, isElsewhere) in [(100, false), (100_000, true)] {
      let body = "{\"entity\":\"t\"," + String(repeating: " ", count: count) + "\"as\":1}"
      let thread = Mutex<pthread_t?>(nil)
      let answered = DispatchSemaphore(value: 0)
      let request = HTTPRequest(
        method: "POST", target: "/v1/fetch", headers: [("Content-Type", "application/json")],
        body: Array(body.utf8))
      file.service.handle(
        request,
        HTTPExchange { _ in
          thread.withLock { $0 = pthread_self() }
          answered.signal()
        })
      try #require(answered.wait(timeout: .now() + 300) == .success)
      let isOther = thread.withLock { $0 } != pthread_self()
      #expect(isOther == isElsewhere)
    }
  }
}
