// The JavaScript client as an npm package that a server serves.

import Foundation
import TestSupport
import Testing
import WebPage

@testable import LiveFetchCommand

@Suite("The JavaScript client as a package", .mayBlock)
struct NPMPackageTests {
  @Test("The archive contains the client's files below package/, each as it is in Public")
  func contents() throws {
    let archive = try #require(NPMPackage.archive(of: WebPage.files))
    let directory = try TemporaryDirectory()
    try Data(archive).write(to: URL(fileURLWithPath: directory.file("livefetch.tgz")))
    let tar = Process()
    tar.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    tar.arguments = ["tar", "xzf", "livefetch.tgz"]
    tar.currentDirectoryURL = URL(fileURLWithPath: directory.path)
    try tar.run()
    tar.waitUntilExit()
    #expect(tar.terminationStatus == 0)
    for name in [
      "package.json", "livefetch.js", "livefetch.d.ts", "livefetch/node.js", "docs/javascript.md",
    ] {
      let content = FileManager.default.contents(atPath: directory.file("package/\(name)"))
      #expect(content == Data(try #require(WebPage.files["/\(name)"])), "\(name)")
    }
    let names = FileManager.default.enumerator(atPath: directory.file("package"))
    #expect(names?.contains { "\($0)".hasPrefix("explorer") } == false)
  }

  @Test("Equal files give equal archives, different files different ones")
  func stability() {
    var files: [String: [UInt8]] = [
      "/package.json": Array(#"{"files":["a.js"]}"#.utf8), "/a.js": [0x31], "/b.js": [0x32],
    ]
    let first = NPMPackage.archive(of: files)
    #expect(first != nil)
    files["/b.js"] = [0x33]
    #expect(NPMPackage.archive(of: files) == first)
    files["/a.js"] = [0x33]
    #expect(NPMPackage.archive(of: files) != first)
  }

  @Test("Without a package.json, or with a name that is too long, there is no archive")
  func none() {
    #expect(NPMPackage.archive(of: ["/a.js": [0x31]]) == nil)
    let name = String(repeating: "a", count: 100)
    let files = ["/package.json": Array("{\"files\":[\"\(name)\"]}".utf8), "/\(name)": [0x31]]
    #expect(NPMPackage.archive(of: files) == nil)
  }

  @Test("A server serves the package and the files that programs fetch, also with --public")
  func served() throws {
    let folder = try smallFolder()
    try FileManager.default.createDirectory(
      atPath: folder.file("site"), withIntermediateDirectories: false)
    let (_, address) = try folder.serve("w.sqlite", ["--public", "site"])
    let client = FaultClient(address: address)
    let answer = try client.send("GET", "/livefetch.tgz")
    #expect(answer.status == 200)
    #expect(answer.headers["content-type"] == "application/gzip")
    #expect(answer.body == NPMPackage.archive(of: WebPage.files))
    for path in [
      "/livefetch.js", "/livefetch.d.ts", "/livefetch/transport.js", "/livefetch.py",
      "/conformance.py", "/model-schema.json", "/openapi.html", "/docs/index.html",
    ] {
      let file = try client.send("GET", path)
      #expect(file.status == 200)
      #expect(file.body == WebPage.files[path], "\(path)")
    }
    for path in ["/", "/index.html", "/todo.html", "/package.json"] {
      #expect(try client.send("GET", path).status == 404)
    }
  }
}
