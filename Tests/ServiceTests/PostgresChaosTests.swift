// Two servers on one PostgreSQL database, of which one is killed repeatedly.

import FetchModel
import Foundation
import TestSupport
import Testing

@testable import PostgresStore

/// The short form of R12; see Tests/Faults.
@Suite("PostgreSQL: two servers, one of which is killed, beside other programs", .mayBlock)
struct PostgresChaosTests {
  private static let fetches = [
    "city?where=population>5&section=country.name&sort=-population&digest=true&count=exact",
    "city?sort=population&limit=5&select=name,country.continent,tag&count=exact",
    "country?where=ANY+city.population>10&select=name,city&sort=-name",
  ]

  @Test("a client that follows by diffs ends with what a fetch returns")
  func killed() throws {
    let target = try PostgresServer.shared().newDatabase()
    let connection = try PostgresConnection(target)
    defer { connection.close() }
    try connection.execute(PostgresServiceTests.fixture)
    var servers = try (0..<2).map { _ in try Self.server(target) }
    defer {
      for server in servers {
        server.process.terminate()
        _ = server.end()
      }
    }
    var held = try Self.fetches.map { try Self.snapshot(servers[0], $0) }
    for round in 0..<4 {
      let done = DispatchSemaphore(value: 0)
      Thread {
        PostgresServiceTests.writeConcurrently(target, seed: UInt64(100 + round))
        done.signal()
      }.start()
      // A transaction that stays open while others begin and end.
      try connection.execute("BEGIN; UPDATE city SET population = \(round) WHERE id = 3")
      try Self.follow(servers[round % 2], &held)
      kill(servers[1].process.processIdentifier, SIGKILL)
      _ = servers[1].end()
      try Self.follow(servers[0], &held)
      try connection.execute(round % 2 == 0 ? "COMMIT" : "ROLLBACK")
      servers[1] = try Self.server(target)
      done.wait()
      try Self.follow(servers[1], &held)
    }
    for (index, fetch) in Self.fetches.enumerated() {
      for server in servers {
        let place = Comment(rawValue: fetch)
        PromiseTests.compare(held[index], try Self.snapshot(server, fetch), place)
      }
    }
  }

  private static func server(_ target: String) throws -> RunningProgram {
    try RunningProgram(["serve", target, "--port", "0"])
  }

  private static func address(_ server: RunningProgram) throws -> Substring {
    try #require(server.line.split(separator: " ").last)
  }

  private static func snapshot(
    _ server: RunningProgram, _ fetch: String
  ) throws -> ResultSnapshot {
    let answer = try Curl.get("\(address(server))/v1/objects/\(fetch)")
    return try #require(ResultSnapshot(json: answer.json), "\(answer.text)")
  }

  private static func follow(_ server: RunningProgram, _ held: inout [ResultSnapshot]) throws {
    for (index, fetch) in fetches.enumerated() {
      let answer = try Curl.get(
        "\(address(server))/v1/objects/\(fetch)&since=\(held[index].token)&wait=0")
      let diff = try #require(Diff(json: answer.json), "\(fetch): \(answer.text)")
      try held[index].apply(diff)
    }
  }
}
