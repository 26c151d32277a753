// `livefetch config`: the flags, environment and configuration file of a server → a table of all settings
// with their origins, or a configuration file.

import ArgumentParser
import FetchModel

struct ConfigCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "config",
    abstract: "Show every setting of a server, and where its value comes from.",
    discussion: """
      A flag overrides the environment, the environment the configuration file (--config FILE, or \
      ./livefetch.json), the file the default. Takes the flags of 'serve'.

      EXAMPLES
        livefetch config
        LIVEFETCH_PORT=9000 livefetch config --max-items 500
        livefetch config --format json > settings.json
      """)

  enum Format: String, ExpressibleByArgument, CaseIterable { case table, json }

  @Option(help: "'table', or 'json' for a file that says the same (without the token).")
  var format = Format.table

  @OptionGroup var options: ServeOptions

  func run() throws {
    let settings = try options.checked().settings
    switch format {
    case .table: print(Self.table(settings))
    case .json: print(Self.file(settings))
    }
  }

  static func table(_ settings: Settings) -> String {
    var table = TextTable(columns: ["SETTING", "VALUE", "FROM"])
    for setting in Setting.all {
      let entry = settings[setting]
      table.add([
        setting.name, shown(setting, entry?.value), origin(of: setting, entry),
      ])
    }
    return table.text()
  }

  private static func origin(of setting: Setting, _ entry: Settings.Entry?) -> String {
    guard let entry else { return "default" }
    if entry.origin == .flag, entry.value == .flag(false) { return "--no-\(setting.name)" }
    return entry.origin.name(of: setting)
  }

  private static func shown(_ setting: Setting, _ value: SettingValue?) -> String {
    guard let value else { return "none" }
    return setting.kind == .secret ? "(set)" : value.description
  }

  /// Returns a configuration file of all settings except secrets, defaults included, so that it can
  /// serve as a template.
  private static func file(_ settings: Settings) -> String {
    let lines = Setting.all.compactMap { setting -> String? in
      guard setting.kind != .secret, let value = settings[setting]?.value else { return nil }
      return "  \"\(setting.name)\": \(value.json)"
    }
    return "{\n" + lines.joined(separator: ",\n") + "\n}"
  }
}

extension SettingValue {
  fileprivate var json: String {
    switch self {
    case .text(let text):
      var json: [UInt8] = []
      json.append(jsonString: text)
      return String(decoding: json, as: UTF8.self)
    case .list(let texts):
      return "[" + texts.map { SettingValue.text($0).json }.joined(separator: ", ") + "]"
    case .duration: return "\"\(description)\""
    case .flag(let isOn): return isOn ? "true" : "false"
    case .integer, .number: return description
    }
  }
}
