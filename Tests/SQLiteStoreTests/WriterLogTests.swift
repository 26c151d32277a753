// The write-ahead log while readers follow each other.

import Dispatch
import Foundation
import Synchronization
import Testing

@testable import SQLiteStore

@Suite("Writer: the write-ahead log", .mayBlock)
struct WriterLogTests {
  /// Two connections that read in turn, so that one of them always reads.
  private final class Readers: Sendable {
    private let count = Atomic(0)
    private let isEnding = Atomic(false)
    private let ended = DispatchSemaphore(value: 0)

    init(_ file: ScratchFile) {
      Thread.detachNewThread { [self] in
        try? read(file)
        ended.signal()
      }
    }

    private func read(_ file: ScratchFile) throws {
      var (current, next) = (try file.connect(.read), try file.connect(.read))
      try begin(current)
      while !isEnding.load(ordering: .relaxed) {
        try begin(next)
        try current.run("COMMIT")
        swap(&current, &next)
        count.add(1, ordering: .relaxed)
        Thread.sleep(forTimeInterval: 0.002)
      }
      try current.run("COMMIT")
    }

    private func begin(_ connection: Connection) throws {
      try connection.run("BEGIN")
      _ = try connection.hasRow("SELECT 1 FROM City", [])
    }

    /// Ends the reading. Returns the number of reads.
    func end() -> Int {
      isEnding.store(true, ordering: .relaxed)
      ended.wait()
      return count.load(ordering: .relaxed)
    }
  }

  @Test("it begins again though some reader always reads it")
  func readersInTurn() async throws {
    var settings = WriterSettings()
    settings.checkpointPages = 20
    settings.truncationBytes = 400_000
    let store = try WrittenFile(settings: settings)
    let readers = Readers(store.file)
    for id in 1...400 {
      _ = await store.save("INSERT INTO City VALUES (\(id), hex(zeroblob(6000)), NULL)")
    }
    #expect(readers.end() > 10)
    #expect(try store.rows("SELECT count(*) FROM City") == ["400"])
    // The saves wrote more than 6 MB.
    let size = try #require(FileStatus(store.file.path + "-wal")?.size)
    #expect(size < 3_000_000)
  }
}
