import Dispatch
import FetchModel
import Synchronization

@testable import LiveQueries

/// A client that keeps what it is told.
final class Asker: LiveWaiter {
  private let answers = Mutex<[String]>([])
  private let signal = DispatchSemaphore(value: 0)

  func receive(_ answer: String) {
    answers.withLock { $0.append(answer) }
    signal.signal()
  }

  /// The next answer, for which it waits 20 seconds at the most.
  func next() -> String {
    guard signal.wait(timeout: .now() + 20) == .success else { return "nothing" }
    return answers.withLock { $0.removeFirst() }
  }

  var isTold: Bool { answers.withLock { !$0.isEmpty } }
}

extension LiveAnswer {
  /// The diff's JSON, or another word for what came.
  var text: String {
    switch self {
    case .diff(let json, _, _): String(decoding: json, as: UTF8.self)
    case .expired: "expired"
    case .failed(let error): "\(error)"
    }
  }
}

/// Tells askers what an engine says, and all that it says of a group at once.
struct AskerDelivery: LiveDelivery {
  func deliver(_ answer: LiveAnswer, to waiters: [any LiveWaiter]) {
    for case let client as Asker in waiters { client.receive(answer.text) }
  }

  func deliver(_ results: [GroupResult], at token: Token?, to waiter: any LiveWaiter) {
    let texts = results.map { "\($0.index): \($0.answer.text)" }.sorted()
    (waiter as? Asker)?.receive(texts.joined(separator: "; "))
  }
}
