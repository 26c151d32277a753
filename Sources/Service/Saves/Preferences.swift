// The `Prefer` header (RFC 7240) of a request that saves → preferences.
//
// Promises: of two preferences of one name the first counts. A malformed header, an invalid
// `max-affected` or `handling`, and a misspelt `max-affected` are errors. Unknown preferences and unknown
// values of `return` are ignored, as RFC 7240 says.

import FetchModel
import LiveFetchHTTPServer

/// The preferences of a request that saves.
struct Preferences: Sendable {
  enum Return: String, Sendable { case minimal, representation }

  /// The handling of a batch some of whose changes are refused.
  enum Handling: String, Sendable { case strict, lenient }

  /// nil without the preference.
  private(set) var returned: Return?
  private var hasReturn = false
  /// The maximum number of objects that a batch may change.
  private(set) var maxAffected: Int?
  private(set) var handling: Handling?

  init(_ headers: [String]) throws(Problem) {
    for header in headers {
      var parser = PreferenceParser(header)
      while let preference = try parser.next() { try add(preference) }
    }
  }

  private mutating func add(_ preference: PreferenceParser.Preference) throws(Problem) {
    switch preference.name {
    case "return":
      if !hasReturn { returned = Return(rawValue: preference.value.lowercased()) }
      hasReturn = true
    case "max-affected":
      guard let count = Self.count(preference.value) else {
        throw .badPreference("`max-affected` takes a whole number, as in `max-affected=10`.")
      }
      maxAffected = maxAffected ?? count
    case "handling":
      guard let value = Handling(rawValue: preference.value.lowercased()) else {
        throw .badPreference("`handling` takes `strict` or `lenient`.")
      }
      handling = handling ?? value
    case let name where name.filter(\.isLetter) == "maxaffected":
      throw .badPreference("The preference is called `max-affected`, not `\(name)`.")
    default: break
    }
  }

  private static func count(_ text: String) -> Int? {
    text.utf8.allSatisfy { $0 &- 0x30 < 10 } ? Int(text) : nil
  }

  /// The same preferences for a response without objects.
  var minimal: Preferences {
    var preferences = self
    preferences.returned = .minimal
    return preferences
  }

  /// `Preference-Applied`, if there is a preference about the response.
  var applied: [(name: String, value: String)] {
    returned.map { [("Preference-Applied", "return=\($0.rawValue)")] } ?? []
  }
}

extension Problem {
  fileprivate static func badPreference(_ detail: String) -> Problem {
    .badRequest("bad-preference", detail)
  }
}

/// Splits one header value into preferences. A parameter after a semicolon counts as a preference of its
/// own, so that none that limits a change is ignored.
private struct PreferenceParser {
  struct Preference {
    /// In lower case.
    let name: String
    /// Without quotes; empty if there is none.
    let value: String
  }

  private var scanner: HeaderValueScanner

  init(_ header: String) { scanner = HeaderValueScanner(header) }

  /// Returns nil at the end of the header.
  mutating func next() throws(Problem) -> Preference? {
    _ = scanner.read(while: { " \t,;".utf8.contains($0) })
    guard !scanner.rest.isEmpty else { return nil }
    let name = scanner.token().lowercased()
    scanner.skipBlanks()
    var value = ""
    if scanner.consume(UInt8(ascii: "=")) {
      scanner.skipBlanks()
      value = try readValue()
      scanner.skipBlanks()
    }
    let isEnd = [nil, UInt8(ascii: ","), UInt8(ascii: ";")].contains(scanner.rest.first)
    guard !name.isEmpty, isEnd else { throw Self.malformed }
    return Preference(name: name, value: value)
  }

  private mutating func readValue() throws(Problem) -> String {
    guard scanner.consume(UInt8(ascii: "\"")) else {
      return scanner.read { $0 > 0x20 && $0 != 0x7F && !",;\"".utf8.contains($0) }
    }
    guard let text = scanner.quotedText() else { throw Self.malformed }
    return text
  }

  private static let malformed = Problem.badPreference(
    "`Prefer` takes preferences separated by commas, as in `return=minimal, max-affected=10`.")
}
