// API keys and JWTs in the program: `livefetch key`, and the flags of `serve`.

import FetchModel
import Foundation
import TestSupport
import Testing

@Suite("Keys and JWTs on the command line", .mayBlock)
struct CredentialCommandTests {
  private func client(
    _ address: String, _ credential: String?, _ target: String = "/v1/model"
  ) throws -> WaitingClient {
    try WaitingClient(
      address, target, headers: credential.map { "Authorization: Bearer \($0)\r\n" } ?? "")
  }

  private func status(_ address: String, _ credential: String?) throws -> Int? {
    let head = try client(address, credential).receiveHead()
    return Int(head.dropFirst("HTTP/1.1 ".count).prefix(3))
  }

  private func create(_ folder: Folder, _ arguments: String...) throws -> String {
    let run = try folder.run(["key", "create", "w.sqlite"] + arguments)
    #expect(run.status == 0, "\(run.errors)")
    return String(run.output.dropLast())
  }

  // MARK: Keys

  @Test("A key is printed once, and listed without its text")
  func list() throws {
    let folder = try smallFolder()
    #expect(try folder.run("key", "list", "w.sqlite", "--json").output == "[]\n")
    let key = try create(
      folder, "--name", "app", "--scope", "write,read", "--scope", "read", "--role", "hr", "--role",
      "it", "--user", "ann", "--expires", "2999-12-31")
    #expect(key.wholeMatch(of: /lf_[a-z2-7]{40}/) != nil)
    let run = try folder.run("key", "list", "w.sqlite", "--json")
    guard case .array(let keys) = try JSON(parsing: Array(run.output.utf8)) else {
      Issue.record("\(run.output)")
      return
    }
    #expect(keys.count == 1)
    #expect(keys[0]["id"]?.string == String(key.dropFirst(3).prefix(8)))
    #expect(keys[0]["name"]?.string == "app")
    #expect(keys[0]["scopes"] == .array([.string("read"), .string("write")]))
    #expect(keys[0]["roles"] == .array([.string("hr"), .string("it")]))
    #expect(keys[0]["user"]?.string == "ann")
    #expect(keys[0]["expires"]?.string == "2999-12-31T00:00:00Z")
    #expect(keys[0]["revoked"] == .null)
    #expect(keys[0]["state"]?.string == "valid")
    let table = try folder.run("key", "list", "w.sqlite").output
    #expect(table.contains("app") && table.contains("read,write") && table.contains("valid"))
    #expect(!(run.output + table).contains(key.dropFirst(12)))
    let dump = try folder.sql("SELECT * FROM livefetch_key", on: "w.sqlite").joined()
    #expect(!dump.contains(key.dropFirst(12)))
  }

  @Test(
    "Wrong arguments are refused with status 64",
    arguments: [
      (["--name", "a", "--scope", "all"], "--scope takes 'read', 'write' or 'admin', not 'all'"),
      (["--name", "a", "--scope", "read", "--expires", "soon"], "--expires takes 30d"),
      (["--name", "a", "--scope", "read", "--expires", "0d"], "--expires takes 30d"),
      (["--name", "a", "--scope", "read", "--expires", "2001-01-01"], "2001-01-01 has passed"),
      (["--name", "", "--scope", "read"], "--name is empty"),
      (["--name", "a\u{202E}b", "--scope", "read"], "--name is empty or has control characters"),
      (["--name", "a\nb", "--scope", "read"], "--name is empty or has control characters"),
      (["--name", "a", "--scope", "read", "--user", ""], "--user is empty"),
      (["--name", "a", "--scope", "read", "--role", "hr", "--role", ""], "--role is empty"),
      (["--name", "a", "--scope", ""], "--scope is empty"), (["--name", "a"], "--scope"),
      (["--scope", "read"], "--name"),
    ])
  func badArguments(arguments: [String], complaint: String) throws {
    let folder = try smallFolder()
    let run = try folder.run(["key", "create", "w.sqlite"] + arguments)
    #expect(run.status == 64)
    #expect(run.errors.contains(complaint), "\(run.errors)")
    #expect(run.output == "")
  }

  @Test("A name is taken until its key is revoked; an unknown key and file are refused")
  func names() throws {
    let folder = try smallFolder()
    let first = try create(folder, "--name", "app", "--scope", "read")
    let again = try folder.run("key", "create", "w.sqlite", "--name", "app", "--scope", "read")
    #expect(again.status == 65)
    #expect(again.errors.contains("there is a key with the name or id 'app' already"))
    let id = String(first.dropFirst(3).prefix(8))
    let other = try folder.run("key", "create", "w.sqlite", "--name", id, "--scope", "read")
    #expect(other.status == 65)
    #expect(other.errors.contains("there is a key with the name or id '\(id)' already"))
    let revoked = try folder.run("key", "revoke", "w.sqlite", id)
    #expect(revoked.output == "w.sqlite: revoked app (\(id))\n")
    let twice = try folder.run("key", "revoke", "w.sqlite", "app")
    #expect(twice.status == 65)
    #expect(twice.errors == "livefetch: w.sqlite: there is no key 'app' to revoke\n")
    _ = try create(folder, "--name", "app", "--scope", "read")
    #expect(try folder.run("key", "list", "none.sqlite").status == 66)
    #expect(try folder.sql("SELECT count(*) FROM livefetch_key", on: "w.sqlite") == ["2"])
  }

  @Test("A key that cannot be printed is revoked")
  func unprintedKey() throws {
    let folder = try smallFolder()
    let run = try folder.run(
      ["key", "create", "w.sqlite", "--name", "app", "--scope", "read"], redirected: ">/dev/full")
    #expect(run.status == 74)
    #expect(run.errors == "livefetch: standard output: No space left on device\n")
    #expect(
      try folder.sql("SELECT name, revoked IS NULL FROM livefetch_key", on: "w.sqlite")
        == ["app|0"])
    _ = try create(folder, "--name", "app", "--scope", "read")
  }

  @Test("`detach` removes the keys, also those of a file that was never served")
  func detach() throws {
    let folder = try smallFolder()
    let before = try folder.sql("SELECT name FROM sqlite_schema ORDER BY 1", on: "w.sqlite")
    _ = try create(folder, "--name", "app", "--scope", "read")
    #expect(try folder.run("detach", "w.sqlite").output == "w.sqlite: detached\n")
    #expect(
      try folder.sql("SELECT name FROM sqlite_schema ORDER BY 1", on: "w.sqlite") == before)
  }

  @Test("Another process creates and revokes a key while the server runs and a request waits")
  func otherProcess() throws {
    let folder = try smallFolder()
    let (_, address) = try folder.serve("w.sqlite", [], environment: ["LIVEFETCH_TOKEN": "s3cret"])
    let key = try create(folder, "--name", "app", "--scope", "read")
    #expect(try eventually(within: .seconds(60)) { try status(address, key) == 200 })
    let poll = try client(address, key, "/v1/changes?since=now&wait=60")
    // It, and the request of the metrics itself.
    #expect(
      try eventually(within: .seconds(60)) {
        try FaultClient(address: address)
          .metric("livefetch_connections_waiting", token: "s3cret") == 2
      })
    #expect(try folder.run("key", "revoke", "w.sqlite", "app").status == 0)
    #expect(poll.receiveHead().hasPrefix("HTTP/1.1 401"))
    #expect(try status(address, key) == 401)
    #expect(try status(address, "s3cret") == 200)
    let log = try folder.read("serve.log") + folder.read("serve.log.err")
    #expect(!log.contains(key) && !log.contains("s3cret"))
  }

  @Test("A store with a key is served on every address, and needs the key there")
  func keyOpensAddress() throws {
    let folder = try smallFolder()
    let key = try create(folder, "--name", "app", "--scope", "read")
    let (_, address) = try folder.serve("w.sqlite", ["--host", "0.0.0.0"])
    #expect(try status(address, nil) == 401)
    #expect(try status(address, key) == 200)
  }

  // MARK: JWTs

  private static let publicKey = """
    -----BEGIN PUBLIC KEY-----
    MCowBQYDK2VwAyEAgwwG9US5oJNq3XBi3U5xP4XVG2Xjwb4HknnLhj3Xdtk=
    -----END PUBLIC KEY-----

    """
  private static let keySet = #"""
    {"keys":[{"kty":"OKP","crv":"Ed25519","kid":"k1","use":"sig","alg":"EdDSA",
    "x":"gwwG9US5oJNq3XBi3U5xP4XVG2Xjwb4HknnLhj3Xdtk"}]}
    """#
  /// `{"sub":"ann","scope":"read"}`, signed with the key above; its `kid` is `k1`.
  private static let token =
    "eyJhbGciOiJFZERTQSIsImtpZCI6ImsxIn0.eyJzdWIiOiJhbm4iLCJzY29wZSI6InJlYWQifQ."
    + "dE7rDMmx7WxGzrFePtiRMLX2qz8RnkHGSnzQdyV1Iqrlef-S2WRSjK1x9vNWbpfEs1BAYCUgtwIo_-5hxpWGAQ"
  /// The same claims, signed with the secret.
  private static let secretToken =
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm4iLCJzY29wZSI6InJlYWQifQ."
    + "1tY5LhCCpb3PBMT6mzaYBGCZ9udTeZxgmkCSBbHy4c4"

  @Test("`--jwt-key` takes a public key, a set of keys or a secret")
  func keyFiles() throws {
    for (text, token) in [
      (Self.publicKey, Self.token), (Self.keySet, Self.token),
      ("a secret of at least thirty-two bytes\n", Self.secretToken),
    ] {
      let folder = try smallFolder()
      try folder.write(text, to: "key")
      let (_, address) = try folder.serve("w.sqlite", ["--host", "0.0.0.0", "--jwt-key", "key"])
      #expect(try status(address, token) == 200)
      #expect(try status(address, token + "A") == 401)
      #expect(try status(address, nil) == 401)
    }
  }

  @Test("The issuer comes from the environment, and refuses other tokens")
  func issuer() throws {
    let folder = try smallFolder()
    try folder.write(Self.publicKey, to: "key")
    let (_, address) = try folder.serve(
      "w.sqlite", ["--jwt-key", "key"], environment: ["LIVEFETCH_JWT_ISSUER": "https://login"])
    #expect(try status(address, Self.token) == 401)
  }

  @Test("`--jwks-url` fetches the keys, and says when it cannot")
  func address() throws {
    let keys = try smallFolder()
    try FileManager.default.createDirectory(
      atPath: keys.file("public"), withIntermediateDirectories: false)
    try keys.write(Self.keySet, to: "public/jwks.json")
    let (_, source) = try keys.serve("w.sqlite", ["--public", "public"])
    let folder = try smallFolder()
    let (_, address) = try folder.serve("w.sqlite", ["--jwks-url", source + "/jwks.json"])
    #expect(try status(address, Self.token) == 200)
    #expect(try status(address, Self.secretToken) == 401)
    let other = try smallFolder()
    let (_, useless) = try other.serve("w.sqlite", ["--jwks-url", source + "/none.json"])
    #expect(try status(useless, Self.token) == 401)
    let note = try other.wait(for: "serve.log.err") { $0.contains("none.json") }
    #expect(
      note.contains("/none.json: the answer has the status 404; there are no keys from it yet"))
  }

  @Test(
    "A key file or address that cannot be used is refused",
    arguments: [
      (["--jwt-key", "short"], 64, "short: holds a secret of fewer than 32 bytes"),
      (["--jwt-key", "GONE"], 66, "--jwt-key names no file"),
      (["--jwks-url", "http://example.com/jwks"], 64, "--jwks-url takes an https address"),
    ])
  func badKeys(flags: [String], status: Int32, complaint: String) throws {
    let folder = try smallFolder()
    try folder.write("short\n", to: "short")
    let run = try folder.run(["serve", "w.sqlite", "--port", "0"] + flags)
    #expect(run.status == status)
    #expect(run.errors.contains(complaint), "\(run.errors)")
  }

  @Test(
    "Flags of JWTs that are empty, unfit or alone are refused",
    arguments: [
      (["--jwt-key", ""], "--jwt-key is empty"),
      (["--jwks-url", "ftp://127.0.0.1/jwks"], "--jwks-url takes an https address"),
      (["--jwks-url", "https://"], "--jwks-url takes an https address"),
      (["--jwks-url", "http://[::2]/jwks"], "--jwks-url takes an https address"),
      (
        ["--jwks-url", "https://ann:secret@127.0.0.1/jwks"],
        "--jwks-url takes an address without a user and a password"
      ),
      (["--jwks-url", ""], "--jwks-url is empty"), (["--jwt-issuer", ""], "--jwt-issuer is empty"),
      (["--jwt-audience", ""], "--jwt-audience is empty"),
      (["--jwt-issuer", "x"], "--jwt-issuer needs --jwt-key or --jwks-url"),
    ])
  func badFlags(flags: [String], complaint: String) throws {
    let (status, message) = try #require(refusal(of: flags))
    #expect(status == 64)
    #expect(message.contains(complaint), "\(message)")
    #expect(!message.contains("ann:secret"), "\(message)")
  }

  @Test("An address of a JWKS without TLS may be on loopback, by any of its names")
  func loopbackKeys() {
    for host in ["127.0.0.1", "localhost", "[::1]"] {
      let found = refusal(of: ["--jwks-url", "http://\(host):1/jwks"])
      #expect(found?.message == nil)
    }
  }
}
