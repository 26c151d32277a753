// Commands that a signal ends, closed standard streams, and what messages do not show.

import Foundation
import TestSupport
import Testing

@testable import LiveFetchCommand

@Suite("Interrupted commands, and streams that cannot be used", .mayBlock)
struct InterruptedCommandTests {
  /// Starts an import that has created its file of refused rows and waits for its standard input.
  private func waitingImport(_ folder: Folder, limits: String? = nil) throws -> (Process, Int32) {
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    defer { close(ends[0]) }
    try #require(fcntl(ends[1], F_SETFD, FD_CLOEXEC) == 0)
    let process = try folder.start(
      ["import", "w.sqlite", "-", "--into", "Country", "--rejects", "bad.csv"],
      output: "import.out", input: ends[0], limits: limits)
    let hasBegun = try eventually(within: .seconds(300)) { folder.has("bad.csv.partial") }
    try #require(hasBegun)
    return (process, ends[1])
  }

  @Test(
    "A signal that ends a command deletes the file that was not complete",
    arguments: [
      SIGTERM, SIGINT, SIGHUP,
    ])
  func interrupted(signal: Int32) throws {
    let folder = try smallFolder()
    let (process, writer) = try waitingImport(folder)
    defer { close(writer) }
    kill(process.processIdentifier, signal)
    process.waitUntilExit()
    #expect(process.terminationReason == .uncaughtSignal)
    #expect(process.terminationStatus == signal)
    #expect(!folder.has("bad.csv.partial"))
    #expect(!folder.has("bad.csv"))
  }

  @Test("A command goes on after a signal that it was started to ignore")
  func ignored() throws {
    let folder = try smallFolder()
    let (process, writer) = try waitingImport(folder, limits: "trap '' INT")
    kill(process.processIdentifier, SIGINT)
    let rows = "code,name\nCL,Chile\nPE,Again\n"
    #expect(write(writer, rows, rows.utf8.count) == rows.utf8.count)
    close(writer)
    process.waitUntilExit()
    #expect(process.terminationStatus == 65)
    #expect(try folder.read("bad.csv") == "code,name\nPE,Again\n")
    #expect(
      try folder.sql("SELECT name FROM Country WHERE code = 'CL'", on: "w.sqlite") == ["Chile"])
  }

  @Test(
    "A closed stream is reported",
    arguments: [
      (
        ["alter", "w.sqlite", "-"], "<&-", Int32(66), "livefetch: standard input: cannot be read\n"
      ),
      (["alter", "w.sqlite", "-"], "</", 66, "livefetch: standard input: cannot be read\n"),
      (
        ["export", "w.sqlite", "City"], ">&-", 74,
        "livefetch: standard output: Bad file descriptor\n"
      ),
    ])
  func closed(
    arguments: [String], redirection: String, status: Int32, errors: String
  ) throws {
    let run = try smallFolder().run(arguments, redirected: redirection)
    #expect(run.status == status)
    #expect(run.errors == errors)
  }

  @Test(
    "Messages do not show the password of an address",
    arguments: [
      ["serve", "postgre://u:secret@h/db"], ["status", "POSTGRES://u:secret@h/db"],
      ["serve", "http://u:secret@h/"], ["fetch", "ftp://u:secret@h/", "City"],
      ["backup", "https://u:secret@h/", "copy.sqlite"],
    ])
  func passwords(arguments: [String]) throws {
    let run = try smallFolder().run(arguments)
    #expect(run.status != 0)
    #expect(run.errors.contains("://h"), "\(run.errors)")
    #expect(!run.errors.contains("secret"), "\(run.errors)")
  }

  @Test(
    "Refusals that a repetition may not meet have the exit status of a server that is not there")
  func transient() {
    let statuses = [400, 404, 408, 409, 425, 429, 503].map { status in
      ProblemReport(status: status, json: .object([])).failure().rawValue
    }
    #expect(statuses == [64, 64, 69, 65, 69, 69, 69])
  }

  @Test("Names of tables and columns cannot control the terminal")
  func controlCharacters() throws {
    let folder = try Folder()
    try folder.sql("CREATE TABLE \"E\u{1B}[31m\"(id INTEGER PRIMARY KEY)", on: "e.sqlite")
    let run = try folder.run("status", "e.sqlite")
    #expect(run.output.contains("E␛[31m 0"), "\(run.output)")
    #expect(!run.output.contains("\u{1B}"))
  }
}
