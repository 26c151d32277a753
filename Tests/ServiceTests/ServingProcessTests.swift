// The program and its file: one server per file, signals, and the built-in web page.

import Foundation
import HTTPClient
import TestSupport
import Testing

@testable import LiveFetchCommand

@Suite("The program and its file", .mayBlock, .serialized)
struct ServingProcessTests {
  private func file() throws -> (TemporaryDirectory, String) {
    let directory = try TemporaryDirectory()
    let path = directory.file("store.sqlite")
    try SQLiteShell.run(contractFixture, path: path)
    return (directory, path)
  }

  private func ask(_ server: RunningProgram, _ target: String) throws -> ClientResponse {
    let port = try #require(server.line.split(separator: ":").last.flatMap { Int($0) })
    return try ClientRequest("GET", "http://127.0.0.1:\(port)" + target).waitForResponse()
  }

  @Test("A second server is refused by whatever name, also without the lock file")
  func secondServer() throws {
    let (directory, path) = try file()
    defer { withExtendedLifetime(directory) {} }
    let server = try RunningProgram(["serve", path, "--port", "0"])
    let other = directory.file("other.sqlite")
    #expect(link(path, other) == 0)
    #expect(try RunningProgram(["serve", other, "--port", "0"]).end() == 74)
    unlink(path + "-livefetch")
    #expect(try RunningProgram(["serve", path, "--port", "0"]).end() == 74)
    #expect(try ask(server, "/health/ready").status == 200)
    server.process.terminate()
    #expect(server.end() == 0)
    let next = try RunningProgram(["serve", other, "--port", "0"])
    #expect(try ask(next, "/health/ready").status == 200)
    next.process.terminate()
    #expect(next.end() == 0)
  }

  @Test(
    "A second server is refused, also where one of the two only reads",
    arguments: [([], ["--read-only"]), (["--read-only"], []), (["--read-only"], ["--read-only"])])
  func secondReader(first: [String], second: [String]) throws {
    let (directory, path) = try file()
    defer { withExtendedLifetime(directory) {} }
    let server = try RunningProgram(["serve", path, "--port", "0"] + first)
    #expect(try ask(server, "/health/ready").status == 200)
    #expect(try RunningProgram(["serve", path, "--port", "0"] + second).end() == 74)
    #expect(try RunningProgram(["fetch", path, "country"]).end() == 0)
    server.process.terminate()
    #expect(server.end() == 0)
  }

  @Test("SIGHUP, SIGUSR1 and SIGUSR2 do not end it")
  func signals() throws {
    let (directory, path) = try file()
    defer { withExtendedLifetime(directory) {} }
    let server = try RunningProgram(["serve", path, "--port", "0"])
    for number in [SIGHUP, SIGUSR1, SIGUSR2] {
      kill(server.process.processIdentifier, number)
      #expect(try ask(server, "/health/live").status == 200)
    }
    server.process.terminate()
    #expect(server.end() == 0)
  }

  @Test("It shows its own page, a directory's in its place, and the manual in both cases")
  func page() throws {
    let (directory, path) = try file()
    defer { withExtendedLifetime(directory) {} }
    let server = try RunningProgram(["serve", path, "--port", "0"])
    let page = try ask(server, "/")
    #expect(page.status == 200)
    #expect(String(decoding: page.body, as: UTF8.self).contains("<title>"))
    #expect(try ask(server, "/livefetch.js").status == 200)
    #expect(try ask(server, "/explorer/").status == 404)
    server.process.terminate()
    #expect(server.end() == 0)
    let own = directory.file("own")
    try FileManager.default.createDirectory(atPath: own, withIntermediateDirectories: true)
    try Data("own page".utf8).write(to: URL(fileURLWithPath: own + "/index.html"))
    let next = try RunningProgram(["serve", path, "--port", "0", "--public", own])
    #expect(String(decoding: try ask(next, "/").body, as: UTF8.self) == "own page")
    #expect(try ask(next, "/todo.html").status == 404)
    #expect(try ask(next, "/livefetch.js").status == 200)
    next.process.terminate()
    #expect(next.end() == 0)
  }

  @Test("An empty file is refused; a missing one is made on demand")
  func missing() throws {
    let directory = try TemporaryDirectory()
    let empty = try directory.emptyFile()
    #expect(try RunningProgram(["serve", empty, "--port", "0"]).end() == 65)
    #expect(try Data(contentsOf: URL(fileURLWithPath: empty)).isEmpty)
    let path = directory.file("new.sqlite")
    #expect(try RunningProgram(["serve", path, "--port", "0"]).end() == 66)
    let server = try RunningProgram(["serve", path, "--port", "0", "--create"])
    #expect(try ask(server, "/health/ready").status == 200)
    #expect(
      try RunningProgram(["alter", path, "CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT)"])
        .end() == 0)
    #expect(
      try eventually(within: .seconds(300)) { try ask(server, "/v1/objects/note").status == 200 })
    server.process.terminate()
    #expect(server.end() == 0)
  }
}
