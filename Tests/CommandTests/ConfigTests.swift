// `livefetch config`: the precedence of flags, environment, configuration file and defaults.

import Foundation
import TestSupport
import Testing

@testable import LiveFetchCommand

@Suite("Settings", .mayBlock)
struct ConfigTests {
  @Test("A flag overrides the environment, the environment the file, the file the default")
  func precedence() throws {
    let folder = try Folder()
    try folder.write(
      #"{"port": 1, "max-items": 2, "keep-days": 0.5, "read-only": true}"#, to: "livefetch.json")
    let shown = try folder.run(
      "config", "--port", "3", "--no-explain",
      environment: ["LIVEFETCH_PORT": "4", "LIVEFETCH_MAX_ITEMS": "5", "LIVEFETCH_TOKEN": "s3cret"])
    #expect(shown.status == 0)
    let lines = shown.output.split(separator: "\n").map {
      $0.split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ")
    }
    #expect(lines.contains("port 3 --port"))
    #expect(lines.contains("explain off --no-explain"))
    #expect(lines.contains("max-items 5 LIVEFETCH_MAX_ITEMS"))
    #expect(lines.contains("keep-days 0.5 livefetch.json: 'keep-days'"))
    #expect(lines.contains("read-only on livefetch.json: 'read-only'"))
    #expect(lines.contains("durability full default"))
    #expect(lines.contains("token (set) LIVEFETCH_TOKEN"))
    #expect(!shown.output.contains("s3cret"))
  }

  @Test(
    "An unknown setting, or an invalid value, is refused with its location",
    arguments: [
      (#"{"prot": 1}"#, "livefetch.json: there is no setting 'prot'; did you mean 'port'?"),
      (#"{"zebra": 1}"#, "livefetch.json: there is no setting 'zebra'"),
      (
        #"{"port": "1"}"#,
        "livefetch.json: 'port' takes a whole number from 0 to 65535, not a string"
      ),
      (#"{"port": 70000}"#, "livefetch.json: 'port' takes a whole number from 0 to 65535"),
      (
        #"{"keep-days": 0}"#,
        "livefetch.json: 'keep-days' takes a number above zero, at most 1000000000, not '0'"
      ),
      (
        #"{"query-timeout": 1e30}"#, "'query-timeout' takes a number above zero, at most 1000000000"
      ),
      (#"{"keep-idle": 1000000001}"#, "'keep-idle' takes a number above zero, at most 1000000000"),
      (#"{"read-only": 1}"#, "livefetch.json: 'read-only' takes true or false, not a number"),
      (
        #"{"backup-every": 24}"#,
        "livefetch.json: 'backup-every' takes a time such as 90s, 15m, 1h, 7d or 2w, not a number"
      ),
      (#"{"durability": "some"}"#, "takes 'full' or 'normal', not 'some'"),
      (#"[1]"#, "livefetch.json: takes a JSON object of settings, not an array"),
      (#"{"port": }"#, "livefetch.json: expected a JSON value at byte 9"),
    ])
  func badFile(text: String, complaint: String) throws {
    let folder = try Folder()
    try folder.write(text, to: "livefetch.json")
    let shown = try folder.run("config")
    #expect(shown.status == 64)
    #expect(shown.errors.contains(complaint), "\(shown.errors)")
  }

  @Test("`serve` refuses a configuration file as `config` does")
  func badFileOfServer() throws {
    let folder = try Folder()
    try folder.write(#"{"prot": 1}"#, to: "livefetch.json")
    let run = try folder.run("serve", "x.sqlite", "--create")
    #expect(run.status == 64)
    #expect(run.errors.contains("livefetch.json: there is no setting 'prot'"), "\(run.errors)")
    #expect(!folder.has("x.sqlite"))
  }

  @Test(
    "An empty host is refused, wherever it comes from",
    arguments: [
      (["--host", ""], [:], "{}", "--host is empty; give it a value, or leave it out"),
      ([], ["LIVEFETCH_HOST": ""], "{}", "LIVEFETCH_HOST is empty; give it a value"),
      ([], [:], #"{"host": ""}"#, "livefetch.json: 'host' is empty; give it a value"),
    ])
  func emptyHost(
    flags: [String], environment: [String: String], file: String, complaint: String
  ) throws {
    let folder = try Folder()
    try folder.write(file, to: "livefetch.json")
    for arguments in [["config"], ["serve", "new.sqlite", "--create", "--insecure-open"]] {
      let run = try folder.run(arguments + flags, environment: environment)
      #expect(run.status == 64)
      #expect(run.errors.contains(complaint), "\(run.errors)")
    }
    #expect(!folder.has("new.sqlite"))
  }

  @Test(
    "The flag of every setting sets its value",
    arguments: [[Setting.tokenFile, .jwtKey], [.token, .jwksURL]])
  func flags(without left: [Setting]) throws {
    let given = Setting.all.filter { !left.contains($0) }
    let settings = try ServeOptions.parse(given.flatMap(Self.flag)).settings()
    for setting in given { #expect(settings[setting]?.origin == .flag, "\(setting.name)") }
  }

  /// The flag of a setting with a valid value.
  private static func flag(of setting: Setting) -> [String] {
    let value =
      switch setting {
      case .publicDirectory: "."
      case .jwksURL: "https://a.example/keys"
      case .corsOrigin: "*"
      case .trustProxy: "10.0.0.0/8"
      case .limit: "requests-per-second=1"
      default:
        switch setting.kind {
        case .integer(let range): "\(range.lowerBound)"
        case .number: "1"
        case .duration: "1h"
        case .choice(let choices): choices[0]
        case .text, .secret, .path, .list, .directory, .flag: "x"
        }
      }
    return setting.kind == .flag ? ["--\(setting.name)"] : ["--\(setting.name)", value]
  }

  @Test("A misspelt variable is refused; a variable of another program is ignored")
  func badEnvironment() throws {
    let folder = try Folder()
    let typo = try folder.run("config", environment: ["LIVEFETCH_MAX_ITEM": "1"])
    #expect(typo.status == 64)
    #expect(
      typo.errors.contains("LIVEFETCH_MAX_ITEM is not a setting; did you mean LIVEFETCH_MAX_ITEMS?")
    )
    #expect(try folder.run("config", environment: ["LIVEFETCH_HOMEDIR_X9": "1"]).status == 0)
    let bad = try folder.run("config", environment: ["LIVEFETCH_PORT": "tcp://10.0.0.1:80"])
    #expect(bad.status == 64)
    #expect(bad.errors.contains("LIVEFETCH_PORT takes a whole number from 0 to 65535"))
  }

  @Test("The JSON output of config is a configuration file with the same settings")
  func template() throws {
    let folder = try Folder()
    let first = try folder.run(
      "config", "--format", "json", "--max-body", "77", "--no-explain", "--backup-every", "1.5h")
    try folder.write(first.output, to: "livefetch.json")
    let second = try folder.run("config", "--format", "json")
    #expect(second.status == 0)
    #expect(second.output == first.output)
    #expect(second.output.contains(#""max-body": 77"#))
    #expect(second.output.contains(#""backup-every": "5400s""#))
  }

  @Test("Every setting is a flag of serve, and the manual lists it with its default and meaning")
  func everywhere() throws {
    let help = try Folder().run("serve", "--help").output
    let manual = try ManualPage("Public/docs/cli.md").text
    for setting in Setting.all {
      #expect(help.contains(try Regex("--\(setting.name)[^a-z-]")), "\(setting.name)")
      let row =
        "| `--\(setting.name)` | `\(setting.variable)` | \(setting.documentedDefault) | \(setting.meaning) |"
      #expect(manual.contains(row), "\(row)")
    }
    #expect(Set(Setting.all.map(\.name)).count == Setting.all.count)
  }
}
