// If-None-Match and If-Match (RFC 9110, 13.1).

/// Whether a header's list of tags holds `tag` (without quotes).
///
/// - Parameter isWeak: whether `W/` is overlooked, as If-None-Match does.
func entityTags(_ header: String, match tag: String, isWeak: Bool) -> Bool {
  header.split(separator: ",").contains { element in
    var candidate = element.drop { $0 == " " || $0 == "\t" }
    while candidate.last == " " || candidate.last == "\t" { candidate.removeLast() }
    if candidate == "*" { return true }
    if candidate.hasPrefix("W/") {
      guard isWeak else { return false }
      candidate = candidate.dropFirst(2)
    }
    return candidate.count >= 2 && candidate.first == "\"" && candidate.last == "\""
      && candidate.dropFirst().dropLast() == tag
  }
}
