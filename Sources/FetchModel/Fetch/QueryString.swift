// The query of a request target → its parameters.

import Bytes

extension PercentEncoding {
  /// Returns the names and values of a query in their order. O(bytes).
  ///
  /// - Throws: `malformedEncoding` for a name or value that is not percent-encoded UTF-8.
  public static func decodeQuery(
    _ query: Substring
  ) throws(FetchRequestError) -> [(name: String, value: String)] {
    var pairs: [(name: String, value: String)] = []
    for part in query.utf8.split(separator: 0x26) {
      let equals = part.firstIndex(of: 0x3D)
      guard let name = decode(part[..<(equals ?? part.endIndex)], plus: .space) else {
        throw .malformedEncoding(detail: "a parameter's name is not percent-encoded UTF-8")
      }
      let rest = equals.map { part[part.index(after: $0)...] }
      guard let value = rest.map({ decode($0, plus: .space) }) ?? "" else {
        throw .malformedEncoding(detail: "the value of `\(name)` is not percent-encoded UTF-8")
      }
      pairs.append((name, value))
    }
    return pairs
  }
}
