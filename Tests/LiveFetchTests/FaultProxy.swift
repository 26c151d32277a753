// A TCP proxy with the faults of gateways and networks: responses of its own, responses that are cut
// short, delayed or altered, refused connections.

import Foundation
import Glibc
import Synchronization
import Testing

/// Forwards connections to one server. Each connection has its own thread.
final class FaultProxy: Sendable {
  enum Fault: Sendable {
    case none
    /// Connections are closed as soon as they are made.
    case refused
    /// Every request gets this response, and the server never sees it.
    case answer(String)
    /// Connections are closed after this number of bytes of a response.
    case cut(after: Int)
    /// Only the next connection is closed after this number of bytes.
    case cutOnce(after: Int)
    /// The request for a stream does not reach the server.
    case unstreamed
    /// Responses are held back until the connection ends.
    case heldBack
    /// Responses are altered.
    case altered(@Sendable ([UInt8]) -> [UInt8])
  }

  private struct State {
    var fault = Fault.none
    var server: UInt16
    var open: Set<Int32> = []
    var requests: [String] = []
    var received = 0
    var isClosed = false
  }

  private let listener: Int32
  let port: Int
  private let state: Mutex<State>
  private let host: String

  /// - Parameters:
  ///   - host: an address of the loopback interface, the server's.
  ///   - server: the server's port.
  init(host: String, port server: Int) throws {
    self.host = host
    listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = Self.address("127.0.0.1", 0)
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let listener = listener
    let isListening = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, size) == 0 && listen(listener, 512) == 0
          && getsockname(listener, $0, &size) == 0
      }
    }
    try #require(isListening)
    port = Int(UInt16(bigEndian: address.sin_port))
    state = Mutex(State(server: UInt16(server)))
    Self.thread { [weak self] in
      while true {
        let client = accept(listener, nil, nil)
        guard client >= 0 else { return }
        guard let self else {
          close(client)
          return
        }
        accepted(client)
      }
    }
  }

  deinit {
    shutdown(listener, Int32(SHUT_RDWR))
    close(listener)
    breakConnections()
  }

  /// Every received request, with its body if it arrived in the same read.
  var requests: [String] { state.withLock { $0.requests } }

  /// The number of times that bytes came from the server.
  var received: Int { state.withLock { $0.received } }

  /// The number of open connections.
  var connections: Int { state.withLock { $0.open.count } }

  /// Applies `fault` from now on and closes the open connections.
  func set(_ fault: Fault) {
    state.withLock { $0.fault = fault }
    breakConnections()
  }

  func breakConnections() {
    state.withLock { state in
      for descriptor in state.open { shutdown(descriptor, Int32(SHUT_RDWR)) }
    }
  }

  // MARK: - One connection

  private func accepted(_ client: Int32) {
    if case .refused = state.withLock({ $0.fault }) {
      close(client)
      return
    }
    state.withLock { _ = $0.open.insert(client) }
    Self.thread { [weak self] in
      let server = self?.connected() ?? -1
      var pipe = Pipe(client: client, server: server)
      while server >= 0, pipe.wait(), self?.step(&pipe) == true {}
      if let self { state.withLock { _ = $0.open.remove(client) } }
      close(client)
      if server >= 0 { close(server) }
    }
  }

  private struct Pipe {
    let client: Int32
    let server: Int32
    var passed = 0
    var held: [UInt8] = []
    /// The current request.
    var request = ""
    var fromClient = false
    var fromServer = false

    mutating func wait() -> Bool {
      var polls = [
        pollfd(fd: client, events: Int16(POLLIN), revents: 0),
        pollfd(fd: server, events: Int16(POLLIN), revents: 0),
      ]
      guard poll(&polls, 2, 60_000) > 0 else { return false }
      (fromClient, fromServer) = (polls[0].revents != 0, polls[1].revents != 0)
      return true
    }

    /// The request that `bytes` complete; nil if it is still incomplete.
    mutating func take(_ bytes: [UInt8]) -> String? {
      request += String(decoding: bytes, as: UTF8.self)
      guard let end = request.range(of: "\r\n\r\n") else { return nil }
      let length = request.range(of: "content-length: ", options: .caseInsensitive)
        .flatMap { Int(request[$0.upperBound...].prefix { $0.isNumber }) }
      guard request[end.upperBound...].utf8.count >= length ?? 0 else { return nil }
      defer { request = "" }
      return request
    }
  }

  /// Forwards the received bytes; returns false if the connection has ended.
  private func step(_ pipe: inout Pipe) -> Bool {
    if pipe.fromClient {
      guard let bytes = Self.receive(pipe.client) else { return false }
      pipe.passed = 0
      let request = pipe.take(bytes)
      let fault = state.withLock { state in
        request.map { state.requests.append($0) }
        return state.fault
      }
      if case .answer(let text) = fault {
        guard request != nil else { return true }
        Self.send(Array(text.utf8), pipe.client)
        return false
      }
      guard Self.send(altered(bytes, fault), pipe.server) else { return false }
    }
    guard pipe.fromServer else { return true }
    guard let bytes = Self.receive(pipe.server) else {
      Self.send(pipe.held, pipe.client)
      return false
    }
    state.withLock { $0.received += 1 }
    return pass(bytes, &pipe)
  }

  /// A request as the server gets it.
  private func altered(_ bytes: [UInt8], _ fault: Fault) -> [UInt8] {
    guard case .unstreamed = fault else { return bytes }
    let text = String(decoding: bytes, as: UTF8.self)
    return Array(text.replacing("text/event-stream", with: "application/json ").utf8)
  }

  private func pass(_ bytes: [UInt8], _ pipe: inout Pipe) -> Bool {
    switch state.withLock({ $0.fault }) {
    case .cut(let most): return pass(bytes, upTo: most, &pipe)
    case .cutOnce(let most):
      if pass(bytes, upTo: most, &pipe) { return true }
      state.withLock { $0.fault = .none }
      return false
    case .heldBack:
      pipe.held += bytes
      return true
    case .altered(let change): return Self.send(change(bytes), pipe.client)
    case .none, .refused, .answer, .unstreamed: return Self.send(bytes, pipe.client)
    }
  }

  private func pass(_ bytes: [UInt8], upTo most: Int, _ pipe: inout Pipe) -> Bool {
    let piece = bytes.prefix(most - pipe.passed)
    pipe.passed += piece.count
    return Self.send(Array(piece), pipe.client) && pipe.passed < most
  }

  private func connected() -> Int32 {
    let descriptor = socket(
      AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = Self.address(host, state.withLock { $0.server })
    let size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, size)
      }
    }
    if result == 0 { return descriptor }
    close(descriptor)
    return -1
  }

  // MARK: - Sockets

  private static func address(_ host: String, _ port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = inet_addr(host)
    return address
  }

  private static func receive(_ descriptor: Int32) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    let count = recv(descriptor, &bytes, bytes.count, 0)
    return count > 0 ? Array(bytes[..<count]) : nil
  }

  @discardableResult
  private static func send(_ bytes: [UInt8], _ descriptor: Int32) -> Bool {
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return false }
      sent += count
    }
    return true
  }

  private static func thread(_ body: @escaping @Sendable () -> Void) {
    let thread = Thread(block: body)
    thread.stackSize = 256 << 10
    thread.start()
  }
}
