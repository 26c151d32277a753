// A text or a JSON value → the value of a setting, or the reason why it is invalid.

import FetchModel
import Foundation

/// The reason why a setting is invalid, for the user.
struct SettingError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}

extension Setting {
  /// Parses the value of a flag or an environment variable.
  func value(of text: String, from origin: SettingOrigin) throws(SettingError) -> SettingValue {
    if text.isEmpty, isNeverEmpty { throw emptiness(from: origin) }
    let value: SettingValue? =
      switch kind {
      case .text, .secret, .path, .directory: .text(text)
      case .list: Self.list(text).map { .list($0) }
      case .integer(let range):
        Int(text).flatMap { range.contains($0) ? .integer($0) : nil }
      case .number: Double(text).flatMap { Self.isUsable($0) ? .number($0) : nil }
      case .duration:
        DurationText.seconds(of: text).flatMap { Self.isUsable($0) ? .duration($0) : nil }
      case .choice(let choices): choices.contains(text) ? .text(text) : nil
      case .flag: Self.flag(text).map { .flag($0) }
      }
    guard let value else { throw refusal("'\(text)'", from: origin) }
    return value
  }

  /// Parses a value of the configuration file.
  func value(of json: JSON, from origin: SettingOrigin) throws(SettingError) -> SettingValue {
    switch (kind, json) {
    case (.text, .string(let text)), (.secret, .string(let text)), (.path, .string(let text)),
      (.directory, .string(let text)), (.choice, .string(let text)),
      (.duration, .string(let text)), (.list, .string(let text)):
      return try value(of: text, from: origin)
    case (.integer, .number), (.number, .number):
      guard let double = json.double else { throw refusal("'\(json.text)'", from: origin) }
      return try value(of: json.integer.map { String($0) } ?? String(double), from: origin)
    case (.flag, .boolean(let isOn)): return .flag(isOn)
    case (.list, .array(let elements)):
      let texts = elements.compactMap(\.string)
      guard texts.count == elements.count, !texts.contains("") else {
        throw refusal("'\(json.text)'", from: origin)
      }
      return .list(texts)
    default: throw refusal(json.kind, from: origin)
    }
  }

  /// True if an empty value is refused, wherever it comes from: a server that is started with an
  /// unset variable in a text, a secret, a path, a list or a flag must not serve without it. An
  /// empty variable of any other kind counts as absent.
  var isNeverEmpty: Bool {
    switch kind {
    case .text, .secret, .path, .list, .flag: true
    case .directory, .integer, .number, .duration, .choice: false
    }
  }

  private func emptiness(from origin: SettingOrigin) -> SettingError {
    SettingError("\(origin.name(of: self)) is empty; give it a value, or leave it out")
  }

  /// The texts between commas; nil if there is none.
  private static func list(_ text: String) -> [String]? {
    let texts = text.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
      .filter { !$0.isEmpty }
    return texts.isEmpty ? nil : texts
  }

  private static func isUsable(_ number: Double) -> Bool { number > 0 && number <= 1e9 }

  private static func flag(_ text: String) -> Bool? {
    switch text.lowercased() {
    case "1", "true", "yes", "on": true
    case "0", "false", "no", "off": false
    default: nil
    }
  }

  private func refusal(_ found: String, from origin: SettingOrigin) -> SettingError {
    SettingError("\(origin.name(of: self)) takes \(expectation), not \(found)")
  }

  private var expectation: String {
    switch kind {
    case .text, .secret, .path, .directory: "a text"
    case .list: "one or more texts"
    case .integer(let range):
      range.upperBound == .max
        ? "a whole number from \(range.lowerBound)"
        : "a whole number from \(range.lowerBound) to \(range.upperBound)"
    case .number: "a number above zero, at most 1000000000"
    case .duration: "a time such as 90s, 15m, 1h, 7d or 2w"
    case .choice(let choices): choices.map { "'\($0)'" }.joined(separator: " or ")
    case .flag: "true or false"
    }
  }
}
