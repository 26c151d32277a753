// A header such as `Accept` → its elements with their weights (RFC 9110, section 12.4.2).

/// The list of a header whose elements may have a parameter `q`.
public enum WeightedList {
  /// Returns the elements, in lower case and without parameters, in their order.
  ///
  /// - Returns: the weight is in thousandths: 1000 without `q`, 0 for a malformed one.
  public static func elements(of header: String) -> [(name: String, weight: Int)] {
    header.split(separator: ",").map { element in
      let parts = element.split(separator: ";", omittingEmptySubsequences: false)
      return (parts[0].trimmingBlanks().lowercased(), weight(parts.dropFirst()))
    }
  }

  private static func weight(_ parameters: ArraySlice<Substring>) -> Int {
    for parameter in parameters {
      let pair = parameter.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard pair.count == 2, pair[0].trimmingBlanks().lowercased() == "q" else { continue }
      return thousandths(pair[1].trimmingBlanks())
    }
    return 1000
  }

  private static func thousandths(_ text: Substring) -> Int {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    let digits = parts.count > 1 ? parts[1] : ""
    guard parts.count <= 2, parts[0] == "0" || parts[0] == "1", digits.utf8.count <= 3,
      digits.utf8.allSatisfy({ $0 &- 0x30 < 10 }),
      let fraction = Int((digits + "000").prefix(3))
    else { return 0 }
    return parts[0] == "1" ? 1000 : fraction
  }
}

extension Substring {
  /// The text without leading and trailing blanks and tabs.
  func trimmingBlanks() -> Substring {
    var text = drop { $0 == " " || $0 == "\t" }
    while let last = text.last, last == " " || last == "\t" { text.removeLast() }
    return text
  }
}
