// The shared state of one server's callbacks: heads, bodies and responses pass through it between
// libmicrohttpd and the handler.

import CMicrohttpd
import Glibc
import Synchronization

/// The handler, the limits and the connections of one running server.
final class ServerContext: Sendable {
  let handler: any HTTPHandler
  let configuration: HTTPServerConfiguration
  let gate: RequestGate
  let table: ConnectionTable
  /// Counts the request bodies and responses in memory.
  let memory: MemoryBudget

  init(
    handler: any HTTPHandler, configuration: HTTPServerConfiguration, table: ConnectionTable
  ) {
    self.handler = handler
    self.configuration = configuration
    self.table = table
    gate = RequestGate(configuration)
    memory = MemoryBudget(limit: configuration.maxMemoryInFlight)
  }

  /// - Parameter origin: the header `Origin` of the request; nil if it is not known.
  func render(_ problem: HTTPProblem, origin: String?) -> HTTPResponse {
    var response = configuration.renderProblem(problem)
    response.headers += handler.commonHeaders(origin: origin)
    return response
  }

  /// The number of looks, one a second, after which a body that is not read is refused.
  private static let maxStalls = 5

  /// True if a connection has exceeded the time limit for a head or a body, or its body cannot be read.
  /// Called by the disconnect monitor.
  func isOverdue(_ connection: Connection) -> Bool {
    let (activity, milliseconds) = connection.state
    let seconds = Int(truncatingIfNeeded: milliseconds / 1000)
    switch activity {
    case .fresh: return seconds >= configuration.headTimeout
    case .idle: return seconds >= configuration.idleTimeout
    case .receiving:
      if !connection.peerHasFinished, connection.countStalls() >= Self.maxStalls {
        respondToStalled(connection)
        return true
      }
      let granted = connection.bodyBytes.load(ordering: .relaxed) >> 14
      return seconds &- granted >= configuration.bodyTimeout
    case .working: return false
    }
  }
}

// MARK: Reading a request

extension ServerContext {
  /// Handles the first call of a request: its head is complete, its body is not yet read.
  func admit(
    _ exchange: ExchangeState, _ handle: ConnectionHandle, _ line: RequestGate.RequestLine
  ) -> MHD_Result {
    guard !exchange.connection.isClosing.load(ordering: .relaxed) else { return chttp_no }
    var admission = RequestGate.Admission()
    let problem = gate.examine(
      handle.pointer, line, peer: exchange.connection.address, &exchange.intake, &admission)
    identify(exchange)
    if let problem {
      // libmicrohttpd has no memory left for the head of a response to such a request.
      if [414, 431].contains(problem.status) {
        return sendDirectly(exchange, handle, exchange.render(problem))
      }
      return refuse(exchange, handle, exchange.render(problem), admission)
    }
    if admission.hasBody, !memory.hasRoom(for: Int(clamping: admission.contentLength ?? 1)) {
      return refuse(exchange, handle, exchange.render(.overloaded), admission)
    }
    if admission.hasBody {
      exchange.connection.bodyBytes.store(0, ordering: .relaxed)
      exchange.connection.begin(.receiving)
      if let response = handler.refusal(of: exchange.request, attach: exchange.attach) {
        return refuse(exchange, handle, response, admission)
      }
      let expected = Int(truncatingIfNeeded: admission.contentLength ?? 0)
      exchange.intake.body.reserveCapacity(min(expected, 1 << 20))
    }
    exchange.intake.stage = .body
    return chttp_yes
  }

  /// Receives bytes of the body.
  func receive(
    _ exchange: ExchangeState, _ handle: ConnectionHandle, _ bytes: UnsafeRawBufferPointer
  ) -> MHD_Result {
    exchange.connection.bodyBytes.add(bytes.count, ordering: .relaxed)
    if exchange.intake.stage == .discarding {
      exchange.intake.discarded &+= bytes.count
      return exchange.intake.discarded <= Self.maxDiscarded ? chttp_yes : chttp_no
    }
    let limit = gate.bodyLimit(of: exchange.intake.method)
    guard bytes.count <= limit &- exchange.intake.body.count else {
      let problem = HTTPProblem.bodyTooLarge(limit: limit)
      return sendDirectly(exchange, handle, exchange.render(problem))
    }
    guard reservation(bytes.count, to: exchange) else {
      return sendDirectly(exchange, handle, exchange.render(.overloaded))
    }
    exchange.intake.body.append(contentsOf: bytes)
    return chttp_yes
  }

  /// Charges bytes of a body to the memory budget; returns false if it is used up.
  private func reservation(_ count: Int, to exchange: ExchangeState) -> Bool {
    let reservation = exchange.intake.reservation ?? MemoryReservation()
    exchange.intake.reservation = reservation
    return reservation.grow(by: count, in: memory)
  }

  /// Handles a complete request.
  func handle(_ exchange: ExchangeState, _ handle: ConnectionHandle) -> MHD_Result {
    guard exchange.intake.stage != .discarding else { return chttp_no }
    exchange.intake.stage = .handled
    exchange.connection.begin(.working)
    // The last byte of a request without a body is that of its head.
    let isHeadOnly = exchange.intake.body.isEmpty && !exchange.intake.isChunked
    exchange.began = isHeadOnly ? exchange.arrived : Deadlines.now
    let request = exchange.request
    exchange.intake.dropBody()
    exchange.intake.headers = HTTPHeaderBlock()
    handler.handle(request, HTTPExchange(exchange))
    return respondOrSuspend(exchange, handle)
  }

  /// Sends the response if there is one, otherwise suspends the connection.
  func respondOrSuspend(_ exchange: ExchangeState, _ handle: ConnectionHandle) -> MHD_Result {
    switch exchange.nextAction(handle) {
    case .send(let response) where exchange.intake.decoder != nil:
      return deliverDirectly(response, exchange, handle)
    case .send(let response): return deliver(response, exchange, handle)
    case .wait: return chttp_yes
    case .close: return chttp_no
    }
  }
}

// MARK: Refusing

extension ServerContext {
  /// The bytes of a refused body that are read before closing. A socket that is closed with unread
  /// bytes is reset, which could destroy the refusal on its way.
  private static let maxDiscarded = 1 << 20

  private func refuse(
    _ exchange: ExchangeState, _ handle: ConnectionHandle, _ response: HTTPResponse,
    _ admission: RequestGate.Admission
  ) -> MHD_Result {
    if admission.hasBody, !admission.expectsContinue {
      return sendDirectly(exchange, handle, response)
    }
    exchange.intake.stage = .handled
    exchange.connection.begin(.working)
    handler.didBeginResponse(tag: 0, status: response.status, nanosecondsSinceRequest: 0)
    // libmicrohttpd closes the connection after a response that is queued in a request's first
    // call.
    return queue(
      PreparedResponse(response), status: sendableStatus(response.status), exchange, handle)
  }

  /// Writes a response directly to the socket, because libmicrohttpd accepts none while a body is
  /// being read. Nothing else is being written then. The connection ends with the body.
  private func sendDirectly(
    _ exchange: ExchangeState, _ handle: ConnectionHandle, _ response: HTTPResponse
  ) -> MHD_Result {
    handler.didBeginResponse(
      tag: exchange.tag.load(ordering: .relaxed), status: sendableStatus(response.status),
      nanosecondsSinceRequest: exchange.began == 0 ? 0 : Deadlines.now &- exchange.began)
    var response = response
    if exchange.intake.method == "HEAD" { response.body = .none }
    response.headers += exchange.extraHeaders
    exchange.recordResponse(response.status, bytes: response.body.count)
    guard sendAsLast(response, handle.pointer, to: exchange.connection.descriptor) else {
      return chttp_no
    }
    exchange.intake.dropBody()
    exchange.intake.stage = .discarding
    exchange.connection.isClosing.store(true, ordering: .relaxed)
    return chttp_yes
  }

  /// Writes a response to the socket of a connection and ends it. Call only on the connection's worker.
  func sendAsLast(
    _ response: HTTPResponse, _ connection: OpaquePointer, to descriptor: Int32
  ) -> Bool {
    let message = ClosingMessage(response)
    guard let session = TLSSession(connection) else {
      return message.send(to: descriptor, seconds: configuration.writeTimeout)
    }
    return message.send(over: session, of: descriptor)
  }
}

// MARK: Bodies whose chunks libmicrohttpd does not see

extension ServerContext {
  /// Receives bytes of a chunked body that libmicrohttpd does not decode; calls the handler at the
  /// end of the body.
  func receiveChunks(
    _ exchange: ExchangeState, _ handle: ConnectionHandle, _ bytes: UnsafeRawBufferPointer
  ) -> MHD_Result {
    guard exchange.intake.stage == .body else { return receive(exchange, handle, bytes) }
    exchange.connection.bodyBytes.add(bytes.count, ordering: .relaxed)
    guard reservation(bytes.count, to: exchange) else {
      return sendDirectly(exchange, handle, exchange.render(.overloaded))
    }
    let limit = gate.bodyLimit(of: exchange.intake.method)
    switch exchange.intake.decode(bytes, limit: limit) {
    case .incomplete: return chttp_yes
    case .complete: return self.handle(exchange, handle)
    case .tooLarge:
      let problem = HTTPProblem.bodyTooLarge(limit: limit)
      return sendDirectly(exchange, handle, exchange.render(problem))
    case .malformed:
      return sendDirectly(
        exchange, handle, exchange.render(.badRequest("The body is not chunked as it says.")))
    }
  }

  /// Sends a response directly to the socket. Streams are refused, because each would need a
  /// thread.
  private func deliverDirectly(
    _ response: AnyHTTPResponse, _ exchange: ExchangeState, _ handle: ConnectionHandle
  ) -> MHD_Result {
    exchange.connection.bodyBytes.store(0, ordering: .relaxed)
    exchange.connection.begin(.receiving)
    switch response {
    case .response(let response): return sendDirectly(exchange, handle, response)
    case .prepared(let prepared):
      return sendDirectly(
        exchange, handle,
        HTTPResponse(
          status: prepared.status, headers: prepared.headers, body: .bytes(prepared.body)))
    case .stream(_, _, let stream):
      stream.finish()
      let problem = HTTPProblem.badRequest("A stream needs a body with a length, or none.")
      return sendDirectly(exchange, handle, exchange.render(problem))
    }
  }
}

// MARK: Sending

extension ServerContext {
  private func deliver(
    _ response: AnyHTTPResponse, _ exchange: ExchangeState, _ handle: ConnectionHandle
  ) -> MHD_Result {
    if exchange.intake.isChunked {
      exchange.connection.isClosing.store(true, ordering: .relaxed)
      exchange.extraHeaders.append(("Connection", "close"))
    }
    handler.didBeginResponse(
      tag: exchange.tag.load(ordering: .relaxed), status: sendableStatus(response.status),
      nanosecondsSinceRequest: Deadlines.now &- exchange.began)
    switch response {
    case .prepared(let prepared): return queue(prepared, status: prepared.status, exchange, handle)
    case .response(let response):
      let reservation = response.body.count == 0 ? nil : exchange.takeReservation()
      let prepared = PreparedResponse(response, reservation)
      return queue(prepared, status: sendableStatus(response.status), exchange, handle)
    case .stream(let status, let headers, let stream):
      return queue(stream, status: status, headers, exchange, handle)
    }
  }

  private func queue(
    _ response: PreparedResponse, status: Int, _ exchange: ExchangeState,
    _ handle: ConnectionHandle
  ) -> MHD_Result {
    let hasBody = status != 304 && exchange.intake.method != "HEAD"
    exchange.recordResponse(status, bytes: hasBody ? response.bodyCount : 0)
    if exchange.extraHeaders.isEmpty, let shared = response.handle {
      return handle.queue(shared.pointer, status)
    }
    guard let own = response.copy(adding: exchange.extraHeaders) else { return chttp_no }
    defer { MHD_destroy_response(own.pointer) }
    return handle.queue(own.pointer, status)
  }

  private func queue(
    _ stream: HTTPStream, status: Int, _ headers: [(name: String, value: String)],
    _ exchange: ExchangeState, _ handle: ConnectionHandle
  ) -> MHD_Result {
    let context = Unmanaged.passRetained(stream).toOpaque()
    guard let pointer = chttp_response_of_stream(1024, readStream, context, releaseStream) else {
      Unmanaged<HTTPStream>.fromOpaque(context).release()
      return chttp_no
    }
    // Limits the unsent bytes in the kernel, so that a slow reader gets recent data.
    ListenSocket.set(
      exchange.connection.descriptor, Int32(IPPROTO_TCP), TCP_NOTSENT_LOWAT, to: 64 << 10)
    ResponseHandle(pointer: pointer).add(headers + exchange.extraHeaders)
    exchange.recordResponse(status, bytes: 0)
    // libmicrohttpd would send the last chunk after the head of a HEAD response.
    if exchange.intake.method == "HEAD" { chttp_end_by_closing(pointer) }
    defer { MHD_destroy_response(pointer) }
    return handle.queue(pointer, sendableStatus(status))
  }
}

private func readStream(
  _ context: UnsafeMutableRawPointer?, _ position: UInt64,
  _ buffer: UnsafeMutablePointer<CChar>?, _ room: Int
) -> Int {
  let endOfStream = -1
  guard let context, let buffer else { return endOfStream }
  let stream = Unmanaged<HTTPStream>.fromOpaque(context).takeUnretainedValue()
  switch stream.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: room)) {
  case .copied(let count): return count
  case .suspended: return 0
  case .end: return endOfStream
  }
}

private func releaseStream(_ context: UnsafeMutableRawPointer?) {
  guard let context else { return }
  Unmanaged<HTTPStream>.fromOpaque(context).release()
}
