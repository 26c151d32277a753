// The inputs of an import: pipes, samples of standard input, and compressed files.

import Foundation
import LiveFetchHTTPServer
import TestSupport
import Testing

@testable import LiveFetchCommand

extension ImportTests {
  @Test("A pipe can create a table: it is read once")
  func pipeForNewTable() throws {
    let folder = try Folder()
    try folder.write("id,n\n1,2\n", to: "a.csv")
    mkfifo(folder.file("pipe"), 0o600)
    let run = try folder.start(
      ["import", "new.sqlite", "pipe", "--into", "T"], output: "run.out",
      limits: "(cat a.csv > pipe &)")
    try #require(eventually(within: .seconds(120)) { !run.isRunning })
    #expect(run.terminationStatus == 0)
    #expect(try folder.read("run.out").hasPrefix("T (a new table): 1 inserted in "))
    #expect(try folder.sql("SELECT * FROM T", on: "new.sqlite") == ["1|2"])
  }

  @Test("The record at the end of the sample of standard input does not determine a type")
  func cutRecord() throws {
    let folder = try Folder()
    // After 7 bytes of heading and 8,191 records of 1,024 bytes the first 8 MiB end in `,2024`.
    let record = String(repeating: "x", count: 1_012) + ",2024-01-31\n"
    let run = try folder.run(
      "import", "new.sqlite", "-", "--into", "T",
      input: "text,d\n" + String(repeating: record, count: 8_200))
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.output.hasPrefix("T (a new table): 8,200 inserted in "))
    #expect(
      try folder.sql("SELECT name, type FROM pragma_table_info('T')", on: "new.sqlite") == [
        "id|INTEGER", "text|TEXT", "d|DATE",
      ])
  }

  @Test("The last record of a short standard input determines the types too")
  func lastRecord() throws {
    let folder = try Folder()
    let run = try folder.run("import", "new.sqlite", "-", "--into", "T", input: "n\n1\n1.5")
    #expect(run.status == 0, "\(run.errors)")
    #expect(try folder.sql("SELECT n FROM T", on: "new.sqlite") == ["1.0", "1.5"])
  }

  @Test("A field of 48 MB that comes in small pieces is not scanned again for each of them")
  func longField() throws {
    let folder = try Folder()
    let length = 48_000_000
    try folder.write("t\n\"\(String(repeating: "x", count: length))\"\n\"y\"", to: "a.csv")
    mkfifo(folder.file("pipe"), 0o600)
    let writer = Process()
    writer.executableURL = URL(fileURLWithPath: "/bin/sh")
    writer.arguments = ["-c", "cat \"$0\" > \"$1\"", folder.file("a.csv"), folder.file("pipe")]
    try writer.run()
    let records = try DelimitedSource(
      SlidingBuffer(ByteSource(path: folder.file("pipe"))), delimiter: 0x2C)
    var lengths: [Int] = []
    while case .record = try records.next() {
      guard case .quoted(let text)? = records.fields.first else { continue }
      lengths.append(text.count)
    }
    #expect(lengths == [length, 1])
    writer.waitUntilExit()
  }

  @Test("A compressed file is decompressed in pieces of less than 512 KiB")
  func pieces() throws {
    let folder = try Folder()
    let member = try #require(Gzip.compress([UInt8](repeating: 0x61, count: 32 << 20)))
    try Data(member + member).write(to: URL(fileURLWithPath: folder.file("a.gz")))
    let source = try ByteSource(path: folder.file("a.gz"))
    var piece: [UInt8] = []
    var (count, longest) = (0, 0)
    while try source.read(into: &piece) {
      count += piece.count
      longest = max(longest, piece.count)
      piece.removeAll(keepingCapacity: true)
    }
    #expect(count == 67_108_864)
    #expect(longest < 524_288)
  }

  @Test("A compressed file that is truncated or damaged has one exit status, wherever it is")
  func damagedMember() throws {
    let folder = try Folder()
    try folder.sql("CREATE TABLE T(id INTEGER PRIMARY KEY, n INTEGER)", on: "w.sqlite")
    let rows = (1...60_000).map { "\($0),\($0 * 7_919 % 1_000_003)\n" }.joined()
    let member = try #require(Gzip.compress(Array(("id,n\n" + rows).utf8)))
    var damaged = member
    damaged[member.count - 8] ^= 0xFF
    for (bytes, reason) in [
      (Array(member.prefix(20)), "the compressed data ends too early"),
      (Array(member.prefix(member.count / 2)), "the compressed data ends too early"),
      (Array(member.dropLast(4)), "the compressed data ends too early"),
      (damaged, "the compressed data is damaged"),
    ] {
      try Data(bytes).write(to: URL(fileURLWithPath: folder.file("a.csv.gz")))
      for store in ["w.sqlite", "new.sqlite"] {
        let run = try folder.run("import", store, "a.csv.gz", "--into", "T")
        #expect(run.status == 65, "\(bytes.count) bytes: \(run.errors)")
        #expect(run.errors.contains(reason), "\(bytes.count) bytes: \(run.errors)")
      }
      #expect(try folder.sql("SELECT count(*) FROM T", on: "w.sqlite") == ["0"])
      #expect(!folder.has("new.sqlite"))
    }
  }
}
