import Dispatch
import FetchModel
import Synchronization

@testable import LiveQueries

/// A client that keeps its answers.
final class Asker: GroupWaiter {
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

/// Passes an engine's answers on to ``Asker``.
struct AskerDelivery: LiveDelivery {
  func deliver(_ answer: LiveAnswer, to waiters: [any LiveWaiter]) {
    for case let client as Asker in waiters { client.receive(answer.text) }
  }
}
