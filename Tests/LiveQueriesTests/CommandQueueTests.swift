// The command queue of the engine's thread.

import Foundation
import TestSupport
import Testing

@testable import LiveQueries

@Suite(.mayBlock) struct CommandQueueTests {
  @Test func `commands that were appended are taken, all of them at once`() {
    let mailbox = CommandQueue()
    mailbox.update { $0.storeDidChange = true }
    mailbox.update { $0.isStopped = true }
    let batch = mailbox.take(until: nil)
    #expect(batch.storeDidChange)
    #expect(batch.isStopped)
  }

  @Test func `a wait ends at its deadline with nothing`() {
    let mailbox = CommandQueue()
    let began = ContinuousClock.now
    #expect(mailbox.take(until: began + .milliseconds(30)).isEmpty)
    #expect(ContinuousClock.now - began >= .milliseconds(30))
  }
}
