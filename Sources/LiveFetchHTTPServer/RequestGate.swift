// The gate between libmicrohttpd's lenient parser and the handlers.
//
// Input: a request's head as libmicrohttpd left it in its buffer. Output: a copy of the head, or
// the reason for refusing it. Promises: an accepted head is well-formed by RFC 9112, is framed in
// only one way, and names one host, which is among the configured ones; nothing is decoded.
//
// libmicrohttpd 0.9.75 ends lines at a bare LF, cuts names and values at NUL, joins folded lines
// and skips surplus blanks without reporting it. But it parses in place: each line end leaves one
// zero byte for LF and two for CRLF. So the gate checks that the parts are exactly where a
// well-formed head has them. It cannot distinguish CRLF from a NUL directly before a bare LF. Other
// versions have other layouts; they are started with a strictness at which they refuse all of this by
// themselves.

import CMicrohttpd
import Glibc

/// Checks heads.
struct RequestGate: Sendable {
  let maxHeadBytes: Int
  let maxHeaderCount: Int
  let maxBodyBytes: Int
  let hostNames: HostNames?
  private let proxies: TrustedProxies
  private let isSecure: Bool

  /// True if the library that is loaded is the version whose layout and chunk decoder are known.
  static let knowsLibrary = chttp_is_0_9_75() != 0

  init(_ configuration: HTTPServerConfiguration) {
    maxHeadBytes = configuration.effectiveHeadBytes
    maxHeaderCount = configuration.maxHeaderCount
    maxBodyBytes = configuration.maxBodyBytes
    hostNames = configuration.hostNames
    proxies = TrustedProxies(ranges: configuration.trustedProxies)
    isSecure = configuration.certificate != nil
  }

  /// The parts of a head that determine how the body is read.
  struct Admission {
    var contentLength: UInt64?
    var isChunked = false
    /// True if a blank after `chunked`, which is legal, keeps libmicrohttpd 0.9.75 from decoding
    /// the body.
    var decodesChunks = false
    var expectsContinue = false

    var hasBody: Bool { isChunked || (contentLength ?? 0) > 0 }
  }

  /// The parts of the request line in libmicrohttpd's buffer.
  struct RequestLine {
    let method: UnsafePointer<CChar>
    let version: UnsafePointer<CChar>
  }

  /// Fills `intake` from a well-formed head. If the head is refused, the admission contains the
  /// part that was understood.
  func examine(
    _ connection: OpaquePointer, _ line: RequestLine, peer: IPAddress?,
    _ intake: inout RequestIntake, _ admission: inout Admission
  ) -> HTTPProblem? {
    let headSize = chttp_head_size(connection)
    var scan = HeaderScan(
      cursor: line.version + 10, checksLayout: Self.knowsLibrary, maxCount: maxHeaderCount)
    let fits = headSize <= maxHeadBytes
    scan.collect(connection, headSize: fits ? headSize : nil)
    admission = scan.admission
    intake.isChunked = admission.isChunked
    if admission.decodesChunks { intake.decoder = ChunkDecoder() }
    guard fits else {
      return intake.targetCount < maxHeadBytes
        ? .headersTooLarge(limit: maxHeadBytes) : .targetTooLong(limit: maxHeadBytes)
    }
    if let problem = checkLine(line, &intake) ?? scan.problem { return problem }
    if Self.knowsLibrary, scan.cursor + 2 != line.method + headSize {
      return .badRequest("A line does not end in CRLF, or holds a NUL.")
    }
    intake.headers = scan.fields
    return checkFraming(scan, isVersion10: line.version[7] == 0x30)
      ?? readForwarded(peer, &intake) ?? checkHost(scan, intake)
      ?? checkLength(scan, limit: bodyLimit(of: intake.method))
  }

  private func readForwarded(_ peer: IPAddress?, _ intake: inout RequestIntake) -> HTTPProblem? {
    guard !proxies.ranges.isEmpty else { return nil }
    do throws(HTTPProblem) {
      intake.forwarded = try proxies.request(from: peer, intake.headers)
      return nil
    } catch {
      return error
    }
  }

  /// Checks the host: the one that a trusted proxy reports, else the authority of an absolute target,
  /// which has precedence over `Host` (RFC 9112, section 3.2.2).
  private func checkHost(_ scan: HeaderScan, _ intake: RequestIntake) -> HTTPProblem? {
    guard let hostNames else { return nil }
    if var host = intake.forwarded?.host {
      return host.withUTF8(hostNames.contains) ? nil : .unknownHost
    }
    if var authority = intake.authority {
      return authority.withUTF8(hostNames.contains) ? nil : .unknownHost
    }
    return scan.hostName.map(hostNames.hasName) ?? true ? nil : .unknownHost
  }

  private func checkLine(_ line: RequestLine, _ intake: inout RequestIntake) -> HTTPProblem? {
    let methodCount = strlen(line.method)
    let method = bytes(line.method, methodCount)
    guard (1...32).contains(methodCount), method.allSatisfy(isTokenByte) else {
      return .badRequest("The method is not a token.")
    }
    guard !intake.target.isEmpty else {
      return .badRequest("The target is empty or holds a byte that must be percent-encoded.")
    }
    let version = bytes(line.version, strlen(line.version))
    guard version.count == 8, version[5] == 0x31, version[7] == 0x30 || version[7] == 0x31 else {
      return .versionNotSupported
    }
    if Self.knowsLibrary {
      guard let start = intake.targetStart, start == line.method + methodCount + 1,
        line.version == start + intake.targetCount + 1
      else { return .badRequest("The parts of the request line are not set apart by one space.") }
    }
    intake.method = Self.name(of: method)
    guard reduceToOriginForm(&intake) else { return .badRequest("The target is not a path.") }
    return nil
  }

  /// The method as text; the commonest one without a copy.
  private static func name(of method: UnsafeBufferPointer<UInt8>) -> String {
    let isGet = method.count == 3 && method[0] == 0x47 && method[1] == 0x45 && method[2] == 0x54
    return isGet ? "GET" : String(decoding: method, as: UTF8.self)
  }

  /// Reduces the target to its path and query, and records its authority. Returns false for forms
  /// that only proxies serve.
  private func reduceToOriginForm(_ intake: inout RequestIntake) -> Bool {
    let target = intake.target
    let bytes = target.utf8
    if bytes.first == 0x2F { return true }
    if target == "*" { return intake.method == "OPTIONS" }
    guard let colon = bytes.firstIndex(of: 0x3A),
      ["http", "https"].contains(target[..<colon].lowercased())
    else { return false }
    let rest = target[colon...].dropFirst()
    guard rest.hasPrefix("//") else { return false }
    let authority = rest.dropFirst(2).prefix { $0 != "/" && $0 != "?" }
    guard !authority.isEmpty, authority.utf8.allSatisfy(isHostByte),
      Array(authority.utf8).withUnsafeBufferPointer({ HostNames.name(of: $0) != nil })
    else { return false }
    let path = target[authority.endIndex...]
    intake.authority = String(authority)
    intake.target = path.utf8.first == 0x2F ? String(path) : "/" + path
    return true
  }

  private func checkFraming(_ scan: HeaderScan, isVersion10: Bool) -> HTTPProblem? {
    guard scan.hostCount == 1 || (isVersion10 && scan.hostCount == 0) else {
      return .badRequest("A request names its host once.")
    }
    if scan.transferEncodingCount > 0 {
      guard scan.lengthCount == 0 else {
        return .badRequest("Content-Length and Transfer-Encoding exclude each other.")
      }
      guard scan.transferEncodingCount == 1, scan.admission.isChunked, !isVersion10 else {
        return .badRequest("The only transfer coding is chunked, in HTTP/1.1.")
      }
    }
    // A response to such a request is written around libmicrohttpd, which is the only one that may
    // write to a TLS session.
    if isSecure, scan.admission.decodesChunks {
      return .badRequest("Over TLS no blank may follow `chunked`.")
    }
    guard scan.lengthCount <= 1 else {
      return .badRequest("Content-Length is given more than once.")
    }
    return nil
  }

  private func checkLength(_ scan: HeaderScan, limit: Int) -> HTTPProblem? {
    if let length = scan.admission.contentLength, length > UInt64(max(limit, 0)) {
      return .bodyTooLarge(limit: limit)
    }
    return nil
  }

  /// The maximum number of bytes that the body of a request with this method may have.
  func bodyLimit(of method: String) -> Int {
    ["GET", "HEAD", "OPTIONS"].contains(method)
      ? min(maxBodyBytes, HTTPServerConfiguration.maxUnreadBodyBytes) : maxBodyBytes
  }

  private func bytes(_ start: UnsafePointer<CChar>, _ count: Int) -> UnsafeBufferPointer<UInt8> {
    UnsafeRawBufferPointer(start: start, count: count).assumingMemoryBound(to: UInt8.self)
  }
}

/// True for the characters of a token: RFC 9110's `tchar`.
@inline(__always)
func isTokenByte(_ byte: UInt8) -> Bool {
  // Bit n is set for the character n: ! # $ % & ' * + - . 0-9, then A-Z ^ _ ` a-z | ~
  let low: UInt64 = 0x03FF_6CFA_0000_0000
  let high: UInt64 = 0x57FF_FFFF_C7FF_FFFE
  guard byte < 128 else { return false }
  return (byte < 64 ? low : high) >> UInt64(byte & 63) & 1 == 1
}
