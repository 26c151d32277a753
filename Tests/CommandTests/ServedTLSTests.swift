// `serve` with a TLS certificate: ready line, commands, renewal, refused certificates.

import Foundation
import TestSupport
import Testing

@Suite("A server with TLS of its own", .mayBlock)
struct ServedTLSTests {
  private func write(_ pair: TestCertificate, to folder: Folder) throws {
    try folder.write(String(decoding: pair.certificate, as: UTF8.self), to: "cert.pem")
    try folder.write(String(decoding: pair.key, as: UTF8.self), to: "key.pem")
  }

  private let flags = ["--tls-cert", "cert.pem", "--tls-key", "key.pem"]

  @Test("Its ready line says https, and commands that trust its certificate fetch and save")
  func fetchAndSave() throws {
    let folder = try smallFolder()
    try write(TestCertificate(), to: folder)
    let (_, address) = try folder.serve("w.sqlite", flags)
    #expect(address.hasPrefix("https://127.0.0.1:"))
    let trust = ["CURL_CA_BUNDLE": folder.file("cert.pem")]
    let save = try folder.run(
      "save", address, input: #"[{"update":"City","id":2,"values":{"name":"A \"q\" \\ ü\n"}}]"#,
      environment: trust)
    #expect(save.status == 0, "\(save.errors)")
    let rows = try folder.sql("SELECT hex(name) FROM City WHERE id = 2", on: "w.sqlite")
    #expect(rows == ["412022712220" + "5C20C3BC0A"])
    let fetch = try folder.run(
      "fetch", address, "City", "--select", "name", "--where", "id == 1", "--format", "csv",
      environment: trust)
    #expect(fetch.output == "id,name\n1,Lima\n", "\(fetch.errors)")
    let refused = try folder.run(
      "fetch", address, "City", "--where", "nme == 1", environment: trust)
    #expect(refused.status == 64)
    #expect(refused.errors.contains("did you mean `name`?"))
    let untrusted = try folder.run("fetch", address, "City")
    #expect(untrusted.status == 69)
    #expect(untrusted.errors.contains("certificate"), "\(untrusted.errors)")
  }

  @Test("SIGHUP reloads the certificate; an unusable one leaves the previous one in use")
  func renewal() throws {
    let folder = try smallFolder()
    try write(TestCertificate(), to: folder)
    let (server, address) = try folder.serve("w.sqlite", flags)
    func presented() throws -> [UInt8] {
      try #require(try TLSClient(port: try portNumber(of: address))).peerCertificate
    }
    let first = try presented()
    let held = try #require(try TLSClient(port: try portNumber(of: address)))
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
    let saved = try folder.run(
      "save", address, input: #"[{"update":"City","id":2,"values":{"name":"Vik"}}]"#,
      environment: ["CURL_CA_BUNDLE": folder.file("cert.pem")])
    #expect(saved.status == 0, "\(saved.errors)")
    #expect(held.response().contains("\"name\":\"Vik\""))
  }

  @Test(
    "A certificate that cannot be used ends the start with one message",
    arguments: [
      (["--tls-cert", "cert.pem"], Int32(64), "--tls-cert needs --tls-key"),
      (["--tls-key", "key.pem"], 64, "--tls-key needs --tls-cert"),
      (["--tls-cert", "no.pem", "--tls-key", "key.pem"], 66, "no.pem"),
      (["--tls-cert", "text", "--tls-key", "key.pem"], 64, "text: no usable certificate: "),
      (["--tls-cert", "cert.pem", "--tls-key", "text"], 64, "text: no usable private key: "),
      (
        ["--tls-cert", "cert.pem", "--tls-key", "other.pem"], 64,
        "other.pem: not the key of the certificate in cert.pem"
      ),
      (["--tls-cert", "", "--tls-key", "key.pem"], 64, "--tls-cert is empty"),
    ])
  func badFiles(flags: [String], status: Int32, complaint: String) throws {
    let folder = try smallFolder()
    try write(TestCertificate(), to: folder)
    try folder.write("text", to: "text")
    try folder.write(String(decoding: TestCertificate().key, as: UTF8.self), to: "other.pem")
    let run = try folder.run(["serve", "w.sqlite", "--port", "0"] + flags)
    #expect(run.status == status)
    #expect(run.errors.contains(complaint), "\(run.errors)")
    #expect(!folder.has("w.sqlite-wal"))
  }

  @Test("TLS alone does not open a server on a public address")
  func openAddress() throws {
    let folder = try smallFolder()
    try write(TestCertificate(), to: folder)
    let run = try folder.run(["serve", "w.sqlite", "--port", "0", "--host", "0.0.0.0"] + flags)
    #expect(run.status == 64)
    #expect(run.errors.contains("Listening on 0.0.0.0 needs a way to authenticate"))
  }
}
