// The source of a stream's bytes. The server pulls from it, so nothing accumulates for a slow
// reader.

/// The result of ``StreamSource/next()``.
public enum StreamStep: Sendable {
  /// These bytes; more may follow. They may exceed the room in the socket: `next` is not called
  /// again before the rest is sent.
  case bytes([UInt8])
  /// No bytes now; `next` is called again after ``HTTPStream/wake()``.
  case wait
  /// The end of the stream.
  case end
}

/// Produces the bytes of a stream.
///
/// The server makes all three calls; two calls of `next` never overlap.
public protocol StreamSource: AnyObject, Sendable {
  /// Called once, before anything else. Store `stream` to wake it later.
  func opened(_ stream: HTTPStream)
  /// Called on a worker whenever the socket has room. Must not block.
  func next() -> StreamStep
  /// Called once, after the last `next`, when the stream ended, the client disconnected or the
  /// server stops.
  func closed()
}
