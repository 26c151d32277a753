// A response in libmicrohttpd's own form.
//
// Input: an HTTPResponse. Output: an object that any number of exchanges may send, from any threads
// at the same time. A short body is copied once; a long one is copied to the socket in blocks, so that an
// HTTP worker serves other connections between them. The memory is freed when the last reference is
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
  /// The response for exchanges without further header fields; nil for a long body, and if memory has run
  /// out.
  let handle: ResponseHandle?
  /// A short body.
  private let memory: BodyMemory
  /// A long body, or the length of a body that is left out; `none` for any other body.
  private let bodyForm: HTTPBody
  /// Counts the body's bytes for as long as any exchange sends them; nil for a small body.
  let reservation: MemoryReservation?

  /// The longest body in bytes that is copied. Copying those of R10's attack took an HTTP worker up to 17 ms.
  private static let longestCopied = 1 << 20
  /// The size of the blocks of a long body, in bytes. Each sending takes as much memory.
  private static let blockSize = 32 << 10

  /// O(bytes), at most 1 MiB.
  public convenience init(_ response: HTTPResponse) {
    self.init(response, MemoryReservation(for: response.body.count))
  }

  init(_ response: HTTPResponse, _ reservation: MemoryReservation?) {
    status = sendableStatus(response.status)
    headers = response.headers
    self.reservation = reservation
    switch response.body {
    case .omitted(let count):
      (memory, bodyForm, bodyCount) = (BodyMemory(), response.body, 0)
      handle = ResponseHandle(length: count, headers: response.headers)
    case .bytes(let bytes) where bytes.count > Self.longestCopied:
      (memory, bodyForm, bodyCount) = (BodyMemory(), response.body, bytes.count)
      handle = nil
    case .bytes, .none:
      memory = BodyMemory(copying: response.body, reservation)
      (bodyForm, bodyCount) = (.none, memory.count)
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
    switch bodyForm {
    case .omitted(let count): copy = ResponseHandle(length: count, headers: headers)
    case .bytes(let bytes):
      copy = retaining { owner in
        MHD_create_response_from_callback(
          UInt64(bytes.count), Self.blockSize, readPrepared, owner, releasePrepared)
      }
    case .none:
      // Without a handle the memory was freed.
      guard handle != nil else { return nil }
      copy = retaining { owner in
        chttp_response_of_shared_memory(memory.count, memory.start, releasePrepared, owner)
      }
    }
    copy?.add(extra)
    return copy
  }

  /// A response that retains this object, its owner, until it is destroyed.
  private func retaining(_ make: (UnsafeMutableRawPointer) -> OpaquePointer?) -> ResponseHandle? {
    let owner = Unmanaged.passRetained(self)
    guard let pointer = make(owner.toOpaque()) else {
      owner.release()
      return nil
    }
    let handle = ResponseHandle(pointer: pointer)
    handle.add(headers)
    return handle
  }

  /// Copies bytes of a long body. Returns their number.
  fileprivate func read(from position: UInt64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    guard case .bytes(let bytes) = bodyForm, position < bytes.count else { return 0 }
    return bytes.withUnsafeBytes { bytes in
      let block = bytes[Int(position)...].prefix(buffer.count)
      buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: block))
      return block.count
    }
  }

  /// The body's bytes; a copy if it is short.
  public var body: [UInt8] {
    if case .bytes(let bytes) = bodyForm { return bytes }
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

  /// No bytes.
  init() { self.init(start: nil, count: 0) }

  private init(start: UnsafeMutableRawPointer?, count: Int) {
    self.start = start
    self.count = count
  }

  init(copying body: HTTPBody, _ reservation: MemoryReservation?) {
    guard case .bytes(let bytes) = body, !bytes.isEmpty,
      let memory = malloc(Self.header + bytes.count)
    else {
      self.init()
      return
    }
    let owned = reservation.map { Unmanaged.passRetained($0).toOpaque() }
    memory.storeBytes(of: owned, as: UnsafeMutableRawPointer?.self)
    let start = memory + Self.header
    bytes.withUnsafeBytes { source in
      UnsafeMutableRawBufferPointer(start: start, count: bytes.count).copyMemory(from: source)
    }
    self.init(start: start, count: bytes.count)
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

private func readPrepared(
  _ owner: UnsafeMutableRawPointer?, _ position: UInt64, _ buffer: UnsafeMutablePointer<CChar>?,
  _ room: Int
) -> Int {
  let endWithError = -2
  guard let owner, let buffer else { return endWithError }
  let response = Unmanaged<PreparedResponse>.fromOpaque(owner).takeUnretainedValue()
  let count = response.read(
    from: position, into: UnsafeMutableRawBufferPointer(start: buffer, count: room))
  return count > 0 ? count : endWithError
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
