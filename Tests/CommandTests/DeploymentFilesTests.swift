// docker/ and docker/deploy/ as text: what can be seen without an engine or a service manager.

import Foundation
import TestSupport
import Testing

@Suite("The files of a deployment", .mayBlock)
struct DeploymentFilesTests {
  private static func text(_ name: String) throws -> String {
    try ManualPage("docker/\(name)").text
  }

  /// The texts after `key: ` in lines of a YAML file.
  private static func values(_ key: String, _ text: String) -> [String] {
    text.split(separator: "\n").compactMap { line in
      let line = line.trimmingCharacters(in: CharacterSet(charactersIn: " -"))
      return line.hasPrefix("\(key): ") ? String(line.dropFirst(key.count + 2)) : nil
    }
  }

  private static func number(_ address: some StringProtocol) -> UInt32 {
    address.split(separator: ".").reduce(0) { $0 << 8 | (UInt32($1) ?? 0) }
  }

  /// The first and the last address of `a.b.c.d/n`.
  private static func range(_ text: String) throws -> ClosedRange<UInt32> {
    let parts = text.split(separator: "/")
    let first = number(try #require(parts.first))
    let bits = try #require(parts.last.flatMap { Int($0) })
    return first...(first + (1 << (32 - bits) - 1))
  }

  @Test(
    "The image runs a command as it is, and serves everything else",
    arguments: [
      ([], "serve DATA/store.sqlite --host 0.0.0.0 --port 8080"),
      (["serve"], "serve DATA/store.sqlite --host 0.0.0.0 --port 8080"),
      (["--explain"], "serve DATA/store.sqlite --explain --host 0.0.0.0 --port 8080"),
      (["serve", "a.sqlite"], "serve a.sqlite --host 0.0.0.0 --port 8080"),
      (["postgres://db/app"], "serve postgres://db/app --host 0.0.0.0 --port 8080"),
      (
        ["serve", "--read-only", "--port", "9001", "a.sqlite"],
        "serve --read-only --port 9001 a.sqlite --host 0.0.0.0"
      ),
      (
        ["--log-format=json", "a.sqlite"],
        "serve --log-format=json a.sqlite --host 0.0.0.0 --port 8080"
      ),
      (["--port"], "serve DATA/store.sqlite --port --host 0.0.0.0"),
      (["demo"], "demo --data DATA/world.sqlite --host 0.0.0.0 --port 8080"),
      (
        ["demo", "heroes", "--explain"],
        "demo --data DATA/heroes.sqlite heroes --explain --host 0.0.0.0 --port 8080"
      ),
      (
        ["demo", "--port", "9000", "todo"],
        "demo --data DATA/todo.sqlite --port 9000 todo --host 0.0.0.0"
      ),
      (["import", "a.csv", "--into", "A"], "import DATA/store.sqlite a.csv --into A"),
      (["serve", "notes"], "serve notes --host 0.0.0.0 --port 8080"),
      (["--port", "9000"], "serve DATA/store.sqlite --port 9000 --host 0.0.0.0"),
      (["a.sqlite", "--host=::1", "--port=9000"], "serve a.sqlite --host=::1 --port=9000"),
      (["doctor", "--port", "9000"], "doctor --port 9000"),
    ])
  func entryPoint(arguments: [String], command: String) throws {
    #expect(try Self.entryPoint(arguments) == command)
  }

  @Test(
    "The image leaves the address to the variables and the file that say it",
    arguments: [
      (["LIVEFETCH_PORT": "9000"], "serve a.sqlite --host 0.0.0.0"),
      (["LIVEFETCH_HOST": "::"], "serve a.sqlite --port 8080"),
      (["PORT": "9000"], "serve a.sqlite --host 0.0.0.0 --port 9000"),
      (["LIVEFETCH_CONFIG": "/data/settings.json"], "serve a.sqlite"),
      (
        ["LIVEFETCH_CONFIG": "/data/settings.json", "PORT": "9001"],
        "serve a.sqlite --port 9001"
      ),
    ])
  func address(variables: [String: String], command: String) throws {
    #expect(try Self.entryPoint(["a.sqlite"], variables: variables) == command)
  }

  @Test("The image knows every command")
  func commands() throws {
    let served = ["serve", "demo", "import"]
    let help = try Folder().run("--help").output
    let names = help.matches(of: /\n {2}([a-z]+) {2}/).map { String($0.1) }
    #expect(names.count >= 18, "\(help)")
    for name in names where !served.contains(name) {
      #expect(try Self.entryPoint([name, "x", "--y"]) == "\(name) x --y")
    }
  }

  @Test("The image knows which options of the server take no value")
  func flags() throws {
    let help = try Folder().run("serve", "--help").output
    let flags = help.matches(of: /\n {2}(--[a-z-]+)\/--no-/).map { String($0.1) }
    #expect(flags.count >= 6, "\(help)")
    for flag in flags {
      #expect(
        try Self.entryPoint([flag, "a.sqlite"])
          == "serve \(flag) a.sqlite --host 0.0.0.0 --port 8080")
    }
  }

  /// The arguments that the entry point of the image gives to the program.
  private static func entryPoint(
    _ arguments: [String], variables: [String: String] = [:]
  ) throws -> String {
    let directory = try TemporaryDirectory()
    try #"{"host": "::1", "port": 9000}"#
      .write(toFile: directory.file("settings.json"), atomically: true, encoding: .utf8)
    let script = try text("entrypoint.sh")
      .replacing("exec /opt/livefetch/livefetch", with: "exec echo")
      .replacing("/data", with: directory.path)
    let (shell, output) = (Process(), Pipe())
    shell.executableURL = URL(fileURLWithPath: "/bin/sh")
    shell.arguments = ["-c", script, "entrypoint.sh"] + arguments
    shell.environment = variables.mapValues { $0.replacing("/data", with: directory.path) }
      .merging(["PATH": "/usr/bin:/bin"]) { $1 }
    shell.standardOutput = output
    try shell.run()
    let line = try output.fileHandleForReading.readToEnd() ?? Data()
    shell.waitUntilExit()
    return String(decoding: line, as: UTF8.self).trimmingCharacters(in: .newlines)
      .replacing(directory.path, with: "DATA")
  }

  @Test("Compose: fixed addresses are in the subnet, and Docker gives out none of them")
  func addresses() throws {
    let compose = try Self.text("compose.yaml")
    let subnet = try Self.range(try #require(Self.values("subnet", compose).first))
    let given = try Self.range(try #require(Self.values("ip_range", compose).first))
    #expect(subnet.contains(given.lowerBound) && subnet.contains(given.upperBound))
    let fixed = Self.values("ipv4_address", compose) + Self.values("gateway", compose)
    #expect(fixed.count == 3)
    for address in fixed {
      #expect(subnet.contains(Self.number(address)), "\(address)")
      #expect(!given.contains(Self.number(address)), "\(address)")
    }
    // The proxies that are believed are those.
    #expect(
      Set(Self.values("LIVEFETCH_TRUST_PROXY", compose))
        == Set(Self.values("ipv4_address", compose)))
  }

  @Test("Compose: our image has its name, those of others have a version")
  func images() throws {
    let images = Self.values("image", try Self.text("compose.yaml"))
    #expect(images.filter { $0 == "livefetch" }.count == 2)
    for image in images where image != "livefetch" {
      #expect(image.contains(/^[a-z]+:\d+\.\d+(\.\d+)?-[a-z]+$/), "\(image)")
    }
  }

  @Test("Compose: no variable of one profile is required in another")
  func requiredVariables() throws {
    let lines = try Self.text("compose.yaml").split(separator: "\n")
      .filter { !$0.trimmingCharacters(in: .whitespaces).hasPrefix("#") }
    let required = lines.filter {
      $0.contains(/[^$]\$\{[A-Z_]+:?\?|[^$]\$\{[A-Z_]+:-\$\{[A-Z_]+:\?/)
    }
    #expect(required.count == 1)
    #expect(
      required.first?.hasPrefix("x-token: ${LIVEFETCH_TOKEN_FILE:-${LIVEFETCH_TOKEN:?") == true)
    // The shell of `password-check` requires this one.
    #expect(lines.contains { $0.contains("$${POSTGRES_PASSWORD_FILE:?") })
  }

  @Test("The server stops within the time that its manager gives")
  func stopping() throws {
    let compose = try Self.text("compose.yaml")
    #expect(Self.values("LIVEFETCH_SHUTDOWN_TIMEOUT", compose) == ["20", "20"])
    #expect(Self.values("stop_grace_period", compose) == ["30s", "60s", "30s"])
    #expect(try Self.text("entrypoint.sh").contains("${LIVEFETCH_SHUTDOWN_TIMEOUT:-8}"))
    let service = try Self.text("deploy/systemd/livefetch.service")
    #expect(service.contains("\nTimeoutStopSec=30\n"))
    #expect(service.contains("\nStartLimitIntervalSec=0\n"))
  }

  @Test("Debian: removal stops every unit, and an upgrade does not depend on the service's start")
  func maintainerScripts() throws {
    let removal = try Self.text("deploy/debian/prerm")
    for unit in ["livefetch.socket", "livefetch.service", "livefetch-backup.timer"] {
      #expect(removal.contains(unit))
    }
    #expect(
      try Self.text("deploy/debian/postinst")
        .contains("systemctl try-restart livefetch.service || "))
    #expect(
      try Self.text("deploy/systemd/livefetch-backup.service")
        .contains("\nReadWritePaths=/var/lib/livefetch\n"))
  }
}
