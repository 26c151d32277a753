// The `Prefer` header (RFC 7240) of a request that saves → preferences.
//
// Promises: of two preferences of one name the first counts; a header that cannot be parsed, and a
// preference that limits the change and cannot be parsed, is an error. Other preferences that are
// not known are ignored, as RFC 7240 says.

import FetchModel

/// The preferences of a request that saves.
struct Preferences: Sendable {
  enum Return: String, Sendable { case minimal, representation }

  /// The handling of a batch some of whose changes are refused.
  enum Handling: String, Sendable { case strict, lenient }

  /// nil without the preference.
  private(set) var returned: Return?
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
    case "return": returned = returned ?? Return(rawValue: preference.value.lowercased())
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

  private var rest: Substring.UTF8View

  init(_ header: String) { rest = header[...].utf8 }

  /// Returns nil at the end of the header.
  mutating func next() throws(Problem) -> Preference? {
    _ = read { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: ";") || Self.isBlank($0) }
    guard !rest.isEmpty else { return nil }
    let name = read(while: Self.isNameByte).lowercased()
    skipBlanks()
    var value = ""
    if rest.first == UInt8(ascii: "=") {
      rest.removeFirst()
      skipBlanks()
      value = try readValue()
      skipBlanks()
    }
    let isEnd = [nil, UInt8(ascii: ","), UInt8(ascii: ";")].contains(rest.first)
    guard !name.isEmpty, isEnd else { throw Self.malformed }
    return Preference(name: name, value: value)
  }

  private mutating func readValue() throws(Problem) -> String {
    guard rest.first == UInt8(ascii: "\"") else { return read(while: Self.isValueByte) }
    rest.removeFirst()
    var value: [UInt8] = []
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "\"") { return String(decoding: value, as: UTF8.self) }
      guard byte == UInt8(ascii: "\\") else {
        value.append(byte)
        continue
      }
      guard let escaped = rest.popFirst() else { break }
      value.append(escaped)
    }
    throw Self.malformed
  }

  private mutating func skipBlanks() { _ = read(while: Self.isBlank) }

  private mutating func read(while isTaken: (UInt8) -> Bool) -> String {
    let taken = rest.prefix(while: isTaken)
    rest = rest[taken.endIndex...]
    return String(decoding: taken, as: UTF8.self)
  }

  private static let malformed = Problem.badPreference(
    "`Prefer` takes preferences separated by commas, as in `return=minimal, max-affected=10`.")

  private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

  private static func isValueByte(_ byte: UInt8) -> Bool {
    byte > 0x20 && byte != 0x7F && byte != UInt8(ascii: ",") && byte != UInt8(ascii: ";")
      && byte != UInt8(ascii: "\"")
  }

  /// A byte of a token (RFC 9110, section 5.6.2).
  private static func isNameByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
  }
}
