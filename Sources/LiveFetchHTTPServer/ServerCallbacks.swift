// The functions that libmicrohttpd calls on its workers.
//
// Ownership: `context` is the WorkerContext, which HTTPWorkers retains until its daemon has
// stopped. A connection's context owns one reference to its Connection, from start to close. A
// request's context owns one reference to its ExchangeState, from the target to the completion.

import CMicrohttpd
import Glibc

/// Called when a connection was accepted, and before it is closed.
func connectionChanged(
  _ context: UnsafeMutableRawPointer?, _ pointer: OpaquePointer?,
  _ socketContext: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
  _ code: MHD_ConnectionNotificationCode
) {
  guard let context, let pointer, let socketContext else { return }
  let worker = Unmanaged<WorkerContext>.fromOpaque(context).takeUnretainedValue()
  let server = worker.server
  if chttp_is_started(code) != 0 {
    let descriptor = chttp_descriptor(pointer)
    KeepAlive(descriptor: descriptor).apply(to: descriptor)
    let connection = Connection(descriptor: descriptor)
    server.table.insert(connection)
    socketContext.pointee = Unmanaged.passRetained(connection).toOpaque()
  } else if let owned = socketContext.pointee {
    let connection = Unmanaged<Connection>.fromOpaque(owned).takeRetainedValue()
    server.table.remove(connection)
    worker.hasEnded = true
    socketContext.pointee = nil
  }
}

/// Called when the request line has been read.
func targetRead(
  _ context: UnsafeMutableRawPointer?, _ target: UnsafePointer<CChar>?, _ pointer: OpaquePointer?
) -> UnsafeMutableRawPointer? {
  guard let context, let target, let pointer, let owned = chttp_socket_context(pointer) else {
    return nil
  }
  let server = Unmanaged<WorkerContext>.fromOpaque(context).takeUnretainedValue().server
  let connection = Unmanaged<Connection>.fromOpaque(owned).takeUnretainedValue()
  let intake = RequestIntake(target: target, last: connection.lastTarget)
  connection.lastTarget = intake.target
  let exchange = ExchangeState(server: server, connection: connection, intake: intake)
  connection.exchange = exchange
  return Unmanaged.passRetained(exchange).toOpaque()
}

/// Called when the head has been read, then for each piece of the body, then at its end, and then
/// after each resumption.
func requestAdvanced(
  _ context: UnsafeMutableRawPointer?, _ pointer: OpaquePointer?, _ url: UnsafePointer<CChar>?,
  _ method: UnsafePointer<CChar>?, _ version: UnsafePointer<CChar>?,
  _ upload: UnsafePointer<CChar>?, _ uploadCount: UnsafeMutablePointer<Int>?,
  _ requestContext: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
  guard let context, let pointer, let method, let version, let uploadCount,
    let owned = requestContext?.pointee
  else { return chttp_no }
  return Unmanaged<WorkerContext>.fromOpaque(context)._withUnsafeGuaranteedRef { worker in
    Unmanaged<ExchangeState>.fromOpaque(owned)._withUnsafeGuaranteedRef { exchange in
      let server = worker.server
      let handle = ConnectionHandle(pointer: pointer, wakeup: worker.wakeup)
      switch exchange.intake.stage {
      case .head:
        let line = RequestGate.RequestLine(method: method, version: version)
        return server.admit(exchange, handle, line)
      case .body, .discarding:
        guard uploadCount.pointee > 0 else { return server.handle(exchange, handle) }
        let bytes = UnsafeRawBufferPointer(start: upload, count: uploadCount.pointee)
        uploadCount.pointee = 0
        guard exchange.intake.decoder != nil else { return server.receive(exchange, handle, bytes) }
        defer {
          // A count that is not 0 makes libmicrohttpd call again after a suspension.
          if exchange.intake.stage == .handled { uploadCount.pointee = 1 }
        }
        return server.receiveChunks(exchange, handle, bytes)
      case .handled:
        return server.respondOrSuspend(exchange, handle)
      }
    }
  }
}

/// Called when the response was sent, or the connection broke.
func requestCompleted(
  _ context: UnsafeMutableRawPointer?, _ pointer: OpaquePointer?,
  _ requestContext: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
  _ code: MHD_RequestTerminationCode
) {
  guard let owned = requestContext?.pointee else { return }
  requestContext?.pointee = nil
  let exchange = Unmanaged<ExchangeState>.fromOpaque(owned).takeRetainedValue()
  exchange.connection.begin(.idle)
  exchange.connection.exchange = nil
  // The worker closes the connection when it reads its end.
  if exchange.connection.isClosing.load(ordering: .relaxed) {
    shutdown(exchange.connection.descriptor, Int32(SHUT_RD))
  }
  exchange.complete(wasSent: chttp_is_complete(code) != 0)
  exchange.report()
}
