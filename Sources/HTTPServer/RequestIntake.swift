// What has been read of one request so far.

/// The parts of a request while they come in. A plain value in its worker's hands.
struct RequestIntake {
  enum Stage {
    /// The target is known; the head has not been checked.
    case head
    /// The head was accepted; body bytes may come.
    case body
    /// Refused already: what still comes is thrown away, so that the client reads the refusal
    /// before the connection closes.
    case discarding
    /// With its handler, or answered.
    case handled
  }

  var stage = Stage.head
  /// The target as sent, valid for the gate only.
  let rawTarget: UnsafePointer<CChar>
  let rawTargetCount: Int
  var method = ""
  var target = ""
  var headers = HTTPHeaderBlock()
  var isChunked = false
  var body: [UInt8] = []
  var discarded = 0

  init(rawTarget: UnsafePointer<CChar>, count: Int) {
    self.rawTarget = rawTarget
    rawTargetCount = count
  }
}
