// The origin of a request from proxies' header fields: `Forwarded` (RFC 7239), or `X-Forwarded-For`,
// `-Proto` and `-Host`.
//
// Promises: the fields count only if the peer is a trusted proxy. They are read from the right, where
// the nearest proxy appended its part; the client is the first address there that is no trusted
// proxy. Values to its left were sent by the client and are not used.

/// The origin of a request as trusted proxies report it.
struct ForwardedRequest: Sendable, Equatable {
  /// The nearest address that is not a trusted proxy; nil if the proxies report none.
  var client: IPAddress?
  /// True for `https`, false for `http`; nil if the proxies do not report the scheme.
  var isSecure: Bool?
  /// The `Host` that the client sent; nil if the proxies do not report it.
  var host: String?
}

/// The proxies whose reports count.
struct TrustedProxies: Sendable {
  private struct Hop {
    var address: IPAddress?
    var scheme: String?
    var host: String?
  }

  let ranges: [AddressRange]

  private func contains(_ address: IPAddress) -> Bool { ranges.contains { $0.contains(address) } }

  /// Returns nil if the peer is not a trusted proxy, or reports nothing.
  ///
  /// - Throws: 400 for fields that cannot be read, or that contradict each other.
  func request(
    from peer: IPAddress?, _ headers: HTTPHeaderBlock
  ) throws(HTTPProblem) -> ForwardedRequest? {
    guard let peer, contains(peer) else { return nil }
    let standard = headers.all("forwarded")
    let hops = Self.hops(
      clients: headers.all("x-forwarded-for"), schemes: headers.all("x-forwarded-proto"),
      hosts: headers.all("x-forwarded-host"))
    guard !standard.isEmpty else { return hops.isEmpty ? nil : resolve(hops) }
    // A proxy that sets one of them passes the other on as the client sent it.
    guard hops.isEmpty else {
      throw .badRequest("`Forwarded` and `X-Forwarded-…` exclude each other.")
    }
    guard let parsed = ForwardedParser.elements(of: standard.joined(separator: ",")) else {
      throw .badRequest("`Forwarded` cannot be read.")
    }
    return resolve(
      parsed.map {
        Hop(address: $0["for"].flatMap(Self.address), scheme: $0["proto"], host: $0["host"])
      })
  }

  private func resolve(_ hops: [Hop]) -> ForwardedRequest {
    var request = ForwardedRequest()
    for hop in hops.reversed() {
      request.isSecure = Self.isSecure(hop.scheme)
      request.host = hop.host
      guard let address = hop.address else { break }
      request.client = address
      guard contains(address) else { break }
    }
    return request
  }

  private static func isSecure(_ scheme: String?) -> Bool? {
    switch scheme?.lowercased() {
    case "https": true
    case "http": false
    default: nil
    }
  }

  /// Schemes and hosts belong to the addresses one by one if there are as many of them; otherwise the
  /// last one counts.
  private static func hops(clients: [String], schemes: [String], hosts: [String]) -> [Hop] {
    let clients = elements(clients)
    let schemes = elements(schemes)
    let hosts = elements(hosts)
    guard !clients.isEmpty else {
      if schemes.isEmpty, hosts.isEmpty { return [] }
      return [Hop(scheme: schemes.last, host: hosts.last)]
    }
    return clients.indices.map { index in
      Hop(
        address: address(clients[index]),
        scheme: schemes.count == clients.count ? schemes[index] : schemes.last,
        host: hosts.count == clients.count ? hosts[index] : hosts.last)
    }
  }

  /// Splits at bytes: a character may consist of a comma and what the client sent before it.
  private static func elements(_ values: [String]) -> [String] {
    values.flatMap { $0.utf8.split(separator: UInt8(ascii: ",")) }
      .map { String(Substring($0).trimmingBlanks()) }
      .filter { !$0.isEmpty }
  }

  /// The address of `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]` or
  /// `[2001:db8::1]:80`; nil for names such as `unknown` and `_hidden`.
  private static func address(_ node: String) -> IPAddress? {
    if let address = IPAddress(node) { return address }
    if node.first == "[", let end = node.firstIndex(of: "]") {
      let rest = node[node.index(after: end)...]
      guard rest.isEmpty || rest.first == ":" else { return nil }
      return IPAddress(node[node.index(after: node.startIndex)..<end])
    }
    guard let colon = node.lastIndex(of: ":") else { return nil }
    return IPAddress(node[..<colon])
  }
}

/// Parses the value of `Forwarded`: elements between commas, each of pairs between semicolons.
private struct ForwardedParser {
  private var scanner: HeaderValueScanner

  /// The pairs of each element, with names in lower case; nil for a value that is not well-formed.
  static func elements(of value: String) -> [[String: String]]? {
    var parser = ForwardedParser(scanner: HeaderValueScanner(value))
    var elements: [[String: String]] = []
    while true {
      parser.scanner.skipBlanks()
      if !parser.isAtEnd(of: UInt8(ascii: ",")) {
        guard let element = parser.element() else { return nil }
        elements.append(element)
      }
      parser.scanner.skipBlanks()
      if parser.scanner.rest.isEmpty { return elements }
      guard parser.scanner.consume(UInt8(ascii: ",")) else { return nil }
    }
  }

  /// True at the end of the value or at `byte`: list elements may be empty.
  private func isAtEnd(of byte: UInt8) -> Bool {
    scanner.rest.isEmpty || scanner.rest.first == byte
  }

  private mutating func element() -> [String: String]? {
    var pairs: [String: String] = [:]
    repeat {
      scanner.skipBlanks()
      if isAtEnd(of: UInt8(ascii: ";")) || isAtEnd(of: UInt8(ascii: ",")) { continue }
      let name = scanner.token().lowercased()
      guard !name.isEmpty, scanner.consume(UInt8(ascii: "=")), let value = value(),
        pairs.updateValue(value, forKey: name) == nil
      else { return nil }
      scanner.skipBlanks()
    } while scanner.consume(UInt8(ascii: ";"))
    return pairs
  }

  private mutating func value() -> String? {
    if scanner.consume(UInt8(ascii: "\"")) { return scanner.quotedText() }
    let token = scanner.token()
    return token.isEmpty ? nil : token
  }
}
