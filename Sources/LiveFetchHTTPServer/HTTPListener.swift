// A listening socket, opened before the server starts.
//
// Connections wait in the system's queue until a server uses the socket. It is closed if it is
// released unused.

import Glibc

/// A listening port for a server that starts later.
public final class HTTPListener: Sendable {
  /// The port; if 0 was requested, the one that the system chose.
  public let port: Int
  /// The address on which the socket listens, in numbers.
  public var host: String { socket.address.description }
  private let socket: ListenSocket
  /// Protects the flag that a server has taken the socket.
  private let isTaken = SanitizedMutex(false)

  /// Listens on the configuration's host and port.
  public init(_ configuration: HTTPServerConfiguration) throws(HTTPServerError) {
    socket = try ListenSocket(host: configuration.host, port: configuration.port)
    port = socket.port
  }

  /// Uses a socket that another program has opened and listens on.
  ///
  /// - Parameter inherited: a descriptor, which the listener owns from then on. nil if it is not a
  ///   TCP socket that listens.
  public init?(inherited descriptor: Int32) {
    guard let socket = ListenSocket(inherited: descriptor) else { return nil }
    self.socket = socket
    port = socket.port
  }

  deinit {
    if !isTaken.withLock({ $0 }) { close(socket.descriptor) }
  }

  /// Transfers the socket; throws the second time.
  func take() throws(HTTPServerError) -> ListenSocket {
    let wasTaken = isTaken.withLock { isTaken in
      defer { isTaken = true }
      return isTaken
    }
    if wasTaken { throw .cannotStart }
    return socket
  }
}
