// A PostgreSQL server for the tests of one process: on a Unix socket in a temporary folder, without
// TCP. It starts when it is first used, and stops and removes its files when the process ends, also
// when the process is killed.

import CPostgres
import Foundation
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

/// A running server and its databases.
public final class PostgresServer: Sendable {
  public struct Failure: Error, CustomStringConvertible {
    public let description: String
  }

  /// The server that all suites of this process share.
  public static func shared() throws -> PostgresServer { try sharedResult.get() }

  private static let sharedResult = Result { try PostgresServer() }

  /// Servers that no test uses.
  private static let idle = Mutex<[PostgresServer]>([])

  /// A server that no other test uses until it is given back: a commit in any database of a server moves the
  /// tokens of all of them.
  public static func takeIdle() throws -> PostgresServer {
    try idle.withLock { $0.popLast() } ?? PostgresServer()
  }

  /// Gives back a server of ``takeIdle()``.
  public func giveBack() { Self.idle.withLock { $0.append(self) } }

  /// The folder of the socket, the data and the log.
  public let directory: String
  private let supervisor: Process
  /// The server stops when this is closed. No other process inherits it.
  private let lifeline: FileHandle

  /// Creates and starts a server.
  ///
  /// - Parameter primary: the server whose standby it is, if it is one.
  public init(standbyOf primary: PostgresServer? = nil) throws {
    guard let binaries = Self.binaries else {
      throw Failure(description: "PostgreSQL is not installed: run `.ci/install postgresql`")
    }
    // The path of a socket has at most 107 bytes.
    let parent = NSTemporaryDirectory().utf8.count <= 60 ? NSTemporaryDirectory() : "/tmp/"
    directory = "\(parent)livefetch-pg-\(UUID().uuidString.prefix(13).lowercased())"
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { throw Failure(description: "pipe: \(errno)") }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    let standardInput = FileHandle(fileDescriptor: ends[0], closeOnDealloc: true)
    lifeline = FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
    supervisor = Process()
    supervisor.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    supervisor.arguments =
      Self.unprivileged + ["sh", "-c", Self.script, "sh", binaries, directory]
      + (primary.map { [$0.directory] } ?? [])
    supervisor.currentDirectoryURL = URL(fileURLWithPath: "/")
    supervisor.standardInput = standardInput
    let output = Pipe()
    supervisor.standardOutput = output
    try supervisor.run()
    let line = try output.fileHandleForReading.read(upToCount: 6)
    guard line == Data("ready\n".utf8) else {
      throw Failure(description: "PostgreSQL does not start; see \(directory)/log")
    }
  }

  deinit { stop() }

  /// Stops the server at once and removes its files.
  public func stop() {
    try? lifeline.close()
    supervisor.waitUntilExit()
  }

  /// Runs until its standard input ends. Without autovacuum, whose commits move the tokens of all
  /// databases between two requests of a test; for the same reason the log is flushed soon, so that no read
  /// commits something to have it flushed.
  private static let script = """
    trap '' INT TERM HUP PIPE
    umask 077
    mkdir -m 700 "$2" || exit 1
    if [ "$3" ]; then
      "$1/pg_basebackup" -D "$2/data" -R -c fast --no-sync -h "$3" -U tester >"$2/log" 2>&1 || exit 1
    else
      "$1/initdb" -D "$2/data" -U tester -A trust -E UTF8 --no-locale --no-sync \
        >"$2/log" 2>&1 || exit 1
    fi
    "$1/postgres" -D "$2/data" -k "$2" -c listen_addresses= -c fsync=off \
      -c max_connections=200 -c max_prepared_transactions=20 -c shared_buffers=64MB \
      -c autovacuum=off -c wal_writer_delay=1ms -c wal_writer_flush_after=0 \
      -c deadlock_timeout=100ms >>"$2/log" 2>&1 </dev/null &
    server=$!
    until "$1/pg_isready" -q -h "$2" 2>/dev/null; do
      kill -0 $server 2>/dev/null || exit 1
      sleep 0.05
    done
    echo ready
    read -r _
    kill -QUIT $server
    wait $server
    rm -rf "$2"
    """

  /// PostgreSQL refuses to run as root.
  private static var unprivileged: [String] {
    guard getuid() == 0 else { return [] }
    return ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]
  }

  /// The folder of the newest installed server's programs.
  private static var binaries: String? {
    let versions = "/usr/lib/postgresql"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: versions)) ?? []
    let folders =
      names.compactMap { Int($0) }.sorted(by: >).map { "\(versions)/\($0)/bin" } + [
        "/usr/local/bin", "/usr/bin", "/opt/homebrew/bin",
      ]
    return folders.first { FileManager.default.isExecutableFile(atPath: $0 + "/initdb") }
  }

  /// The connection string of a database of this server. As root, the caller's own name would be
  /// another role.
  public func target(_ database: String) -> String {
    "host=\(directory) user=tester dbname=\(database)"
  }

  /// Creates an empty database in which texts sort as in English, as in most databases, and not by code
  /// point. Returns its connection string.
  public func newDatabase() throws -> String {
    target(try createDatabase())
  }

  private func createDatabase() throws -> String {
    let name = "t_" + UUID().uuidString.prefix(8).lowercased()
    let locale = "LOCALE_PROVIDER icu ICU_LOCALE 'en-US'"
    try run("CREATE DATABASE \(name) TEMPLATE template0 \(locale)", on: "postgres")
    return name
  }

  /// Creates a database with the tables and rows of an SQLite file. Returns its connection string.
  public func newDatabase(copying path: String) throws -> String {
    let name = try createDatabase()
    let script = try PostgresCopy.script(ofFile: path)
    if !script.isEmpty { try run(script, on: name) }
    return target(name)
  }

  /// Copies a database by `pg_dump` and `psql`. Returns the connection string of the copy.
  public func dumpedCopy(of target: String) throws -> String {
    let copy = try newDatabase()
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = [
      "-c", #""$1/pg_dump" "$2" | "$1/psql" -q -v ON_ERROR_STOP=1 -o /dev/null "$3""#, "sh",
      Self.binaries ?? "", target, copy,
    ]
    try process.run()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw Failure(description: "psql ends with \(process.terminationStatus)")
    }
    return copy
  }

  /// Runs a script on a database.
  public func run(_ script: String, on database: String) throws {
    let connection = PQconnectdb(target(database))
    defer { PQfinish(connection) }
    let result = PQexec(connection, script)
    defer { PQclear(result) }
    guard PQresultStatus(result) == PGRES_COMMAND_OK || PQresultStatus(result) == PGRES_TUPLES_OK
    else { throw Failure(description: String(cString: PQerrorMessage(connection))) }
  }
}
