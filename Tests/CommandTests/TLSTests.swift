// The built server behind a TLS proxy.

import Foundation
import TestSupport
import Testing

@Suite(
  "A server behind TLS", .mayBlock,
  .enabled(
    if: ["/usr/bin/openssl", "/usr/bin/python3"].allSatisfy {
      FileManager.default.isExecutableFile(atPath: $0)
    }))
struct TLSTests {
  /// A TLS proxy in front of a server.
  private static let proxy = """
    import http.server, ssl, sys, urllib.request, urllib.error
    class Proxy(http.server.BaseHTTPRequestHandler):
      protocol_version = "HTTP/1.1"
      def hand_on(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        names = [n for n in ("Content-Type", "Authorization", "Accept") if n in self.headers]
        request = urllib.request.Request(sys.argv[1] + self.path, body or None,
          {n: self.headers[n] for n in names}, method=self.command)
        try: answer = urllib.request.urlopen(request)
        except urllib.error.HTTPError as error: answer = error
        data = answer.read()
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.headers["Content-Type"])
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
      do_GET = do_POST = hand_on
      def log_message(self, *_): pass
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain("cert.pem", "key.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    print(server.server_address[1], flush=True)
    server.serve_forever()
    """

  private func launch(_ program: String, _ arguments: [String], in folder: Folder) throws -> Process
  {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    process.currentDirectoryURL = URL(fileURLWithPath: folder.path)
    process.standardError = FileHandle.nullDevice
    return process
  }

  @Test("It is fetched from and saved to as any other, with the system's certificates")
  func fetchAndSave() throws {
    let folder = try Folder()
    try folder.sql(smallFixture, on: "w.sqlite")
    let (server, address) = try folder.serve("w.sqlite")
    let certificate = try launch(
      "/usr/bin/openssl",
      [
        "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
        "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key.pem", "-out", "cert.pem",
      ], in: folder)
    try certificate.run()
    certificate.waitUntilExit()
    try folder.write(Self.proxy, to: "proxy.py")
    let proxy = try launch("/usr/bin/python3", ["proxy.py", address], in: folder)
    let port = Pipe()
    proxy.standardOutput = port
    try proxy.run()
    defer { proxy.terminate() }
    let number = String(decoding: port.fileHandleForReading.availableData, as: UTF8.self)
    let secure = "https://127.0.0.1:" + number.trimmingCharacters(in: .whitespacesAndNewlines)
    let trust = ["CURL_CA_BUNDLE": folder.file("cert.pem")]

    let change = #"[{"update":"City","id":2,"values":{"name":"A \"q\" \\ ü\n"}}]"#
    let save = try folder.run("save", secure, input: change, environment: trust)
    #expect(save.status == 0, "\(save.errors)")
    let rows = try folder.sql("SELECT hex(name) FROM City WHERE id = 2", on: "w.sqlite")
    #expect(rows == ["412022712220" + "5C20C3BC0A"])
    let fetch = try folder.run(
      "fetch", secure, "City", "--select", "name", "--where", "id == 1", "--format", "csv",
      environment: trust)
    #expect(fetch.output == "id,name\n1,Lima\n", "\(fetch.errors)")
    let refused = try folder.run(
      "fetch", secure, "City", "--where", "nme == 1", environment: trust)
    #expect(refused.status == 64)
    #expect(refused.errors.contains("did you mean `name`?"))
    let untrusted = try folder.run("fetch", secure, "City")
    #expect(untrusted.status == 69)
    #expect(untrusted.errors.contains("certificate"), "\(untrusted.errors)")
    server.terminate()
    server.waitUntilExit()
  }
}
