// Static files: names, types, entity tags, ranges, traversal.

import Foundation
import Glibc
import TestSupport
import Testing

@testable import LiveFetchHTTPServer

extension TemporaryDirectory {
  fileprivate func write(_ name: String, _ text: String) {
    let descriptor = open("\(path)/\(name)", O_WRONLY | O_CREAT | O_TRUNC, 0o644)
    _ = Array(text.utf8).withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
    close(descriptor)
  }

  fileprivate func makeDirectory(_ name: String) {
    mkdir("\(path)/\(name)", 0o755)
  }

  fileprivate func link(_ name: String, to target: String) {
    symlink(target, "\(path)/\(name)")
  }
}

extension HTTPServerTests {
  @Suite struct Files {
    let directory: TemporaryDirectory
    let files: StaticFiles
    let script = String(repeating: "console.log('hello')\n", count: 100)

    init() throws {
      directory = try TemporaryDirectory()
      directory.makeDirectory("public")
      directory.makeDirectory("public/sub")
      directory.makeDirectory("public-other")
      directory.write("secret.txt", "secret")
      directory.write("public-other/file.txt", "other")
      directory.write("public/index.html", "<p>home</p>")
      directory.write("public/sub/index.html", "<p>sub</p>")
      directory.write("public/app.js", script)
      directory.write("public/a b+ä.txt", "odd")
      directory.write("public/.hidden", "hidden")
      directory.write("public/empty.css", "")
      directory.write("public/back\\slash.txt", "back")
      directory.link("public/out.txt", to: "../secret.txt")
      directory.link("public/outdir", to: "..")
      directory.link("public/other", to: "../public-other")
      directory.link("public/in.html", to: "sub/index.html")
      directory.link("public/loop", to: "loop")
      mkfifo(directory.path + "/public/pipe", 0o644)
      files = try #require(StaticFiles(directory: directory.path + "/public"))
    }

    func get(_ target: String, _ headers: [(name: String, value: String)] = []) -> HTTPResponse? {
      files.response(to: HTTPRequest(target: target, headers: headers))
    }

    func text(_ target: String) -> String? {
      get(target).map { String(decoding: $0.body.bytes, as: UTF8.self) }
    }

    @Test func `files are found by their decoded names, directories by their index`() {
      #expect(text("/") == "<p>home</p>")
      #expect(text("/?query") == "<p>home</p>")
      #expect(text("/index.html") == "<p>home</p>")
      #expect(text("/sub") == "<p>sub</p>")
      #expect(text("/sub/") == "<p>sub</p>")
      #expect(text("/a%20b+%C3%A4.txt") == "odd")
      #expect(text("/empty.css") == "")
      #expect(text("/in.html") == "<p>sub</p>")
      #expect(text("/nothing") == nil)
      #expect(text("/index.html/") == nil)
      #expect(text("/index.html/x") == nil)
    }

    @Test(arguments: [
      "/../secret.txt", "/%2e%2e/secret.txt", "/%2E./secret.txt", "/.%2e/secret.txt",
      "/sub/../../secret.txt", "/sub/..%2f..%2fsecret.txt", "/..%2fsecret.txt", "/..%5csecret.txt",
      "/%252e%252e/secret.txt", "//secret.txt", "/./index.html", "/sub//index.html",
      "/index.html%00", "/index.html%00.txt", "/%00", "/.hidden", "/%2ehidden", "/..", "/.",
      "/out.txt", "/outdir/secret.txt", "/other/file.txt", "/other",
      "/loop", "/pipe", "/back%5cslash.txt", "/back\\slash.txt", "/%", "/%4", "/%FF",
      "/sub%2findex.html",
      "secret.txt", "*", "", "/../public-other/file.txt",
    ])
    func `nothing outside, hidden or special is served`(_ target: String) {
      #expect(get(target) == nil, "\(target)")
    }

    @Test func `a long path is not found`() {
      #expect(get("/" + String(repeating: "a", count: 5000)) == nil)
      #expect(get(String(repeating: "/a", count: 3000)) == nil)
    }

    @Test func `only GET and HEAD are answered`() {
      #expect(files.response(to: HTTPRequest(method: "HEAD", target: "/"))?.status == 200)
      #expect(files.response(to: HTTPRequest(method: "POST", target: "/")) == nil)
    }

    @Test func `of a large file, HEAD and other methods read nothing`() async throws {
      let count = StaticFiles.largestKept + 1
      directory.write("public/large.bin", "")
      #expect(truncate(directory.path + "/public/large.bin", off_t(count)) == 0)
      let whole = try #require(get("/large.bin"))
      let head = try #require(
        files.response(to: HTTPRequest(method: "HEAD", target: "/large.bin")))
      #expect(whole.body.bytes.count == count)
      #expect(head.body == .omitted(count: count))
      #expect(head.headers.map(\.value) == whole.headers.map(\.value))
      let range = files.response(
        to: HTTPRequest(
          method: "HEAD", target: "/large.bin", headers: [("Range", "bytes=1-10")]))
      #expect(range?.status == 200)
      #expect(range?.body == .omitted(count: count))
      #expect(files.hasFile("/large.bin"))
      #expect(files.cachedBytes == 0)
      let files = files
      try await serving { request, exchange in
        exchange.respond(files.response(to: request) ?? HTTPResponse(status: 404))
      } during: { server in
        let client = try RawClient(server.port)
        client.send("HEAD /large.bin HTTP/1.1\r\nHost: a\r\n\r\n")
        let reply = client.response(bodyFollows: false)
        #expect(reply?.status == 200)
        #expect(reply?.header("content-length") == "\(count)")
        #expect(reply?.header("etag") == whole.header("etag"))
        #expect(client.get("/")?.text == "<p>home</p>")
      }
    }

    @Test func `a large file that changes has another tag`() throws {
      let path = directory.path + "/public/large.bin"
      directory.write("public/large.bin", "")
      #expect(truncate(path, off_t(StaticFiles.largestKept + 1)) == 0)
      let before = try #require(get("/large.bin")?.header("etag"))
      #expect(get("/large.bin", [("If-None-Match", before)])?.status == 304)
      #expect(truncate(path, off_t(StaticFiles.largestKept + 2)) == 0)
      #expect(get("/large.bin", [("If-None-Match", before)])?.status == 200)
    }

    @Test func `a file of 3 MB is kept with its compressed form, however little that saves`() {
      let digits = Array("0123456789abcdef".utf8)
      var number: UInt32 = 1
      let bytes = (0..<3_000_000).map { _ -> UInt8 in
        number = number &* 1_664_525 &+ 1_013_904_223
        return digits[Int(number >> 28)]
      }
      directory.write("public/digits.txt", String(decoding: bytes, as: UTF8.self))
      #expect(get("/digits.txt")?.body.count == 3_000_000)
      #expect(files.cachedBytes > 4_500_000)
    }

    @Test func `a file is there if GET finds it`() {
      for target in [
        "/", "/index.html", "/sub", "/sub/", "/a%20b+%C3%A4.txt", "/in.html", "/nothing",
        "/index.html/", "/out.txt", "/pipe", "/loop", "/.hidden", "/../secret.txt", "",
      ] {
        #expect(files.hasFile(target[...]) == (get(target) != nil), "\(target)")
      }
    }

    @Test func `the headers say what it is`() throws {
      let response = try #require(get("/app.js"))
      #expect(response.status == 200)
      #expect(response.header("content-type") == "text/javascript; charset=utf-8")
      #expect(response.header("cache-control") == "no-cache")
      #expect(response.header("vary") == "Accept-Encoding")
      #expect(response.header("content-encoding") == nil)
    }

    @Test(arguments: [
      ("a.html", "text/html; charset=utf-8"), ("a.MJS", "text/javascript; charset=utf-8"),
      ("a.css", "text/css; charset=utf-8"), ("a.svg", "image/svg+xml"), ("a.png", "image/png"),
      ("a.jpg", "image/jpeg"), ("a.ico", "image/x-icon"), ("a.json", "application/json"),
      ("a.js.map", "application/json"), ("a.webmanifest", "application/manifest+json"),
      ("a.woff2", "font/woff2"), ("a.wasm", "application/wasm"),
      ("a.md", "text/markdown; charset=utf-8"), ("a.d.ts", "text/plain; charset=utf-8"),
      ("a.unknown", "application/octet-stream"), ("a", "application/octet-stream"),
    ])
    func `types follow the extension`(_ name: String, _ type: String) {
      #expect(ContentType.ofFile(named: name) == type)
    }

    @Test func `the compressed form has its own tag`() throws {
      let plain = try #require(get("/app.js"))
      let zipped = try #require(get("/app.js", [("Accept-Encoding", "br, gzip")]))
      #expect(zipped.header("content-encoding") == "gzip")
      #expect(zipped.header("etag") != plain.header("etag"))
      #expect(inflated(zipped.body.bytes, capacity: 10_000) == Array(script.utf8))
      #expect(get("/", [("Accept-Encoding", "gzip")])?.header("content-encoding") == nil)
    }

    @Test func `a tag that still holds is answered 304 without a body`() throws {
      let tag = try #require(get("/app.js")?.header("etag"))
      for condition in [tag, "W/\(tag)", "\"x\", \(tag)", "*"] {
        let response = try #require(get("/app.js", [("If-None-Match", condition)]))
        #expect(response.status == 304)
        #expect(response.body == .omitted(count: script.utf8.count))
        #expect(response.header("etag") == tag)
      }
      #expect(get("/app.js", [("If-None-Match", "\"x\"")])?.status == 200)
      let other = [("If-None-Match", tag), ("Accept-Encoding", "gzip")]
      #expect(get("/app.js", other.map { (name: $0.0, value: $0.1) })?.status == 200)
    }

    @Test func `a changed file has another tag`() throws {
      let before = try #require(get("/index.html")?.header("etag"))
      #expect(get("/index.html")?.header("etag") == before)
      directory.write("public/index.html", "<p>HOME</p>")
      #expect(get("/index.html")?.header("etag") != before)
      #expect(text("/") == "<p>HOME</p>")
    }

    @Test func `a range is answered 206`() throws {
      let part = try #require(get("/app.js", [("Range", "bytes=8-10")]))
      #expect(part.status == 206)
      #expect(part.body == .text("log"))
      #expect(part.header("content-range") == "bytes 8-10/2100")
      #expect(get("/app.js", [("Range", "bytes=2100-")])?.status == 416)
      let stale = [(name: "Range", value: "bytes=8-10"), (name: "If-Range", value: "\"x\"")]
      #expect(get("/app.js", stale)?.status == 200)
    }

    @Test func `contents in memory are served as files of a directory are`() throws {
      let held = StaticFiles(contents: [
        "/index.html": Array("<p>home</p>".utf8), "/sub/index.html": Array("<p>sub</p>".utf8),
        "/app.js": Array(script.utf8), "/a b+ä.txt": Array("odd".utf8), "/empty.css": [],
      ])
      let targets = [
        "/", "/index.html", "/sub", "/sub/", "/app.js", "/a%20b%2B%C3%A4.txt", "/empty.css",
        "/app.js/", "/nothing", "/sub/nothing", "/../index.html", "//index.html", "/%2e%2e/app.js",
        "/sub/index.html/", "",
      ]
      for target in targets {
        for headers in [[], [(name: "Accept-Encoding", value: "gzip")]] {
          let request = HTTPRequest(target: target, headers: headers)
          let (found, wanted) = (held.response(to: request), files.response(to: request))
          #expect(found?.status == wanted?.status, "\(target)")
          #expect(found?.body.bytes == wanted?.body.bytes, "\(target)")
          #expect(found?.headers.map(\.name) == wanted?.headers.map(\.name), "\(target)")
          #expect(found?.headers.map(\.value) == wanted?.headers.map(\.value), "\(target)")
        }
      }
    }

    @Test func `a path that is no directory is refused`() {
      #expect(StaticFiles(directory: directory.path + "/secret.txt") == nil)
      #expect(StaticFiles(directory: directory.path + "/nothing") == nil)
    }

    @Test func `traversal is refused over a socket as well`() async throws {
      let files = files
      try await serving { request, exchange in
        exchange.respond(files.response(to: request) ?? HTTPResponse(status: 404))
      } during: { server in
        let client = try RawClient(server.port)
        #expect(client.get("/")?.text == "<p>home</p>")
        for target in ["/../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt", "/%00"] {
          #expect(client.get(target)?.status == 404)
        }
      }
    }
  }
}
