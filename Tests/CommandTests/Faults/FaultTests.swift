// Servers that are killed, starved or blocked, in short form; `make chaos` and `make soak` run the
// long ones.

import FetchModel
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import LiveFetchCommand

/// Short forms of `make chaos` and `make soak` on real servers; R1 and R5 are among the tests
/// of the service (`PromiseTests`, `StalledReaderTests`).
@Suite("Faults: short forms", .mayBlock, .serialized)
struct FaultTests {
  private static let entries = """
    CREATE TABLE entry(id INTEGER PRIMARY KEY AUTOINCREMENT, writer INTEGER NOT NULL,
      number INTEGER NOT NULL, side TEXT NOT NULL, size INTEGER NOT NULL);
    CREATE INDEX entry_writer ON entry(writer, number);
    """

  private static let numbers = """
    CREATE TABLE item(id INTEGER PRIMARY KEY, n INTEGER, text TEXT);
    INSERT INTO item VALUES (1, 9, ''), (2, 7, '');
    """

  private static let fetch = "/v1/objects/item?sort=-n&digest=true&select=n"

  // MARK: R2

  /// Saves pairs of rows in sequence, and records which saves succeeded.
  private final class Saver: Sendable {
    let writer: Int
    let answered = Mutex<[Int]>([])
    private let server: FaultServer
    private let plan: Plan

    /// The state of all savers, and the number of running ones.
    final class Plan: Sendable {
      let state = Mutex((isSaving: false, isOver: false, busy: 0))
    }

    init(_ server: FaultServer, _ writer: Int, _ plan: Plan) {
      (self.server, self.writer, self.plan) = (server, writer, plan)
      Thread.detachNewThread { [self] in run() }
    }

    private func run() {
      var number = 0
      while !plan.state.withLock({ $0.isOver }) {
        let isSaving = plan.state.withLock { state in
          if state.isSaving { state.busy += 1 }
          return state.isSaving
        }
        guard isSaving else {
          usleep(2_000)
          continue
        }
        let client = server.client
        while plan.state.withLock({ $0.isSaving }), save(&number, client) {}
        plan.state.withLock { $0.busy -= 1 }
      }
    }

    private func save(_ number: inout Int, _ client: FaultClient) -> Bool {
      number += 1
      let pair = ["left", "right"].map { side in
        let who = #""writer":\#(writer),"number":\#(number)"#
        let what = #""side":"\#(side)","size":\#(number % 9)"#
        return #"{"insert":"entry","values":{\#(who),\#(what)}}"#
      }
      guard (try? client.save(pair.joined(separator: ","))) == 200 else { return false }
      let made = number
      answered.withLock { $0.append(made) }
      return true
    }
  }

  @Test("Under kill -9 no answered save is lost or there by half, and every client goes on")
  func killed() throws {
    let seed = UInt64.random(in: 1 ... .max)
    var random = SeededRandom(seed: seed)
    let server = try FaultServer(Self.entries)
    let plan = Saver.Plan()
    let savers = (0..<6).map { Saver(server, $0, plan) }
    let followers = (0..<6).map { writer in
      let shape = writer % 2 == 0 ? "section=side&sort=-size,number" : "sort=-number,side&limit=30"
      return Follower(server, "/v1/objects/entry?where=writer==\(writer)&digest=true&\(shape)")
    }
    for _ in 0..<6 {
      for follower in followers { #expect(try follower.becomesConsistent(), "seed \(seed)") }
      plan.state.withLock { $0.isSaving = true }
      usleep(UInt32.random(in: 20_000...250_000, using: &random))
      server.end(by: SIGKILL)
      plan.state.withLock { $0.isSaving = false }
      #expect(eventually(within: .seconds(120)) { plan.state.withLock { $0.busy == 0 } })
      try check(server, savers, seed)
      try server.start()
    }
    for follower in followers { #expect(try follower.becomesConsistent(), "seed \(seed)") }
    plan.state.withLock { $0.isOver = true }
    for follower in followers { follower.end() }
    #expect(server.end() == 0)
    #expect(followers.flatMap(\.faults) == [], "seed \(seed)")
    #expect(followers.reduce(0) { $0 + $1.state.withLock { $0.resumed } } >= 18)
    #expect(savers.reduce(0) { $0 + $1.answered.withLock { $0.count } } > 12)
  }

  /// Checks a copy of the file and its log. In the file itself SQLite would write the log back and delete it,
  /// and the server would not start on the log that the kill left.
  private func check(_ server: FaultServer, _ savers: [Saver], _ seed: UInt64) throws {
    let copy = try Folder()
    let store = "store.sqlite"
    for name in [store, store + "-wal"] where server.folder.has(name) {
      try FileManager.default.copyItem(
        atPath: server.folder.file(name), toPath: copy.file(name))
    }
    #expect(try copy.sql("PRAGMA integrity_check", on: store) == ["ok"])
    let halves = try copy.sql(
      "SELECT writer, number FROM entry GROUP BY writer, number HAVING count(DISTINCT side) <> 2",
      on: store)
    #expect(halves == [], "seed \(seed)")
    for saver in savers {
      let there = Set(
        try copy.sql(
          "SELECT DISTINCT number FROM entry WHERE writer = \(saver.writer)", on: store))
      let lost = saver.answered.withLock { $0.filter { !there.contains("\($0)") } }
      #expect(lost == [], "seed \(seed), writer \(saver.writer)")
    }
  }

  // MARK: R3, R4

  @Test("A thousand idle clients cost nothing, and are answered before the server ends")
  func idle() throws {
    let server = try FaultServer(Self.numbers)
    let target = try Self.fetch + "&since=\(token(server))&wait=60"
    let address = "http://127.0.0.1:\(server.port)"
    let clients = try (0..<1_000).map { _ in try WaitingClient(address, target) }
    // They, and the request of the metrics itself.
    #expect(
      try eventually(within: .seconds(120)) {
        try server.client.metric("livefetch_connections_waiting") == 1_001
      })
    let id = server.process.processIdentifier
    let before = try #require(processorTime(ofProcess: id))
    sleep(1)
    #expect(try #require(processorTime(ofProcess: id)) - before < .milliseconds(250))
    #expect(clients.allSatisfy { $0.isWaiting })
    #expect(server.end() == 0)
    #expect(eventually(within: .seconds(120)) { clients.allSatisfy(\.isAnswered) })
  }

  @Test("Clients that vanish while they wait leave no descriptor", arguments: [false, true])
  func vanished(abruptly: Bool) throws {
    let server = try FaultServer(Self.numbers)
    let target = try Self.fetch + "&since=\(token(server))&wait=60"
    let address = "http://127.0.0.1:\(server.port)"
    let before = server.descriptors
    for _ in 0..<2 {
      let clients = try (0..<200).map { _ in try WaitingClient(address, target) }
      #expect(eventually(within: .seconds(120)) { server.descriptors > before + 195 })
      for client in clients { client.leave(abruptly: abruptly) }
      // Before their waits end.
      #expect(eventually(within: .seconds(30)) { server.descriptors <= before + 4 })
    }
    #expect(try server.client.get(Self.fetch).status == 200)
    #expect(server.end() == 0)
  }

  private func token(_ server: FaultServer) throws -> String {
    try #require(try server.client.get(Self.fetch).json["token"]?.string)
  }

  // MARK: R6

  @Test("While another process holds the file reads go on; saves succeed again by themselves")
  func locked() throws {
    let server = try FaultServer(Self.numbers)
    let follower = Follower(server, Self.fetch)
    #expect(try follower.becomesConsistent())
    let other = try WriteLockHolder(server.folder.file("store.sqlite"))
    let client = server.client
    for number in 0..<20 {
      #expect(try client.get("/v1/objects/item?where=n>\(number)").status == 200)
    }
    Thread.detachNewThread {
      usleep(500_000)
      other.release()
    }
    let status = try client.save(#"{"insert":"item","values":{"n":100}}"#)
    #expect(status == 200 || status == 503)
    #expect(
      try eventually(within: .seconds(120)) {
        try client.save(#"{"insert":"item","values":{"n":200}}"#) == 200
      })
    #expect(try follower.becomesConsistent())
    #expect(follower.faults == [])
    follower.end()
    #expect(server.end() == 0)
  }

  @Test("A file that may not grow refuses saves with 503 or 507, and takes them again when it may")
  func outgrown() throws {
    let server = try FaultServer(Self.numbers)
    let follower = Follower(server, Self.fetch)
    #expect(try follower.becomesConsistent())
    let client = server.client
    try limitFiles(of: server, to: 400_000)
    let text = String(repeating: "x", count: 50_000)
    var statuses: Set<Int> = []
    var made = 2
    for number in 0..<30 {
      let status = try client.save(
        #"{"insert":"item","values":{"n":\#(number),"text":"\#(text)"}}"#)
      statuses.insert(status)
      if status == 200 { made += 1 }
      #expect(try client.get("/v1/objects/item?where=n>\(number)&select=n").status == 200)
    }
    #expect(statuses.contains(503) || statuses.contains(507))
    #expect(statuses.subtracting([200, 503, 507]) == [])
    try limitFiles(of: server, to: .max)
    #expect(
      try eventually(within: .seconds(120)) {
        try client.save(#"{"insert":"item","values":{"n":200}}"#) == 200
      })
    made += 1
    #expect(try follower.becomesConsistent())
    #expect(follower.faults == [])
    follower.end()
    #expect(try server.sql("SELECT count(*) FROM item") == ["\(made)"])
    #expect(server.end() == 0)
    #expect(try server.sql("PRAGMA integrity_check") == ["ok"])
  }

  /// `prlimit`, which Glibc's module leaves out.
  private typealias LimitCall =
    @convention(c) (
      pid_t, Int32, UnsafePointer<rlimit>?, UnsafeMutablePointer<rlimit>?
    ) -> Int32

  private func limitFiles(of server: FaultServer, to bytes: rlim_t) throws {
    let symbol = try #require(dlsym(nil, "prlimit"))
    let call = unsafeBitCast(symbol, to: LimitCall.self)
    let fileSize: Int32 = 1
    var limit = rlimit()
    #expect(call(server.process.processIdentifier, fileSize, nil, &limit) == 0)
    limit.rlim_cur = min(bytes, limit.rlim_max)
    #expect(call(server.process.processIdentifier, fileSize, &limit, nil) == 0)
  }

  // MARK: R7

  @Test("Commits of another process are reported at once")
  func otherProcess() throws {
    let server = try FaultServer(Self.numbers)
    let follower = Follower(server, Self.fetch)
    #expect(try follower.becomesConsistent())
    for mark in 100..<120 {
      _ = try server.sql(
        [
          "INSERT INTO item(n) VALUES (\(mark))",
          "REPLACE INTO item(id, n) VALUES (1, \(mark))",
          "DELETE FROM item WHERE id = (SELECT max(id) FROM item); UPDATE item SET n = \(mark)",
          "INSERT INTO item(id, n) VALUES (2, \(mark)) ON CONFLICT(id) DO UPDATE SET n = \(mark)",
        ][mark % 4])
      let shown = "\"n\":\(mark)"
      #expect(
        eventually(within: .seconds(120)) {
          follower.state.withLock { state in
            state.held?.sections.first?.items.contains {
              String(decoding: $0, as: UTF8.self).contains(shown)
            } == true
          }
        }, "\(mark)")
    }
    #expect(try follower.becomesConsistent())
    #expect(follower.faults == [])
    follower.end()
    #expect(server.end() == 0)
  }

  // MARK: R10

  @Test("A query or batch of an hour ends with 504 at its limit and delays no other client")
  func endless() throws {
    let server = try FaultServer(
      """
      CREATE TABLE tree(id INTEGER PRIMARY KEY, name TEXT);
      CREATE TABLE leaf(id INTEGER PRIMARY KEY, n INTEGER, text TEXT,
        tree_id INTEGER REFERENCES tree(id));
      CREATE INDEX leaf_tree ON leaf(tree_id);
      INSERT INTO tree VALUES (1, 'one');
      WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 4000)
        INSERT INTO leaf SELECT x, x, printf('%.*c', 3000, 'a'), 1 FROM c;
      """, ["--query-timeout", "4"])
    let pair =
      "SUBQUERY(tree.leaf,$a,SUBQUERY(tree.leaf,$b,$a.n*$b.n==-n).@count%3E0).@count%3E0"
    let client = server.client
    for (method, target) in [
      ("GET", "/v1/objects/leaf?where=\(pair)"), ("DELETE", "/v1/objects/leaf?where=\(pair)"),
      ("GET", "/v1/objects/leaf?where=text+MATCHES+'(a?)%7B200%7Da%7B200%7Db'"),
    ] {
      let endless = try WaitingClient(
        "http://127.0.0.1:\(server.port)", target, method: method)
      var small = 0
      let latest = ContinuousClock.now + .seconds(300)
      while endless.isWaiting, ContinuousClock.now < latest {
        #expect(try client.get("/v1/objects/tree?where=id>\(small)").status == 200)
        small += 1
        usleep(20_000)
      }
      // The last one may have waited.
      #expect(small > 2, "small fetches waited for the endless one")
      #expect(endless.receiveHead().hasPrefix("HTTP/1.1 504 "))
      #expect(try client.save(#"{"insert":"tree","values":{"name":"x"}}"#) == 200)
    }
    #expect(try server.sql("SELECT count(*) FROM leaf") == ["4000"])
    #expect(server.end() == 0)
  }
}
