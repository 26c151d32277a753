// Waiters of the engine whose answers a test reads.

import Dispatch
import FetchModel
import Synchronization

@testable import LiveQueries

/// A waiter that records its answers.
final class RecordingWaiter: GroupWaiter {
  private let answers = Mutex<[String]>([])
  private let signal = DispatchSemaphore(value: 0)

  func receive(_ answer: String) {
    answers.withLock { $0.append(answer) }
    signal.signal()
  }

  /// Takes all results of a group at once.
  func receive(_ results: [GroupResult], at token: Token?) {
    let texts = results.map { "\($0.index): \($0.answer.text)" }.sorted()
    receive(texts.joined(separator: "; "))
  }

  /// Returns the next answer, or "nothing" after a minute.
  func next() -> String {
    guard signal.wait(timeout: .now() + 60) == .success else { return "nothing" }
    return answers.withLock { $0.removeFirst() }
  }

  var hasAnswers: Bool { answers.withLock { !$0.isEmpty } }
}

extension LiveAnswer {
  /// The diff's JSON, `expired`, or the error.
  var text: String {
    switch self {
    case .diff(let diff): String(decoding: diff.json, as: UTF8.self)
    case .expired: "expired"
    case .failed(let error): "\(error)"
    }
  }
}

/// Passes an engine's answers to ``RecordingWaiter``.
struct RecordingDelivery: LiveDelivery {
  func deliver(_ answer: LiveAnswer, to waiters: [any LiveWaiter]) {
    for case let client as RecordingWaiter in waiters { client.receive(answer.text) }
  }
}
