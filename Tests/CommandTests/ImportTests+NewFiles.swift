// Imports into a new file that other processes create at the same time.

import Foundation
import TestSupport
import Testing

@testable import LiveFetchCommand

/// An import that waits for its standard input.
private struct WaitingImport {
  private let process: Process
  private let writer: Int32

  init(_ arguments: [String], in folder: Folder) throws {
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    defer { close(ends[0]) }
    // Otherwise the program would hold the other end open too.
    try #require(fcntl(ends[1], F_SETFD, FD_CLOEXEC) == 0)
    writer = ends[1]
    process = try folder.start(arguments, output: "import.out", input: ends[0])
  }

  /// Writes the whole input. Returns the exit status.
  func end(with input: String) -> Int32 {
    #expect(write(writer, input, input.utf8.count) == input.utf8.count)
    close(writer)
    process.waitUntilExit()
    return process.terminationStatus
  }
}

extension ImportTests {
  // The first input is refused before the import begins, the second one at its end.
  @Test(
    "A failed import keeps a file that another process has created since the command began",
    arguments: ["id,id\n1,2\n", "id,n\nx\ny\n"])
  func fileOfAnotherImport(input: String) throws {
    let folder = try Folder()
    try folder.write("id,n\n1,2\n", to: "b.csv")
    let failing = try WaitingImport(["import", "new.sqlite", "-", "--into", "A"], in: folder)
    let run = try folder.run("import", "new.sqlite", "b.csv", "--into", "B")
    #expect(run.status == 0, "\(run.errors)")
    #expect(failing.end(with: input) == 65)
    #expect(try folder.sql("SELECT * FROM B", on: "new.sqlite") == ["1|2"])
    #expect(
      try folder.sql("SELECT name FROM sqlite_schema WHERE type = 'table'", on: "new.sqlite")
        == ["B"])
  }

  @Test("A table that another process has created since the command began is not created again")
  func tableOfAnotherImport() throws {
    let folder = try Folder()
    try folder.write("id,n\n1,2\n", to: "b.csv")
    let waiting = try WaitingImport(["import", "new.sqlite", "-", "--into", "T"], in: folder)
    let run = try folder.run("import", "new.sqlite", "b.csv", "--into", "T")
    #expect(run.output.hasPrefix("T (a new table): 1 inserted in "), "\(run.errors)")
    #expect(waiting.end(with: "id,n\n3,4\n") == 0)
    #expect(try folder.read("import.out").hasPrefix("T: 1 inserted in "))
    #expect(try folder.sql("SELECT * FROM T", on: "new.sqlite") == ["1|2", "3|4"])
  }

  @Test("A file that a server has created since the command began is refused, and remains")
  func fileOfServer() throws {
    let folder = try Folder()
    let waiting = try WaitingImport(["import", "new.sqlite", "-", "--into", "T"], in: folder)
    let server = try folder.serve("new.sqlite", ["--create"])
    #expect(waiting.end(with: "id,n\n1,2\n") == 65)
    #expect(try folder.read("import.out.err").contains("is being served by process"))
    #expect(folder.has("new.sqlite"))
    stop(server.process)
  }

  @Test("An import removes the file that it created, but not after another process has written it")
  func writtenFile() throws {
    let folder = try Folder()
    let unused = try #require(try NewStoreFile(path: folder.file("a.sqlite")))
    #expect(folder.has("a.sqlite"))
    unused.remove()
    #expect(!folder.has("a.sqlite"))
    let written = try #require(try NewStoreFile(path: folder.file("b.sqlite")))
    try folder.sql("CREATE TABLE B(id INTEGER PRIMARY KEY)", on: "b.sqlite")
    written.remove()
    #expect(try folder.sql("SELECT name FROM sqlite_schema", on: "b.sqlite") == ["B"])
    #expect(try NewStoreFile(path: folder.file("b.sqlite")) == nil)
  }
}
