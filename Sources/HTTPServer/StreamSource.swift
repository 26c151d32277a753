// Where the bytes of a stream come from. Pulled, never pushed: a slow reader buffers nothing.

/// What a source has to say when it is asked.
public enum StreamStep: Sendable {
  /// These bytes now; more may follow. They may be more than there is room for: the rest is kept
  /// and the source not asked again before they are sent.
  case bytes([UInt8])
  /// Nothing now: ask again after ``HTTPStream/wake()``.
  case wait
  /// Nothing any more.
  case end
}

/// Makes the bytes of a stream.
///
/// All three calls come from the server; `next` never twice at the same time.
public protocol StreamSource: AnyObject, Sendable {
  /// Called once, before anything else: keep `stream` to wake it.
  func opened(_ stream: HTTPStream)
  /// Called on a worker whenever the socket can take more. Must not block.
  ///
  /// - Parameter room: how many bytes can be sent at once, a hint.
  func next(_ room: Int) -> StreamStep
  /// Called once, after the last `next`: the stream ended, the client left or the server stops.
  func closed()
}
