// Requests that libmicrohttpd refuses by itself, because it cannot parse them or has no memory for
// their heads.
//
// Enters: the status of libmicrohttpd's page, or a connection whose body it does not read. Leaves: a
// problem in its place.

import CMicrohttpd
import LiveFetchCQueueResponse

extension WorkerContext {
  /// Has libmicrohttpd send problems in place of its pages on the calling thread.
  func replacePages() {
    livefetch_replace_pages(makeResponse, Unmanaged.passUnretained(self).toOpaque())
  }
}

private func makeResponse(
  _ context: UnsafeMutableRawPointer?, _ pointer: OpaquePointer?, _ status: UInt32
) -> OpaquePointer? {
  guard let context, let pointer, let owned = chttp_socket_context(pointer) else { return nil }
  let server = Unmanaged<WorkerContext>.fromOpaque(context).takeUnretainedValue().server
  let connection = Unmanaged<Connection>.fromOpaque(owned).takeUnretainedValue()
  connection.isClosing.store(true, ordering: .relaxed)
  server.handler.didBeginResponse(tag: 0, status: Int(status), nanosecondsSinceRequest: 0)
  var response = server.render(server.gate.problem(ofPage: Int(status)), origin: nil)
  // Without a request line, the refusal is a request of its own in the log.
  let exchange =
    connection.exchange
    ?? ExchangeState(server: server, connection: connection, intake: RequestIntake())
  if exchange.arrived == 0 { server.identify(exchange) }
  exchange.recordResponse(Int(status), bytes: response.body.count)
  response.headers += exchange.extraHeaders
  if connection.exchange == nil { exchange.report() }
  if chttp_head_size(pointer) > 0 {
    // The head is whole: libmicrohttpd had no memory for its copy of the cookies, or cannot read a
    // Content-Length. It then sends the head of an answer twice, so the socket gets the answer here, and
    // nothing after it.
    _ = server.sendAsLast(response, pointer, to: connection.descriptor)
  }
  return ResponseHandle(
    memory: BodyMemory(copying: response.body, nil), headers: response.headers)?.pointer
}

extension RequestGate {
  /// The problem for a request that libmicrohttpd refuses with this status.
  func problem(ofPage status: Int) -> HTTPProblem {
    switch status {
    case 413: .bodyTooLarge(limit: maxBodyBytes)
    case 414: .targetTooLong(limit: maxHeadBytes)
    case 431: .headersTooLarge(limit: maxHeadBytes)
    case 500: .unanswered
    case 505: .versionNotSupported
    default: .badRequest("The request line, a header line or a chunk is malformed.")
    }
  }
}

extension ServerContext {
  /// Answers a request whose body libmicrohttpd neither reads nor refuses. Its worker writes nothing
  /// meanwhile, and the connection is shut down next.
  func respondToStalled(_ connection: Connection) {
    guard configuration.certificate == nil else { return }
    connection.isClosing.store(true, ordering: .relaxed)
    handler.didBeginResponse(tag: 0, status: 400, nanosecondsSinceRequest: 0)
    let problem = HTTPProblem.badRequest("A chunk's size line is too long.")
    _ = ClosingMessage(render(problem, origin: nil)).send(to: connection.descriptor, seconds: 1)
  }
}
