// Saves while another process holds the write lock of the file.

import FetchModel
import Testing

@testable import SQLiteStore

@Suite("A file that another process keeps locked")
struct LockedFileTests {
  @Test("is waited for once by each save: from its arrival, or from when the lock was first seen")
  func oneWait() {
    var lock = LockWait(limit: 5_000)
    #expect(!lock.isOver(for: 0, at: 1_000_000))
    lock.record(isLocked: true, at: 100)
    lock.record(isLocked: true, at: 4_000)
    #expect(!lock.isOver(for: 0, at: 5_099))
    #expect(lock.isOver(for: 0, at: 5_100))
    // It has waited behind the first one, for the same lock.
    lock.record(isLocked: true, at: 5_100)
    #expect(!lock.isOver(for: 2_000, at: 6_999))
    #expect(lock.isOver(for: 2_000, at: 7_000))
    lock.record(isLocked: false, at: 7_000)
    lock.record(isLocked: true, at: 8_000)
    #expect(!lock.isOver(for: 2_000, at: 12_999))
    #expect(lock.isOver(for: 2_000, at: 13_000))
  }

  @Test("is busy, also for a probe that has waited for too long behind saves")
  func busy() {
    #expect(SQLiteStore.writeFault(.busy).code == "busy")
    #expect(SQLiteStore.writeFault(.overloaded).code == "busy")
    #expect(SQLiteStore.writeFault(.diskFull).code == "disk-full")
    #expect(SQLiteStore.writeFault(.failed("x")).code == "write-failed")
  }
}
