// A response in libmicrohttpd's own form.
//
// Enters: an HTTPResponse. Leaves: something that any number of exchanges may be answered with,
// from any threads at once, without copying the body again. Its memory is freed when the last
// reference and the last sending of it are gone.

import CMicrohttpd
import Glibc

/// A response made once and sent many times: a cached body, or one diff to ten thousand waiters.
public final class PreparedResponse: Sendable {
  /// The status that is sent.
  public let status: Int
  /// The header fields it was made from.
  public let headers: [(name: String, value: String)]
  /// How many bytes the body has.
  public let bodyCount: Int
  let handle: ResponseHandle?
  private let memory: BodyMemory

  /// Copies the body once. O(bytes).
  public init(_ response: HTTPResponse) {
    status = sendableStatus(response.status)
    headers = response.headers
    memory = BodyMemory(copying: response.body)
    bodyCount = memory.count
    if case .omitted(let count) = response.body, response.status == 304 {
      handle = ResponseHandle(length: count, headers: response.headers)
    } else {
      handle = ResponseHandle(memory: memory, headers: response.headers)
    }
  }

  deinit {
    if let handle { MHD_destroy_response(handle.pointer) }
  }

  /// A copy of the body's bytes.
  public var body: [UInt8] {
    guard handle != nil, let start = memory.start else { return [] }
    return Array(UnsafeRawBufferPointer(start: start, count: memory.count))
  }
}

/// The status itself if it can end an exchange, else 500.
func sendableStatus(_ status: Int) -> Int {
  (200...599).contains(status) ? status : 500
}

/// Memory from `malloc`, so that libmicrohttpd can free it; owned by the response made of it.
struct BodyMemory: @unchecked Sendable {
  let start: UnsafeMutableRawPointer?
  let count: Int

  init(copying body: HTTPBody) {
    guard case .bytes(let bytes) = body, !bytes.isEmpty, let memory = malloc(bytes.count) else {
      start = nil
      count = 0
      return
    }
    bytes.withUnsafeBytes { memory.copyMemory(from: $0.baseAddress!, byteCount: $0.count) }
    start = memory
    count = bytes.count
  }
}

/// A reference to a libmicrohttpd response. libmicrohttpd counts its uses under a lock of its own.
struct ResponseHandle: @unchecked Sendable {
  let pointer: OpaquePointer

  /// Takes over `memory`. Nil only when memory has run out.
  init?(memory: BodyMemory, headers: [(name: String, value: String)]) {
    guard let response = chttp_response_of_memory(memory.count, memory.start) else {
      free(memory.start)
      return nil
    }
    pointer = response
    add(headers)
  }

  /// Names a length, has no bytes.
  init?(length: Int, headers: [(name: String, value: String)]) {
    guard let response = chttp_response_of_length(UInt64(max(length, 0))) else { return nil }
    pointer = response
    add(headers)
  }

  init(pointer: OpaquePointer) {
    self.pointer = pointer
  }

  /// libmicrohttpd refuses names and values with control characters; those are left out.
  func add(_ headers: [(name: String, value: String)]) {
    for header in headers {
      _ = MHD_add_response_header(pointer, header.name, header.value)
    }
  }
}
