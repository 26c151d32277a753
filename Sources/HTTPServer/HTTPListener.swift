// A host and a port, taken before there is anything to serve.
//
// Connections that come before a server uses it wait in the system's queue. It is closed when it is
// given up without having been used.

import Glibc

/// A port that is listened on for a server that starts later.
public final class HTTPListener: Sendable {
  /// The port; the one chosen, where 0 was asked for.
  public let port: Int
  private let socket: ListenSocket
  /// Guards whether a server has it.
  private let isTaken = Guarded(false)

  /// Listens on the configuration's host and port.
  public init(_ configuration: HTTPServerConfiguration) throws(HTTPServerError) {
    socket = try ListenSocket(host: configuration.host, port: configuration.port)
    port = socket.port
  }

  deinit {
    if !isTaken.withLock({ $0 }) { close(socket.descriptor) }
  }

  /// Hands the socket over; a second time there is none.
  func take() throws(HTTPServerError) -> ListenSocket {
    let wasTaken = isTaken.withLock { isTaken in
      defer { isTaken = true }
      return isTaken
    }
    if wasTaken { throw .cannotStart }
    return socket
  }
}
