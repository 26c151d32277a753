// Limits of an answer while it is written. Its bytes are counted, and its deadline is checked, after each
// row and within long values.

import FetchModel

/// Limits of the answer that a connection's rows are written into.
struct AnswerLimit {
  /// The most bytes.
  var most = Int.max
  /// The error of an answer with more bytes; nil selects ``StoreError/answerTooLarge(limit:)``.
  var overflow: StoreError?
  /// The most bytes that SQLite may hold for it in large blocks.
  let mostHeld: Int
  /// The reason why values were left out since the last row. The code that reads rows throws it.
  fileprivate var failure: StoreError?
  private var rows = 0
  private var sizeAtCheck = 0

  init(most: Int = .max, overflow: StoreError? = nil) {
    self.most = most
    self.overflow = overflow
    mostHeld = QueryMemory.limit(forAnswersOf: most)
  }

  /// The most bytes of an answer that an HTTP worker writes.
  fileprivate static let mostQuickBytes = 1 << 20

  /// Removes and returns the reason why values were left out.
  mutating func takeFailure() -> StoreError? {
    defer { failure = nil }
    return failure
  }

  fileprivate var error: StoreError { overflow ?? .answerTooLarge(limit: most) }

  /// True if the deadline is to be checked now. Reading the clock costs more than writing a small
  /// row.
  fileprivate mutating func isCheckDue(_ size: Int) -> Bool {
    rows &+= 1
    guard rows & 15 == 0 || size < sizeAtCheck || size &- sizeAtCheck > 128 << 10 else {
      return false
    }
    sizeAtCheck = size
    return true
  }
}

extension Connection {
  /// Runs `body`; answers that it writes have at most `bytes` bytes.
  ///
  /// - Parameter overflow: the error of a larger one.
  func withAnswerLimit<Result>(
    _ bytes: Int, overflow: StoreError? = nil, _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    let outer = answerLimit
    if outer.most == .max { heldBytes = 0 }
    answerLimit = AnswerLimit(most: bytes, overflow: overflow)
    defer { answerLimit = outer }
    return try body()
  }

  /// Throws if an answer of `size` bytes so far is too large, if its time is over, or if values were left
  /// out of it.
  @inline(__always)
  func checkAnswer(_ size: Int) throws(StoreError) {
    try endIfIncomplete()
    if size > answerLimit.most || answerLimit.isCheckDue(size) { try endAnswer(size) }
  }

  @inline(never)
  private func endAnswer(_ size: Int) throws(StoreError) {
    if size > answerLimit.most { throw answerLimit.error }
    if queryClass == .quick, size > AnswerLimit.mostQuickBytes { throw .tooSlow }
    if hasToEnd { throw .queryTimeout }
  }

  /// True if SQLite may allocate `count` more bytes. If not, its statement fails, and
  /// ``withStatement(_:_:)`` throws the error of an answer that is too large.
  func mayHold(_ count: Int) -> Bool {
    guard count > answerLimit.mostHeld - heldBytes else { return true }
    answerLimit.failure = answerLimit.failure ?? answerLimit.error
    return false
  }

  /// Throws if values were left out of the answer.
  func endIfIncomplete() throws(StoreError) {
    guard answerLimit.failure != nil else { return }
    throw answerLimit.takeFailure() ?? .queryTimeout
  }

  /// True if a value of `count` bytes may be written after `size` others. If not, the answer is
  /// incomplete, and the next ``checkAnswer(_:)`` throws the reason.
  func admits(_ count: Int, after size: Int) -> Bool {
    guard answerLimit.failure == nil else { return false }
    if queryClass == .quick, count > RunningQuery.longestQuickValue {
      answerLimit.failure = .tooSlow
    } else if count > answerLimit.most || size > answerLimit.most - count {
      answerLimit.failure = answerLimit.error
    } else if hasToEnd {
      answerLimit.failure = .queryTimeout
    }
    return answerLimit.failure == nil
  }
}
