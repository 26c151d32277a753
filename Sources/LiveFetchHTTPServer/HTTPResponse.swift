// A handler's response: a status, header fields and bytes.

/// The body of a response.
public enum HTTPBody: Sendable, Equatable {
  /// No body; `Content-Length: 0` is sent if the status allows a body.
  case none
  /// These bytes, with their `Content-Length`.
  case bytes([UInt8])
  /// With status 304, or in response to HEAD: the length of the body that a 200 to GET would have had,
  /// and none of its bytes. Not for other responses.
  case omitted(count: Int)

  /// Text as UTF-8.
  public static func text(_ text: String) -> HTTPBody {
    .bytes(Array(text.utf8))
  }

  /// The number of bytes that are sent.
  var count: Int { bytes.count }

  /// The bytes that are sent.
  public var bytes: [UInt8] {
    if case .bytes(let bytes) = self { bytes } else { [] }
  }
}

/// A response as a value. `Date`, `Content-Length` and `Connection` are added by the server.
public struct HTTPResponse: Sendable {
  /// 200 to 599; anything else is sent as 500.
  public var status: Int
  /// Header fields in the order they are sent. A field with a control character in it is left out.
  public var headers: [(name: String, value: String)]
  /// The body; left out by the server on `HEAD`, 204 and 304.
  public var body: HTTPBody

  /// Makes an HTTP response.
  public init(
    status: Int = 200, headers: [(name: String, value: String)] = [], body: HTTPBody = .none
  ) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  /// The first header value under `name`, whose case is ignored.
  public func header(_ name: String) -> String? {
    let lowercasedName = name.lowercased()
    return headers.first { $0.name.lowercased() == lowercasedName }?.value
  }
}
