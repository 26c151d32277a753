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
}
