// The origin of a web page, as browsers write it in the header `Origin`.

import Bytes

/// Checks the text of an origin.
public enum WebOrigin {
  /// True if a browser can send `text` as the origin of a page: a scheme, a host in lower case, and
  /// a port unless it is the scheme's own. No browser sends another text, so it would never match.
  public static func isSerialized(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
      bytes[colon...].starts(with: "://".utf8), isScheme(bytes[..<colon])
    else { return false }
    let (host, port) = split(bytes[(colon + 3)...])
    let name = String(decoding: host, as: UTF8.self)
    guard HostNames.isName(name), !name.contains(":") || name.hasPrefix("["),
      !host.contains(where: ASCII.isUppercase)
    else { return false }
    return port.map { isPort($0, of: bytes[..<colon]) } ?? true
  }

  private static func isScheme(_ bytes: ArraySlice<UInt8>) -> Bool {
    guard let first = bytes.first, ASCII.isLowercase(first) else { return false }
    return bytes.allSatisfy {
      ASCII.isLowercase($0) || ASCII.isDigit($0) || "+-.".utf8.contains($0)
    }
  }

  /// Returns the host, and the text after the colon that follows it.
  private static func split(
    _ bytes: ArraySlice<UInt8>
  ) -> (host: ArraySlice<UInt8>, port: ArraySlice<UInt8>?) {
    let bracket = bytes.lastIndex(of: UInt8(ascii: "]")) ?? bytes.startIndex
    guard let colon = bytes[bracket...].firstIndex(of: UInt8(ascii: ":")) else {
      return (bytes, nil)
    }
    return (bytes[..<colon], bytes[(colon + 1)...])
  }

  private static func isPort(_ digits: ArraySlice<UInt8>, of scheme: ArraySlice<UInt8>) -> Bool {
    guard digits.count <= 5, let first = digits.first, first != UInt8(ascii: "0"),
      digits.allSatisfy(ASCII.isDigit)
    else { return false }
    let number = digits.reduce(0) { $0 * 10 + Int($1 &- UInt8(ascii: "0")) }
    let isDefault =
      number == 80 && scheme.elementsEqual("http".utf8)
      || number == 443 && scheme.elementsEqual("https".utf8)
    return number <= 65_535 && !isDefault
  }
}
