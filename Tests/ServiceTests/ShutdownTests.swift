// The program is terminated while it executes saves and queries.

import Foundation
import TestSupport
import Testing

@Suite("A program that is terminated", .mayBlock)
struct ShutdownTests {
  private static let fixture = """
    CREATE TABLE tree(id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE leaf(id INTEGER PRIMARY KEY, n INTEGER, tree_id INTEGER REFERENCES tree(id));
    CREATE INDEX leaf_tree ON leaf(tree_id);
    INSERT INTO tree VALUES (1, 'one');
    WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 4000)
      INSERT INTO leaf SELECT x, x, 1 FROM c;
    """
  /// A query that would take hours.
  private static let endless =
    "SUBQUERY(tree.leaf, $a, SUBQUERY(tree.leaf, $b, $a.n * $b.n == -n).@count > 0).@count > 0"
    .addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""

  /// The responses of clients that run on their own threads.
  private final class Answers: @unchecked Sendable {
    private let lock = NSLock()
    private var found: [Answer?] = []

    var all: [Answer?] { lock.withLock { found } }

    func ask(_ method: String, _ url: String, _ body: String) {
      Thread.detachNewThread { [self] in
        let answer = try? Curl.send(method, url, body, seconds: 300)
        lock.withLock { found.append(answer) }
      }
    }
  }

  @Test("It ends although queries run, and refuses unfinished saves")
  func inTime() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("store.sqlite")
    // A save that takes hours: its trigger counts.
    let slow = """
      CREATE TABLE slow(id INTEGER PRIMARY KEY, n INTEGER);
      INSERT INTO slow VALUES (1, 0);
      CREATE TRIGGER counts AFTER UPDATE ON slow BEGIN
        UPDATE tree SET name = 'late' WHERE (SELECT count(*) FROM leaf a, leaf b, leaf c) = 0;
      END;
      """
    try sqlite(path, Self.fixture + slow)
    let program = try RunningProgram([
      "serve", path, "--port", "0", "--query-timeout", "3600", "--shutdown-timeout", "8",
    ])
    let port = try #require(program.line.split(separator: ":").last.flatMap { Int($0) })
    let address = "http://127.0.0.1:\(port)"
    let answers = Answers()
    answers.ask("PATCH", "\(address)/v1/objects/slow/1", #"{"n":1}"#)
    let waiting = {
      try MetricsText(Curl.get("\(address)/metrics").text)["livefetch_saves_waiting"] ?? 0
    }
    // A save that arrives before the batch runs is executed.
    var asked = 1
    #expect(
      try eventually(within: .seconds(60)) {
        if try waiting() >= 3 { return true }
        answers.ask("POST", "\(address)/v1/objects/tree", #"{"name":"late"}"#)
        asked += 1
        Thread.sleep(forTimeInterval: 0.2)
        return false
      })
    program.process.terminate()
    let hasEnded = eventually(within: .seconds(300)) { !program.process.isRunning }
    #expect(hasEnded)
    if !hasEnded { kill(program.process.processIdentifier, SIGKILL) }
    #expect(program.end() == 0)
    #expect(eventually(within: .seconds(60)) { answers.all.count == asked })
    let statuses = answers.all.map { $0?.status }
    let made = statuses.count { $0 == 201 }
    #expect(statuses.count { $0 == 503 } == asked - made)
    #expect(answers.all.allSatisfy { $0?.status == 201 || $0?.code == "shutting-down" })
    let stored = try SQLiteShell.integer(
      "SELECT count(*) FROM tree WHERE name = 'late'", path: path)
    #expect(stored == Int64(made))
  }
}
