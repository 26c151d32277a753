// Threads: names, joining, identity.

import Foundation
import Synchronization
import TestSupport
import Testing

@testable import LiveFetchThreads

@Suite(.mayBlock) struct StartThreadTests {
  @Test func `a thread runs its body concurrently with its creator, under its name`() throws {
    let received = Mutex("")
    let done = MonotonicSemaphore()
    let isStarted = startThread(name: "a-name-of-more-than-15") {
      let name = try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)
      received.withLock { $0 = name ?? "" }
      done.signal()
    }
    #expect(isStarted)
    try #require(done.wait(seconds: 300))
    #expect(received.withLock { $0 } == "a-name-of-more-\n")
  }

  @Test func `a joined thread has ended, and knows itself`() throws {
    let known = Mutex<[Bool]>([])
    let thread = Mutex<JoinableThread?>(nil)
    let ready = MonotonicSemaphore()
    let started = JoinableThread("joined") {
      ready.wait()
      let isCurrent = thread.withLock { $0?.isCurrent == true }
      known.withLock { $0.append(isCurrent) }
    }
    thread.withLock { $0 = started }
    let isCurrent = try #require(started).isCurrent
    ready.signal()
    started?.join()
    #expect(!isCurrent)
    #expect(known.withLock { $0 } == [true])
  }

  #if os(Linux)
    @Test func `a background pool lets others go first, and threads that it starts do not`()
      throws
    {
      let pool = ThreadPool(threads: 1, queue: 1, isInBackground: true)
      defer { pool.close() }
      let values = Mutex<[Int]>([])
      let done = MonotonicSemaphore()
      let own = try #require(Self.niceValue)
      let isQueued = pool.run {
        values.withLock { $0.append(Self.niceValue ?? -1) }
        let thread = JoinableThread("started") {
          values.withLock { $0.append(Self.niceValue ?? -1) }
        }
        thread?.join()
        done.signal()
      }
      #expect(isQueued)
      try #require(done.wait(seconds: 300))
      #expect(values.withLock { $0 } == [min(own + 10, 19), own])
    }

    /// The nice value of the current thread: the 19th field of its status.
    private static var niceValue: Int? {
      let status = try? String(contentsOfFile: "/proc/thread-self/stat", encoding: .utf8)
      let fields = status?.split(separator: ")").last?.split(separator: " ") ?? []
      return fields.count > 16 ? Int(fields[16]) : nil
    }
  #endif
}
