import Foundation
import Testing
import Threads

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

  @Test func `a wait ends at its deadline with nothing`() {
    let mailbox = Mailbox()
    let began = ContinuousClock.now
    #expect(mailbox.take(until: began + .milliseconds(30)).isEmpty)
    #expect(ContinuousClock.now - began >= .milliseconds(30))
  }

  @Test func `an alert wakes nobody who awaits no news`() {
    let mailbox = Mailbox()
    mailbox.alert()
    let began = ContinuousClock.now
    #expect(mailbox.take(until: began + .milliseconds(30)).isEmpty)
    #expect(ContinuousClock.now - began >= .milliseconds(30))
  }

  @Test func `an alert that nothing follows ends a wait with nothing`() {
    let mailbox = Mailbox()
    mailbox.awaitsNews(true)
    mailbox.alert()
    let began = ContinuousClock.now
    #expect(mailbox.take(until: began + .seconds(10)).isEmpty)
    #expect(ContinuousClock.now - began < .seconds(5))
  }

  @Test func `what follows an alert is taken, soon or late`() {
    let mailbox = Mailbox()
    mailbox.awaitsNews(true)
    for round in 0..<200 {
      mailbox.alert()
      startThread {
        if round % 2 == 1 { usleep(500) }
        mailbox.tell { $0.storeDidChange = true }
      }
      let end = ContinuousClock.now + .seconds(10)
      var batch = mailbox.take(until: end)
      while batch.isEmpty, ContinuousClock.now < end { batch = mailbox.take(until: end) }
      #expect(batch.storeDidChange, "round \(round)")
    }
  }
}
