// Limits of a response while it is written. Its bytes are counted, and its deadline is checked, after each
// row and within long values.

import FetchModel

/// Limits of the response that a connection's rows are written into.
struct ResponseLimit {
  /// The largest size in bytes.
  var maxBytes = Int.max
  /// The error of a response with more bytes; nil selects ``StoreError/answerTooLarge(limit:)``.
  var overflow: StoreError?
  /// The maximum number of bytes that SQLite may hold for it in large blocks.
  let maxHeldBytes: Int
  /// The reason why values were left out since the last row. The code that reads rows throws it.
  fileprivate var failure: StoreError?
  private var rows = 0
  private var sizeAtCheck = 0

  init(maxBytes: Int = .max, overflow: StoreError? = nil) {
    self.maxBytes = maxBytes
    self.overflow = overflow
    maxHeldBytes = QueryMemory.limit(forResponsesOf: maxBytes)
  }

  /// The maximum number of bytes of a response that an HTTP worker writes.
  fileprivate static let maxQuickBytes = 1 << 20

  /// Removes and returns the reason why values were left out.
  mutating func takeFailure() -> StoreError? {
    defer { failure = nil }
    return failure
  }

  fileprivate var error: StoreError { overflow ?? .answerTooLarge(limit: maxBytes) }

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
  /// Runs `body`; responses that it writes have at most `bytes` bytes.
  ///
  /// - Parameter overflow: the error of a larger one.
  func withResponseLimit<Result>(
    _ bytes: Int, overflow: StoreError? = nil, _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    let outer = responseLimit
    if outer.maxBytes == .max { heldBytes = 0 }
    responseLimit = ResponseLimit(maxBytes: bytes, overflow: overflow)
    defer { responseLimit = outer }
    return try body()
  }

  /// Throws if a response of `size` bytes so far is too large, if its time is over, or if values were left
  /// out of it.
  @inline(__always)
  func checkResponse(_ size: Int) throws(StoreError) {
    try endIfIncomplete()
    if size > responseLimit.maxBytes || responseLimit.isCheckDue(size) { try endResponse(size) }
  }

  @inline(never)
  private func endResponse(_ size: Int) throws(StoreError) {
    if size > responseLimit.maxBytes { throw responseLimit.error }
    if queryClass == .quick, size > ResponseLimit.maxQuickBytes { throw .tooSlow }
    if hasToEnd { throw .queryTimeout }
  }

  /// True if SQLite may allocate `count` more bytes. If not, its statement fails, and
  /// ``withStatement(_:_:)`` throws the error of a response that is too large.
  func mayHold(_ count: Int) -> Bool {
    guard count > responseLimit.maxHeldBytes - heldBytes else { return true }
    responseLimit.failure = responseLimit.failure ?? responseLimit.error
    return false
  }

  /// Throws if values were left out of the response.
  func endIfIncomplete() throws(StoreError) {
    guard responseLimit.failure != nil else { return }
    throw responseLimit.takeFailure() ?? .queryTimeout
  }

  /// True if a value of `count` bytes may be written after `size` others. If not, the response is
  /// incomplete, and the next ``checkResponse(_:)`` throws the reason.
  func admits(_ count: Int, after size: Int) -> Bool {
    guard responseLimit.failure == nil else { return false }
    if queryClass == .quick, count > RunningQuery.longestQuickValue {
      responseLimit.failure = .tooSlow
    } else if count > responseLimit.maxBytes || size > responseLimit.maxBytes - count {
      responseLimit.failure = responseLimit.error
    } else if hasToEnd {
      responseLimit.failure = .queryTimeout
    }
    return responseLimit.failure == nil
  }
}
