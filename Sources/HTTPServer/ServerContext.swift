// What the callbacks of one server share.

import CMicrohttpd
import Glibc
import Synchronization

/// The handler, the limits and the connections of one running server.
final class ServerContext: Sendable {
  let handler: any HTTPHandler
  let configuration: HTTPServerConfiguration
  let gate: RequestGate
  let table: ConnectionTable
  /// Counts the bodies and answers in memory.
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

  func render(_ problem: HTTPProblem) -> HTTPResponse {
    configuration.renderProblem(problem)
  }

  /// Whether a connection has been reading for longer than it may.
  func isOverdue(_ connection: Connection) -> Bool {
    let (activity, milliseconds) = connection.state
    let seconds = Int(truncatingIfNeeded: milliseconds / 1000)
    switch activity {
    case .fresh: return seconds >= configuration.headTimeout
    case .idle: return seconds >= configuration.idleTimeout
    case .receiving:
      let granted = connection.bodyBytes.load(ordering: .relaxed) >> 14
      return seconds &- granted >= configuration.bodyTimeout
    case .working: return false
    }
  }
}

// MARK: Reading a request

extension ServerContext {
  /// The first call of a request: its head is complete, its body not yet read.
  func admit(
    _ exchange: ExchangeState, _ handle: ConnectionHandle, _ line: RequestGate.RequestLine
  ) -> MHD_Result {
    guard !exchange.connection.isSpent.load(ordering: .relaxed) else { return chttp_no }
    var admission = RequestGate.Admission()
    let problem = gate.examine(handle.pointer, line, &exchange.intake, &admission)
    if let problem { return refuse(exchange, handle, problem, admission) }
    if admission.hasBody, !memory.hasRoom(for: Int(clamping: admission.contentLength ?? 1)) {
      return refuse(exchange, handle, .overloaded, admission)
    }
    exchange.intake.stage = .body
    if admission.hasBody {
      exchange.connection.bodyBytes.store(0, ordering: .relaxed)
      exchange.connection.begin(.receiving)
      let expected = Int(truncatingIfNeeded: admission.contentLength ?? 0)
      exchange.intake.body.reserveCapacity(min(expected, 1 << 20))
    }
    return chttp_yes
  }

  /// Bytes of the body.
  func receive(_ exchange: ExchangeState, _ bytes: UnsafeRawBufferPointer) -> MHD_Result {
    exchange.connection.bodyBytes.add(bytes.count, ordering: .relaxed)
    if exchange.intake.stage == .discarding {
      exchange.intake.discarded &+= bytes.count
      return exchange.intake.discarded <= Self.mostDiscarded ? chttp_yes : chttp_no
    }
    guard bytes.count <= configuration.maxBodyBytes &- exchange.intake.body.count else {
      let problem = HTTPProblem.bodyTooLarge(limit: configuration.maxBodyBytes)
      return sendDirectly(exchange, render(problem))
    }
    let charge = exchange.intake.charge ?? MemoryCharge()
    exchange.intake.charge = charge
    guard charge.grow(by: bytes.count, in: memory) else {
      return sendDirectly(exchange, render(.overloaded))
    }
    exchange.intake.body.append(contentsOf: bytes)
    return chttp_yes
  }

  /// The request is complete.
  func handle(_ exchange: ExchangeState, _ handle: ConnectionHandle) -> MHD_Result {
    guard exchange.intake.stage != .discarding else { return chttp_no }
    exchange.intake.stage = .handled
    exchange.connection.begin(.working)
    exchange.began = Deadlines.now
    let request = HTTPRequest(
      method: exchange.intake.method, target: exchange.intake.target,
      headerBlock: exchange.intake.headers, body: exchange.intake.body,
      charge: exchange.intake.charge, connection: exchange.connection)
    exchange.intake.dropBody()
    exchange.intake.headers = HTTPHeaderBlock()
    handler.handle(request, HTTPExchange(exchange))
    return settle(exchange, handle)
  }

  /// Sends the answer, if there is one, or suspends.
  func settle(_ exchange: ExchangeState, _ handle: ConnectionHandle) -> MHD_Result {
    switch exchange.settle(handle) {
    case .send(let answer): return deliver(answer, exchange, handle)
    case .stayAway: return chttp_yes
    case .close: return chttp_no
    }
  }
}

// MARK: Refusing

extension ServerContext {
  /// How much of a refused body is read, so that closing does not destroy the refusal on its way:
  /// a socket closed with unread bytes is reset.
  private static let mostDiscarded = 1 << 20

  private func refuse(
    _ exchange: ExchangeState, _ handle: ConnectionHandle, _ problem: HTTPProblem,
    _ admission: RequestGate.Admission
  ) -> MHD_Result {
    let response = render(problem)
    if admission.hasBody, !admission.expectsContinue { return sendDirectly(exchange, response) }
    exchange.intake.stage = .handled
    exchange.connection.begin(.working)
    handler.answered(0, status: response.status, nanoseconds: 0)
    // A response queued in a request's first call closes the connection.
    return queue(PreparedResponse(response), sendableStatus(response.status), handle)
  }

  /// Writes a response to the socket past libmicrohttpd, which takes none while a body is being
  /// read. Nothing else is being written then. The connection ends with the body.
  private func sendDirectly(_ exchange: ExchangeState, _ response: HTTPResponse) -> MHD_Result {
    handler.answered(0, status: sendableStatus(response.status), nanoseconds: 0)
    let bytes = response.closingMessage()
    let descriptor = exchange.connection.descriptor
    let flags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
    let sent = bytes.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, flags) }
    guard sent == bytes.count else { return chttp_no }
    shutdown(descriptor, Int32(SHUT_WR))
    exchange.intake.dropBody()
    exchange.intake.stage = .discarding
    exchange.connection.isSpent.store(true, ordering: .relaxed)
    return chttp_yes
  }
}

// MARK: Sending

extension ServerContext {
  private func deliver(
    _ answer: HTTPAnswer, _ exchange: ExchangeState, _ handle: ConnectionHandle
  ) -> MHD_Result {
    if exchange.intake.isChunked { exchange.connection.isSpent.store(true, ordering: .relaxed) }
    handler.answered(
      exchange.mark.load(ordering: .relaxed), status: sendableStatus(answer.status),
      nanoseconds: Deadlines.now &- exchange.began)
    switch answer {
    case .prepared(let prepared): return queue(prepared, prepared.status, handle)
    case .notModified(let prepared): return queue(prepared, 304, handle)
    case .response(var response):
      if exchange.intake.isChunked { response.headers.append(("Connection", "close")) }
      let charge = response.body.count == 0 ? nil : exchange.takeCharge()
      let prepared = PreparedResponse(response, charge)
      return queue(prepared, sendableStatus(response.status), handle)
    case .stream(let status, let headers, let stream):
      return queue(stream, status, headers, exchange, handle)
    }
  }

  private func queue(
    _ response: PreparedResponse, _ status: Int, _ handle: ConnectionHandle
  ) -> MHD_Result {
    guard let body = response.handle else { return chttp_no }
    return MHD_queue_response(handle.pointer, UInt32(status), body.pointer)
  }

  private func queue(
    _ stream: HTTPStream, _ status: Int, _ headers: [(name: String, value: String)],
    _ exchange: ExchangeState, _ handle: ConnectionHandle
  ) -> MHD_Result {
    let context = Unmanaged.passRetained(stream).toOpaque()
    guard let pointer = chttp_response_of_stream(1024, readStream, context, releaseStream) else {
      Unmanaged<HTTPStream>.fromOpaque(context).release()
      return chttp_no
    }
    // Keeps what waits unsent in the kernel small, so that a slow reader gets recent bytes.
    ListenSocket.set(
      exchange.connection.descriptor, Int32(IPPROTO_TCP), TCP_NOTSENT_LOWAT, 64 << 10)
    ResponseHandle(pointer: pointer).add(headers)
    // libmicrohttpd would send the last chunk after the head of a HEAD response.
    if exchange.intake.method == "HEAD" { chttp_end_by_closing(pointer) }
    defer { MHD_destroy_response(pointer) }
    return MHD_queue_response(handle.pointer, UInt32(sendableStatus(status)), pointer)
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

extension HTTPResponse {
  /// The response as the last message of a connection.
  fileprivate func closingMessage() -> [UInt8] {
    let status = sendableStatus(status)
    let reason = String(cString: MHD_get_reason_phrase_for(UInt32(status)))
    var head = "HTTP/1.1 \(status) \(reason)\r\n"
    for header in headers {
      let isClean = (header.name + header.value).utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
      if isClean { head += "\(header.name): \(header.value)\r\n" }
    }
    head += "Connection: close\r\nContent-Length: \(body.bytes.count)\r\n\r\n"
    return Array(head.utf8) + body.bytes
  }
}
