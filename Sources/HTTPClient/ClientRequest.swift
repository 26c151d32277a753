// An HTTP request as a value, and the time limits of its transfer.

/// The time limits of a transfer's phases, in seconds.
package struct TransferTimeLimits: Sendable, Equatable {
  /// For the connection: looking up the host's name, TCP, TLS.
  package var connect: Double
  /// Between the request's last byte and the response's head and first byte, and between two bytes of
  /// either.
  package var response: Double
  /// Between two bytes of the response's body. Time in which the reader does not read does not count.
  package var idle: Double

  package init(connect: Double = 10, response: Double = 90, idle: Double = 90) {
    (self.connect, self.response, self.idle) = (connect, response, idle)
  }
}

/// A request: method, address, headers, body, limits.
package struct ClientRequest: Sendable {
  package let method: String
  /// An absolute URL, `http` or `https`, percent-encoded.
  package let url: String
  package var headers: [(name: String, value: String)]
  package var body: [UInt8]
  package var limits: TransferTimeLimits
  /// The most bytes of a body that a whole response may have.
  package var maxResponseBytes = Int.max

  package init(
    _ method: String, _ url: String, headers: [(name: String, value: String)] = [],
    body: [UInt8] = [], limits: TransferTimeLimits = .init()
  ) {
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
    self.limits = limits
  }

  /// Why the request cannot be sent; nil if it can. A line break in a header would add lines to the
  /// request.
  var problem: String? {
    let lowercased = url.prefix(8).lowercased()
    guard lowercased.hasPrefix("http://") || lowercased.hasPrefix("https://") else {
      return "an address begins with http:// or https://"
    }
    guard url.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
      return "the address holds a blank or a control character"
    }
    guard !method.isEmpty, method.utf8.allSatisfy(Self.isTokenByte) else {
      return "'\(method)' is not a method"
    }
    for (name, value) in headers {
      guard !name.isEmpty, name.utf8.allSatisfy(Self.isTokenByte) else {
        return "a header has an invalid name"
      }
      guard value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
        return "the header \(name) holds a control character"
      }
    }
    return nil
  }

  /// True for the bytes of a token of RFC 9110.
  package static func isTokenByte(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
  }
}
