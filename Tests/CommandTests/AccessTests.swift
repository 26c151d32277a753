// The token, the addresses and the host names that a server is started with.

import Foundation
import TestSupport
import Testing

@testable import LiveFetchCommand

@Suite("Access to a server", .mayBlock)
struct AccessTests {
  private func ask(
    _ address: String, _ headers: String = "", method: String = "GET", target: String = "/v1/model"
  ) throws -> String {
    try WaitingClient(address, target, method: method, headers: headers).receiveHead()
  }

  // MARK: The token

  @Test(
    "An empty token is refused, wherever it comes from",
    arguments: [
      (["--token", ""], [:], "--token is empty"), (["--token="], [:], "Missing value for '--token"),
      (["--token-file", ""], [:], "--token-file is empty"),
      (["--token-file", "empty.txt"], [:], "empty.txt: holds no token"),
      (["--token-file", "blank.txt"], [:], "blank.txt: holds no token"),
      (["--token-file", "words.txt"], [:], "words.txt: a token has no blanks"),
      (["--token", "two words"], [:], "--token: a token has no blanks"),
      ([], ["LIVEFETCH_TOKEN": ""], "LIVEFETCH_TOKEN is empty"),
      ([], ["LIVEFETCH_TOKEN": " "], "LIVEFETCH_TOKEN: a token has no blanks"),
      ([], ["LIVEFETCH_TOKEN_FILE": ""], "LIVEFETCH_TOKEN_FILE is empty"),
      ([], ["LIVEFETCH_TOKEN_FILE": "empty.txt"], "empty.txt: holds no token"),
      (["--config", "empty.json"], [:], "empty.json: 'token' is empty"),
      (["--allow-host", ""], [:], "--allow-host is empty"),
    ] as [([String], [String: String], String)])
  func emptyToken(flags: [String], environment: [String: String], complaint: String) throws {
    let folder = try smallFolder()
    try folder.write("", to: "empty.txt")
    try folder.write(" \n\n", to: "blank.txt")
    try folder.write("two words\n", to: "words.txt")
    try folder.write(#"{"token": ""}"#, to: "empty.json")
    let run = try folder.run(
      ["serve", "w.sqlite", "--port", "0"] + flags, environment: environment)
    #expect(run.status == 64)
    #expect(run.errors.contains(complaint), "\(run.errors)")
    #expect(run.output == "")
    #expect(!folder.has("w.sqlite-wal"))
  }

  @Test("`demo` refuses an empty token, too")
  func emptyTokenOfDemo() throws {
    let folder = try Folder()
    let run = try folder.run("demo", "--data", "d.sqlite", "--port", "0", "--token", "")
    #expect(run.status == 64)
    #expect(run.errors.contains("--token is empty"), "\(run.errors)")
    #expect(!folder.has("d.sqlite"))
  }

  @Test(
    "An empty variable is refused where it restricts or grants access",
    arguments: [
      "READ_ONLY", "ALLOW_HOST", "CORS_ORIGIN", "INSECURE_OPEN", "EXPLAIN", "CREATE", "MODEL",
      "TOKEN", "TOKEN_FILE", "CONFIG",
    ])
  func emptyVariable(name: String) throws {
    let environment = ["LIVEFETCH_\(name)": ""]
    let error = #expect(throws: SettingError.self) {
      let file = try ConfigurationFile.read(flag: nil, environment: environment)
      return try Settings(flags: [:], environment: environment, file: file)
    }
    #expect(
      "\(try #require(error))"
        == "LIVEFETCH_\(name) is empty; give it a value, or leave it out")
  }

  @Test(
    "An empty variable of another setting counts as absent",
    arguments: ["PORT", "PUBLIC", "MAX_ITEMS", "QUERY_TIMEOUT", "DURABILITY", "WORKERS"])
  func absentVariable(name: String) throws {
    let setting = try #require(Setting.all.first { $0.variable == "LIVEFETCH_\(name)" })
    let settings = try Settings(flags: [:], environment: [setting.variable: ""])
    #expect(settings[setting] == (try Settings(flags: [:], environment: [:]))[setting])
  }

  @Test(
    "A file of a credential that is not there is 66, and its name, which may be the credential, is not shown",
    arguments: [
      (
        ["--token-file", "s3cret"], [:],
        "--token-file names no file; it takes a file's name, not the token itself"
      ),
      (
        [], ["LIVEFETCH_TOKEN_FILE": "s3cret"],
        "LIVEFETCH_TOKEN_FILE (--token-file) names no file; it takes a file's name, not the token "
          + "itself"
      ),
      (
        ["--jwt-key", "s3cret"], [:],
        "--jwt-key names no file; it takes a file's name, not the key itself"
      ),
      (
        [], ["LIVEFETCH_JWT_KEY": "s3cret"],
        "LIVEFETCH_JWT_KEY (--jwt-key) names no file; it takes a file's name, not the key itself"
      ),
    ] as [([String], [String: String], String)])
  func missingFile(flags: [String], environment: [String: String], complaint: String) throws {
    let run = try smallFolder().run(
      ["serve", "w.sqlite", "--port", "0"] + flags, environment: environment)
    #expect(run.status == 66)
    #expect(run.errors == "livefetch: \(complaint)\n")
  }

  @Test(
    "The token is the file's line, the variable or the flag, and only the flag gives a warning",
    arguments: [
      (["--token-file", "token.txt"], [:], "s3cret", false),
      ([], ["LIVEFETCH_TOKEN_FILE": "token.txt"], "s3cret", false),
      ([], ["LIVEFETCH_TOKEN": "other"], "other", false), (["--token", "flag"], [:], "flag", true),
      (["--token-file", "token.txt"], ["LIVEFETCH_TOKEN": "other"], "s3cret", false),
      (["--token", "flag"], ["LIVEFETCH_TOKEN_FILE": "token.txt"], "flag", true),
      (["--config", "c.json"], ["LIVEFETCH_TOKEN": "other"], "other", false),
      (["--config", "c.json"], [:], "s3cret", false),
    ] as [([String], [String: String], String, Bool)])
  func tokenSources(
    flags: [String], environment: [String: String], token: String, isWarned: Bool
  ) throws {
    let folder = try smallFolder()
    try folder.write("s3cret\r\n", to: "token.txt")
    try folder.write(#"{"token-file": "token.txt"}"#, to: "c.json")
    let (_, address) = try folder.serve("w.sqlite", flags, environment: environment)
    let host = "Host: localhost\r\n"
    #expect(try ask(address, host).hasPrefix("HTTP/1.1 401"))
    #expect(try ask(address, host + "Authorization: Bearer x\r\n").hasPrefix("HTTP/1.1 401"))
    let authorized = try ask(address, host + "Authorization: Bearer \(token)\r\n")
    #expect(authorized.hasPrefix("HTTP/1.1 200"), "\(authorized)")
    let isWarning = try folder.read("serve.log.err").contains(
      "--token shows in the list of processes")
    #expect(isWarning == isWarned)
  }

  @Test("Two tokens from one place are refused")
  func twoTokens() throws {
    let folder = try smallFolder()
    let flags = try folder.run("serve", "w.sqlite", "--token", "a", "--token-file", "b")
    #expect(flags.status == 64)
    #expect(flags.errors.contains("--token and --token-file exclude each other"))
    let variables = try folder.run(
      "serve", "w.sqlite", environment: ["LIVEFETCH_TOKEN": "a", "LIVEFETCH_TOKEN_FILE": "b"])
    #expect(
      variables.errors.contains("LIVEFETCH_TOKEN and LIVEFETCH_TOKEN_FILE exclude each other"))
  }

  @Test("The settings show no token")
  func config() throws {
    let shown = try Folder().run(
      "config", "--token-file", "t.txt", "--allow-host", "a.example", "--allow-host", "b.example",
      environment: ["LIVEFETCH_CORS_ORIGIN": "https://a, https://b"])
    let lines = shown.output.split(separator: "\n").map {
      $0.split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ")
    }
    #expect(lines.contains("token-file t.txt --token-file"))
    #expect(lines.contains("allow-host a.example,b.example --allow-host"))
    #expect(lines.contains("cors-origin https://a,https://b LIVEFETCH_CORS_ORIGIN"))
    #expect(lines.contains("insecure-open off default"))
  }

  // MARK: Addresses

  @Test(
    "On another address than loopback a server without a way to authenticate is refused",
    arguments: ["0.0.0.0", "::", "127.evil.example", "192.0.2.1"])
  func openAddress(host: String) throws {
    let folder = try smallFolder()
    let run = try folder.run("serve", "w.sqlite", "--port", "0", "--host", host)
    #expect(run.status == 64)
    #expect(run.errors.contains("Listening on \(host) needs a way to authenticate"))
    #expect(run.errors.contains("--insecure-open serves everyone"))
  }

  @Test("It starts with --insecure-open or a token, and serves any host name there")
  func openAddressAllowed() throws {
    for (flags, status) in [
      (["--insecure-open"], 200), (["--token-file", "token.txt"], 401),
      (["--config", "open.json"], 200),
    ] {
      let folder = try smallFolder()
      try folder.write("s3cret", to: "token.txt")
      try folder.write(#"{"insecure-open": true}"#, to: "open.json")
      let (_, address) = try folder.serve("w.sqlite", ["--host", "0.0.0.0"] + flags)
      #expect(try ask(address, "Host: any.example\r\n").hasPrefix("HTTP/1.1 \(status)"))
    }
  }

  @Test("SIGHUP opens no server that listens on such an address, whatever the new settings say")
  func reloadedAddress() throws {
    let folder = try smallFolder()
    try folder.write("s3cret", to: "token.txt")
    try folder.write(#"{"host": "0.0.0.0", "token-file": "token.txt"}"#, to: "livefetch.json")
    let (server, address) = try folder.serve("w.sqlite", ["--config", "livefetch.json"])
    try folder.write(#"{"host": "127.0.0.1"}"#, to: "livefetch.json")
    kill(server.processIdentifier, SIGHUP)
    let log = try folder.wait(for: "serve.log.err") {
      $0.contains("the settings from before stay in use")
    }
    #expect(log.contains("Listening on 0.0.0.0 needs a way to authenticate"), "\(log)")
    #expect(try ask(address, "Host: any.example\r\n").hasPrefix("HTTP/1.1 401"))
  }

  @Test("The answers that no handler gives have the newest token too")
  func tokenOfRefusals() throws {
    let folder = try smallFolder()
    let (_, address) = try folder.serve("w.sqlite", ["--max-body", "1000"])
    for (head, status) in [
      ("Host: evil.example\r\n", 421), ("Host: localhost\r\nContent-Length: 2000\r\n", 413),
      ("Host: localhost\r\nHost: localhost\r\n", 400),
    ] {
      let answer = try ask(address, head, method: "POST", target: "/v1/save")
      #expect(answer.hasPrefix("HTTP/1.1 \(status)"), "\(answer)")
      #expect(answer.contains("\r\nLiveFetch-Token: "), "\(answer)")
    }
  }

  // MARK: Hosts

  @Test("On loopback the host is loopback's or an allowed one")
  func hosts() throws {
    let folder = try smallFolder()
    let (_, address) = try folder.serve(
      "w.sqlite", ["--allow-host", "a.example", "--allow-host", "b.example,c.example"])
    let served = [
      "localhost", "localhost:1", "127.0.0.1", "[::1]:9", "a.example", "B.example:80", "c.example",
    ]
    for host in served {
      #expect(try ask(address, "Host: \(host)\r\n").hasPrefix("HTTP/1.1 200"), "\(host)")
    }
    for host in ["evil.example", "127.0.0.1.evil.example", "d.a.example", ""] {
      let answer = try ask(address, "Host: \(host)\r\n")
      #expect(answer.hasPrefix("HTTP/1.1 421"), "\(host)")
    }
    let save = try ask(
      address, "Host: evil.example\r\nContent-Type: application/json\r\nContent-Length: 2\r\n",
      method: "POST", target: "/v1/save")
    #expect(save.hasPrefix("HTTP/1.1 421"))
  }

  @Test("Elsewhere any host is served until one is allowed")
  func hostsElsewhere() throws {
    let folder = try smallFolder()
    let (_, address) = try folder.serve(
      "w.sqlite", ["--host", "0.0.0.0", "--insecure-open", "--allow-host", "a.example"])
    #expect(try ask(address, "Host: a.example\r\n").hasPrefix("HTTP/1.1 200"))
    #expect(try ask(address, "Host: evil.example\r\n").hasPrefix("HTTP/1.1 421"))
    #expect(try ask(address, "Host: localhost\r\n").hasPrefix("HTTP/1.1 200"))
  }

  @Test(
    "An allowed host is a name without a port", arguments: ["a:80", "http://a", "a/b", ","])
  func badHost(name: String) throws {
    let (status, message) = try #require(refusal(of: ["--allow-host", name]))
    #expect(status == 64)
    #expect(message.contains("--allow-host takes"), "\(message)")
  }

  @Test(
    "An origin that no browser sends is refused at start",
    arguments: [
      "a.example", "a.example/path", "https://a.example/", "https://a.example/path", "null",
      "https://*.a.example", "https://*", "**", "https://", "https://A.example",
      "HTTPS://a.example", "https://a.example:443", "http://a.example:80", "https://a.example:",
      "https://a.example:0", "https://a.example:65536", "https://a.example:x", "//a.example",
      "https://u@a.example", "https://a.example?x", "https://a.example#x", "https:a.example",
      "https://a b", "https://::1", "://a.example", "file://", "https://a.example:8443/",
    ])
  func badOrigin(origin: String) throws {
    let (status, message) = try #require(refusal(of: ["--cors-origin", origin]))
    #expect(status == 64)
    #expect(message.contains("--cors-origin takes"), "\(message)")
  }

  @Test("Origins in the form of browsers are accepted")
  func goodOrigins() throws {
    let origins = [
      "*", "https://a.example", "http://localhost:3000", "http://a.example:443",
      "https://[::1]:8443", "http://127.0.0.1", "capacitor://localhost",
      "chrome-extension://abcdefghijklmnop",
    ]
    let folder = try smallFolder()
    let (_, address) = try folder.serve(
      "w.sqlite", origins.flatMap { ["--cors-origin", $0] })
    #expect(try ask(address, "Host: localhost\r\n").hasPrefix("HTTP/1.1 200"))
  }

  @Test("A body without the token is refused at its head by the program")
  func headRefusal() throws {
    let folder = try smallFolder()
    let (_, address) = try folder.serve("w.sqlite", [], environment: ["LIVEFETCH_TOKEN": "s"])
    for extra in ["", "Expect: 100-continue\r\n"] {
      let answer = try ask(
        address,
        "Host: localhost\r\nContent-Type: application/json\r\nContent-Length: 16777216\r\n\(extra)",
        method: "POST", target: "/v1/save")
      #expect(answer.hasPrefix("HTTP/1.1 401"))
      #expect(answer.contains("LiveFetch-Token: "))
    }
  }
}
