// A response in libmicrohttpd's own form.
//
// Input: an HTTPResponse. Output: an object that any number of exchanges may send, from any threads
// at the same time, without copying the body again. Its memory is freed when the last reference is
// released and the last sending has ended.

import CMicrohttpd
import Glibc

/// A response that is made once and sent many times: a cached body, or one diff to ten thousand
/// waiters.
public final class PreparedResponse: Sendable {
  /// The status that is sent.
  public let status: Int
  /// The header fields of the original response.
  public let headers: [(name: String, value: String)]
  /// The number of bytes in the body.
  public let bodyCount: Int
  let handle: ResponseHandle?
  private let memory: BodyMemory
  /// The length of a body that is left out; `none` for any other body.
  private let bodyForm: HTTPBody
  /// Counts the body's bytes for as long as any exchange sends them; nil for a small body.
  let reservation: MemoryReservation?

  /// Copies the body once. O(bytes).
  public convenience init(_ response: HTTPResponse) {
    self.init(response, MemoryReservation(for: response.body.count))
  }

  init(_ response: HTTPResponse, _ reservation: MemoryReservation?) {
    status = sendableStatus(response.status)
    headers = response.headers
    self.reservation = reservation
    memory = BodyMemory(copying: response.body, reservation)
    bodyCount = memory.count
    if case .omitted(let count) = response.body {
      bodyForm = response.body
      handle = ResponseHandle(length: count, headers: response.headers)
    } else {
      bodyForm = .none
      handle = ResponseHandle(memory: memory, headers: response.headers)
    }
  }

  deinit {
    if let handle { MHD_destroy_response(handle.pointer) }
  }

  /// Creates a response with the same body, status and fields, and further fields. The caller destroys
  /// it. The body is not copied.
  func copy(adding extra: [(name: String, value: String)]) -> ResponseHandle? {
    let copy: ResponseHandle?
    if case .omitted(let count) = bodyForm {
      copy = ResponseHandle(length: count, headers: headers)
    } else {
      let owner = Unmanaged.passRetained(self).toOpaque()
      let pointer = chttp_response_of_shared_memory(
        memory.count, memory.start, releasePrepared, owner)
      if pointer == nil { Unmanaged<PreparedResponse>.fromOpaque(owner).release() }
      copy = pointer.map { ResponseHandle(pointer: $0) }
      copy?.add(headers)
    }
    copy?.add(extra)
    return copy
  }

  /// A copy of the body's bytes.
  public var body: [UInt8] {
    guard handle != nil, let start = memory.start else { return [] }
    return Array(UnsafeRawBufferPointer(start: start, count: memory.count))
  }
}

/// Returns the status if it can end an exchange, otherwise 500.
func sendableStatus(_ status: Int) -> Int {
  (200...599).contains(status) ? status : 500
}

/// Memory from `malloc`, freed when libmicrohttpd destroys the response that owns it. A reference
/// to the reservation that counts its bytes precedes them.
struct BodyMemory: @unchecked Sendable {
  private static let header = 16
  let start: UnsafeMutableRawPointer?
  let count: Int

  init(copying body: HTTPBody, _ reservation: MemoryReservation?) {
    guard case .bytes(let bytes) = body, !bytes.isEmpty,
      let memory = malloc(Self.header + bytes.count)
    else {
      start = nil
      count = 0
      return
    }
    let owned = reservation.map { Unmanaged.passRetained($0).toOpaque() }
    memory.storeBytes(of: owned, as: UnsafeMutableRawPointer?.self)
    let start = memory + Self.header
    bytes.withUnsafeBytes { source in
      UnsafeMutableRawBufferPointer(start: start, count: bytes.count).copyMemory(from: source)
    }
    self.start = start
    count = bytes.count
  }

  static func release(_ start: UnsafeMutableRawPointer?) {
    guard let start else { return }
    let memory = start - header
    if let reservation = memory.load(as: UnsafeMutableRawPointer?.self) {
      Unmanaged<MemoryReservation>.fromOpaque(reservation).release()
    }
    free(memory)
  }
}

private func releasePrepared(_ owner: UnsafeMutableRawPointer?) {
  guard let owner else { return }
  Unmanaged<PreparedResponse>.fromOpaque(owner).release()
}

private func releaseBody(_ start: UnsafeMutableRawPointer?) { BodyMemory.release(start) }

/// A reference to a libmicrohttpd response. libmicrohttpd counts its uses under a lock of its own.
struct ResponseHandle: @unchecked Sendable {
  let pointer: OpaquePointer

  /// Takes ownership of `memory`. Nil only if memory has run out.
  init?(memory: BodyMemory, headers: [(name: String, value: String)]) {
    guard let response = chttp_response_of_memory(memory.count, memory.start, releaseBody) else {
      BodyMemory.release(memory.start)
      return nil
    }
    pointer = response
    add(headers)
  }

  /// Creates a response with a length but no bytes.
  init?(length: Int, headers: [(name: String, value: String)]) {
    guard let response = chttp_response_of_length(UInt64(max(length, 0))) else { return nil }
    pointer = response
    add(headers)
  }

  init(pointer: OpaquePointer) {
    self.pointer = pointer
  }

  /// Adds header fields. libmicrohttpd refuses names and values with control characters; those are
  /// omitted.
  func add(_ headers: [(name: String, value: String)]) {
    for header in headers {
      _ = MHD_add_response_header(pointer, header.name, header.value)
    }
  }
}
