// Flags, environment and configuration file → one value for each setting, with its origin. A flag
// overrides the environment, the environment the file, and the file the default.

import FetchModel
import Foundation

/// The origin of a setting's value.
enum SettingOrigin: Sendable, Hashable {
  case flag
  case environment
  case file(String)
  case defaultValue

  /// Returns the name at the origin: `--port`, `LIVEFETCH_PORT`, `livefetch.json: port`.
  func name(of setting: Setting) -> String {
    switch self {
    case .flag: "--\(setting.name)"
    case .environment: setting.variable
    case .file(let path): "\(path): '\(setting.name)'"
    case .defaultValue: "default"
    }
  }
}

/// The values of all settings.
struct Settings: Sendable {
  struct Entry: Sendable, Hashable {
    let value: SettingValue
    let origin: SettingOrigin
  }

  private var entries: [String: Entry] = [:]

  /// - Parameters:
  ///   - flags: The values of the command line, by the settings' names.
  ///   - file: The configuration file's path and text; nil without one.
  init(
    flags: [String: String], environment: [String: String],
    file: (path: String, text: [UInt8])? = nil
  ) throws(SettingError) {
    for setting in Setting.all {
      if let defaultValue = setting.defaultValue {
        entries[setting.name] = Entry(value: defaultValue, origin: .defaultValue)
      }
    }
    if let file { try readFile(file.path, file.text) }
    try read(environment: environment)
    for setting in Setting.all {
      guard let text = flags[setting.name] else { continue }
      try set(setting, text, from: .flag)
    }
  }

  subscript(setting: Setting) -> Entry? { entries[setting.name] }

  /// The configuration file, if it has settings.
  var file: String? {
    for case .file(let path) in entries.values.map(\.origin) { return path }
    return nil
  }

  func text(_ setting: Setting) -> String? {
    if case .text(let text)? = entries[setting.name]?.value { text } else { nil }
  }

  func texts(_ setting: Setting) -> [String] {
    if case .list(let texts)? = entries[setting.name]?.value { texts } else { [] }
  }

  func integer(_ setting: Setting) -> Int {
    if case .integer(let integer)? = entries[setting.name]?.value { integer } else { 0 }
  }

  func number(_ setting: Setting) -> Double {
    switch entries[setting.name]?.value {
    case .number(let number)?, .duration(let number)?: number
    default: 0
    }
  }

  func isOn(_ setting: Setting) -> Bool { entries[setting.name]?.value == .flag(true) }

  /// True if a value is from the configuration file at a path.
  func isUsing(_ path: String) -> Bool { entries.values.contains { $0.origin == .file(path) } }

  /// Returns these settings where SIGHUP reads them again, and those of `running` otherwise.
  func reloaded(over running: Settings) -> Settings {
    var result = running
    for setting in Setting.reloaded { result.entries[setting.name] = entries[setting.name] }
    return result
  }

  private mutating func set(
    _ setting: Setting, _ text: String, from origin: SettingOrigin
  ) throws(SettingError) {
    entries[setting.name] = Entry(
      value: try setting.value(of: text, from: origin), origin: origin)
  }
}

// MARK: - The environment

extension Settings {
  private mutating func read(environment: [String: String]) throws(SettingError) {
    for setting in Setting.all {
      guard let text = environment[setting.variable], !text.isEmpty || setting.isNeverEmpty else {
        continue
      }
      try set(setting, text, from: .environment)
    }
    try refuseMisspelt(environment)
  }

  /// Other programs may use variables with this prefix, so only probable misspellings are refused.
  private func refuseMisspelt(_ environment: [String: String]) throws(SettingError) {
    let known = Setting.all.map(\.variable) + [ConfigurationFile.variable]
    for name in environment.keys.sorted() where name.hasPrefix("LIVEFETCH_") {
      guard !known.contains(name) else { continue }
      let word = String(name.dropFirst("LIVEFETCH_".count))
      let words = known.map { String($0.dropFirst("LIVEFETCH_".count)) }
      guard let meant = nearestName(to: word, among: words) else { continue }
      throw SettingError("\(name) is not a setting; did you mean LIVEFETCH_\(meant)?")
    }
  }
}

// MARK: - The file

extension Settings {
  private mutating func readFile(_ path: String, _ text: [UInt8]) throws(SettingError) {
    let json: JSON
    do {
      json = try JSON(parsing: text)
    } catch {
      throw SettingError("\(path): expected \(error.expected) at byte \(error.offset)")
    }
    guard case .object(let members) = json else {
      throw SettingError("\(path): takes a JSON object of settings, not \(json.kind)")
    }
    for member in members {
      guard let setting = Setting.all.first(where: { $0.name == member.name }) else {
        throw Self.unknown(member.name, in: path)
      }
      let origin = SettingOrigin.file(path)
      entries[setting.name] = Entry(
        value: try setting.value(of: member.value, from: origin), origin: origin)
    }
  }

  private static func unknown(_ name: String, in path: String) -> SettingError {
    let hint = nearestName(to: name, among: Setting.all.map(\.name))
    return SettingError(
      "\(path): there is no setting '\(name)'" + (hint.map { "; did you mean '\($0)'?" } ?? ""))
  }
}

/// Finds the configuration file.
enum ConfigurationFile {
  static let variable = "LIVEFETCH_CONFIG"
  /// The default path, in the working directory.
  static let usualPath = "livefetch.json"

  /// Reads the file that `flag` or the environment names, or the one at the default path; nil
  /// without one. Ends the command if a file that is named does not exist.
  static func read(
    flag: String?, environment: [String: String]
  ) throws -> (path: String, text: [UInt8])? {
    guard let named = flag ?? environment[variable] else {
      guard FileManager.default.fileExists(atPath: usualPath) else { return nil }
      return (usualPath, try contents(ofFile: usualPath))
    }
    guard !named.isEmpty else {
      let origin = flag == nil ? variable : "--config"
      throw SettingError("\(origin) is empty; give it a value, or leave it out")
    }
    var status = stat()
    guard stat(named, &status) != 0 || status.st_mode & S_IFMT != S_IFIFO else {
      throw failure(
        "\(named): is a pipe, and SIGHUP reads the configuration again: name a file", .usage)
    }
    return (named, try contents(ofFile: named))
  }
}
