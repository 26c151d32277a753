// One complete request, as a handler receives it.
//
// Every value is the client's own bytes after the gate has checked that they are well-formed;
// nothing is percent-decoded. A request never changes: it may be stored and read from any thread.

/// A request that has been read completely.
public final class HTTPRequest: Sendable {
  /// The method as sent: `GET`, `HEAD`, … Handlers respond to `HEAD` as to `GET`; the server omits
  /// the body and keeps its length.
  public let method: String
  /// The raw target in origin form, percent-encoded, with its query: visible ASCII only.
  /// An absolute-form target is reduced to its path and query; `*` occurs with `OPTIONS`.
  public let target: String
  /// The body, decoded from chunks if it came in chunks; at most
  /// ``HTTPServerConfiguration/maxBodyBytes``.
  public let body: [UInt8]
  let headerBlock: HTTPHeaderBlock
  private let origin: Origin

  private enum Origin: Sendable {
    case connection(Connection, ForwardedRequest?)
    case text(String, connection: UInt64)
  }

  /// Counts the body's bytes for as long as the request is retained.
  private let reservation: MemoryReservation?

  init(
    method: String, target: String, headerBlock: HTTPHeaderBlock, body: [UInt8],
    reservation: MemoryReservation?, connection: Connection, forwarded: ForwardedRequest?
  ) {
    self.method = method
    self.target = target
    self.headerBlock = headerBlock
    self.body = body
    self.reservation = reservation
    self.origin = .connection(connection, forwarded)
  }

  /// Creates a request without a socket, for tests and for calls within the process.
  public init(
    method: String = "GET", target: String, headers: [(name: String, value: String)] = [],
    body: [UInt8] = [], remoteAddress: String = "", connectionNumber: UInt64 = 0
  ) {
    self.method = method
    self.target = target
    self.headerBlock = HTTPHeaderBlock(headers)
    self.body = body
    self.reservation = nil
    self.origin = .text(remoteAddress, connection: connectionNumber)
  }

  private init(_ other: HTTPRequest, body: [UInt8]) {
    method = other.method
    target = other.target
    headerBlock = other.headerBlock
    self.body = body
    reservation = nil
    origin = other.origin
  }

  /// The same request without its body and the memory that is reserved for it.
  public var withoutBody: HTTPRequest { HTTPRequest(self, body: []) }

  /// The raw path: the target up to its first `?`.
  public var path: Substring {
    let utf8 = target.utf8
    return target[..<(utf8.firstIndex(of: UInt8(ascii: "?")) ?? utf8.endIndex)]
  }

  /// The raw query: the part after the first `?`; nil if there is none.
  public var query: Substring? {
    let utf8 = target.utf8
    guard let mark = utf8.firstIndex(of: UInt8(ascii: "?")) else { return nil }
    return target[utf8.index(after: mark)...]
  }

  /// The first header value under `name`, without surrounding blanks. O(number of headers).
  ///
  /// - Parameter name: compared ignoring ASCII case.
  public func header(_ name: String) -> String? {
    headerBlock.first(name)
  }

  /// True if the first header value under `name` is byte for byte `value`. No allocation.
  public func hasHeader(_ name: String, _ value: String) -> Bool {
    headerBlock.first(name, is: value)
  }

  /// True if a header value under `name` contains `part`, ignoring ASCII case. No allocation.
  public func hasHeader(_ name: String, containing part: String) -> Bool {
    headerBlock.has(name, containing: part)
  }

  /// Every header value under `name`, in the order sent.
  public func headerValues(_ name: String) -> [String] {
    headerBlock.all(name)
  }

  /// The values of a header that is a list, joined by commas; nil without one.
  public func headerList(_ name: String) -> String? {
    let values = headerBlock.all(name)
    return values.count > 1 ? values.joined(separator: ",") : values.first
  }

  /// All header fields, in the order sent.
  public var headers: [(name: String, value: String)] {
    headerBlock.fields
  }

  /// The client's numeric address without its port; empty if unknown. Behind a trusted proxy the
  /// address that the proxy reports. Computed on each access.
  public var remoteAddress: String {
    switch origin {
    case .connection: address?.description ?? ""
    case .text(let text, _): text
    }
  }

  /// Identifies a client by its address: the ``remoteAddress``, or the `/64` of an IPv6 address.
  public var clientNetwork: String { address?.client ?? remoteAddress }

  private var address: IPAddress? {
    switch origin {
    case .connection(let connection, let forwarded): forwarded?.client ?? connection.address
    case .text(let text, _): IPAddress(text)
    }
  }

  /// Identifies the connection within this process.
  public var connectionNumber: UInt64 {
    switch origin {
    case .connection(let connection, _): connection.number
    case .text(_, let number): number
    }
  }
}
