// The tests' own server.

import Foundation
import TestSupport
import Testing

@testable import PostgresStore

@Suite(.mayBlock)
struct PostgresServerTests {
  @Test("a server has no TCP port, and leaves nothing behind")
  func lifetime() throws {
    let server = try PostgresServer()
    let connection = try PostgresConnection(server.target("postgres"))
    #expect(try connection.query("SHOW listen_addresses").text(0, 0) == "")
    let pid = try String(contentsOfFile: server.directory + "/data/postmaster.pid", encoding: .utf8)
      .split(separator: "\n")[0]
    server.stop()
    #expect(!FileManager.default.fileExists(atPath: server.directory))
    #expect(!FileManager.default.fileExists(atPath: "/proc/\(pid)"))
  }
}
