import Foundation
import Testing

@testable import LiveQueries

@Suite struct MailboxTests {
  @Test func `what is told is taken, all of it at once`() {
    let mailbox = Mailbox()
    mailbox.tell { $0.storeDidChange = true }
    mailbox.tell { $0.isStopped = true }
    let batch = mailbox.take(until: nil)
    #expect(batch.storeDidChange)
    #expect(batch.isStopped)
  }

  @Test func `what is expected and does not come is an empty batch`() {
    let mailbox = Mailbox()
    mailbox.expect(for: .milliseconds(2), rest: .zero)
    #expect(mailbox.take(until: nil).isEmpty)
  }

  @Test func `what comes while it is expected is taken without a sleep`() {
    let mailbox = Mailbox()
    mailbox.expect(for: .seconds(20), rest: .zero)
    let began = ContinuousClock.now
    Thread.detachNewThread {
      usleep(20_000)
      mailbox.tell { $0.storeDidChange = true }
    }
    #expect(mailbox.take(until: nil).storeDidChange)
    #expect(ContinuousClock.now - began < .seconds(10))
  }

  @Test func `while it rests nobody is woken`() {
    let mailbox = Mailbox()
    mailbox.expect(for: .milliseconds(1), rest: .zero)
    #expect(mailbox.take(until: nil).isEmpty)
    mailbox.expect(for: .milliseconds(1), rest: .seconds(3_600))
    let began = ContinuousClock.now
    #expect(mailbox.take(until: began + .milliseconds(30)).isEmpty)
    #expect(ContinuousClock.now - began >= .milliseconds(30))
  }
}
