// `serve` with a TLS certificate: ready line, commands, renewal, refused certificates.

import Foundation
import TestSupport
import Testing

@Suite("A server with TLS of its own", .mayBlock)
struct ServedTLSTests {
  private func folder() throws -> Folder {
    let folder = try Folder()
    try folder.sql(smallFixture, on: "w.sqlite")
    return folder
  }

  private func write(_ pair: TestCertificate, to folder: Folder) throws {
    try folder.write(String(decoding: pair.certificate, as: UTF8.self), to: "cert.pem")
    try folder.write(String(decoding: pair.key, as: UTF8.self), to: "key.pem")
  }

  private let flags = ["--tls-cert", "cert.pem", "--tls-key", "key.pem"]

  private func port(_ address: String) throws -> Int {
    try #require(address.split(separator: ":").last.flatMap { Int($0) })
  }

  @Test("Its ready line says https, and commands fetch from it and save to it")
  func fetchAndSave() throws {
    let folder = try folder()
    try write(TestCertificate(), to: folder)
    let (_, address) = try folder.serve("w.sqlite", flags)
    #expect(address.hasPrefix("https://127.0.0.1:"))
    let trust = ["CURL_CA_BUNDLE": folder.file("cert.pem")]
    let save = try folder.run(
      "save", address, input: #"[{"update":"City","id":2,"values":{"name":"Vik"}}]"#,
      environment: trust)
    #expect(save.status == 0, "\(save.errors)")
    let fetch = try folder.run(
      "fetch", address, "City", "--select", "name", "--where", "id == 2", "--format", "csv",
      environment: trust)
    #expect(fetch.output == "id,name\n2,Vik\n", "\(fetch.errors)")
    #expect(try folder.run("fetch", address, "City").status == 69)
  }

  @Test("SIGHUP has it present another certificate; a bad one leaves the one from before")
  func renewal() throws {
    let folder = try folder()
    try write(TestCertificate(), to: folder)
    let (server, address) = try folder.serve("w.sqlite", flags)
    func presented() throws -> [UInt8] {
      try #require(try TLSClient(port: try port(address))).peerCertificate
    }
    let first = try presented()
    let held = try #require(try TLSClient(port: try port(address)))
    held.send("GET /v1/objects/City?since=now&wait=60 HTTP/1.1\r\nHost: localhost\r\n\r\n")

    try folder.write("none", to: "cert.pem")
    kill(server.processIdentifier, SIGHUP)
    let complaint = try folder.wait(for: "serve.log.err") { $0.contains("stays in use") }
    #expect(complaint.contains("cert.pem: no usable certificate: "), "\(complaint)")
    #expect(try presented() == first)

    try write(TestCertificate(), to: folder)
    kill(server.processIdentifier, SIGHUP)
    let note = try folder.wait(for: "serve.log.err") { $0.contains("cert.pem: read again") }
    #expect(note.contains("livefetch: cert.pem: read again\n"), "\(note)")
    #expect(try presented() != first)
    try folder.run(
      ["save", address, "change.json"], environment: ["CURL_CA_BUNDLE": folder.file("cert.pem")],
      change: #"[{"update":"City","id":2,"values":{"name":"Vik"}}]"#)
    #expect(held.response().contains("\"name\":\"Vik\""))
  }

  @Test(
    "A certificate that cannot be used ends the start with one message",
    arguments: [
      (["--tls-cert", "cert.pem"], "--tls-cert needs --tls-key"),
      (["--tls-key", "key.pem"], "--tls-key needs --tls-cert"),
      (["--tls-cert", "no.pem", "--tls-key", "key.pem"], "no.pem"),
      (["--tls-cert", "text", "--tls-key", "key.pem"], "text: no usable certificate: "),
      (["--tls-cert", "cert.pem", "--tls-key", "text"], "text: no usable private key: "),
      (
        ["--tls-cert", "cert.pem", "--tls-key", "other.pem"],
        "other.pem: not the key of the certificate in cert.pem"
      ),
      (["--tls-cert", "", "--tls-key", "key.pem"], "--tls-cert is empty"),
    ])
  func badFiles(flags: [String], complaint: String) throws {
    let folder = try folder()
    try write(TestCertificate(), to: folder)
    try folder.write("text", to: "text")
    try folder.write(String(decoding: TestCertificate().key, as: UTF8.self), to: "other.pem")
    let run = try folder.run(["serve", "w.sqlite", "--port", "0"] + flags)
    #expect(run.status == 64 || run.status == 66)
    #expect(run.errors.contains(complaint), "\(run.errors)")
    #expect(!folder.has("w.sqlite-wal"))
  }

  @Test("TLS alone does not open a server on a public address")
  func openAddress() throws {
    let folder = try folder()
    try write(TestCertificate(), to: folder)
    let run = try folder.run(["serve", "w.sqlite", "--port", "0", "--host", "0.0.0.0"] + flags)
    #expect(run.status == 64)
    #expect(run.errors.contains("Listening on 0.0.0.0 needs a way to authenticate"))
  }
}

extension Folder {
  /// Runs the program with `change` in the file that is its last argument.
  fileprivate func run(
    _ arguments: [String], environment: [String: String], change: String
  ) throws {
    try write(change, to: arguments[arguments.count - 1])
    let run = try run(arguments, environment: environment)
    #expect(run.status == 0, "\(run.errors)")
  }
}
