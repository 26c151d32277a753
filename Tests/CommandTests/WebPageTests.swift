// The files of `Public/` that are built into the program.

import Foundation
import TestSupport
import Testing
import WebPage

@Suite("The web page in the program", .mayBlock)
struct WebPageTests {
  @Test("Every file of Public is carried as it is")
  func files() throws {
    let folder = ManualPage.root.appendingPathComponent("Public")
    let names = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String }
    var onDisk: [String: Data] = [:]
    for name in names ?? [] where !name.split(separator: "/").contains(where: { $0.hasPrefix(".") })
    {
      var isDirectory: ObjCBool = false
      let path = folder.appendingPathComponent(name).path
      guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory),
        !isDirectory.boolValue
      else { continue }
      onDisk["/" + name] = try Data(contentsOf: URL(fileURLWithPath: path))
    }
    #expect(onDisk.count > 50)
    #expect(WebPage.files.mapValues { Data($0) } == onDisk)
  }

  @Test("Every name that a module of the page imports is exported by the module that it names")
  func imports() throws {
    var count = 0
    for (path, bytes) in WebPage.files where path.hasSuffix(".js") {
      let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
      let text = String(decoding: bytes, as: UTF8.self)
      for found in text.matches(of: /import\s*\{([^}]*)\}\s*from\s*['"](\.[^'"]+)['"]/) {
        let target = folder.appendingPathComponent(String(found.output.2)).standardized.path
        let module = String(decoding: WebPage.files[target] ?? [], as: UTF8.self)
        for item in found.output.1.split(separator: ",") {
          guard let name = item.split(whereSeparator: \.isWhitespace).first else { continue }
          let declared = try Regex(
            #"export\s+(async\s+)?(function\*?|class|const|let)\s+\#(name)\b"#)
          let listed = try Regex(#"export\s*\{[^}]*\b\#(name)\b"#)
          #expect(
            module.contains(declared) || module.contains(listed), "\(path): \(name) of \(target)")
          count += 1
        }
      }
    }
    #expect(count > 100)
  }

  @Test("With --public the page of the OpenAPI document has every file that it loads")
  func openAPIPage() throws {
    let (folder, address) = try served()
    let client = FaultClient(address: address)
    defer { withExtendedLifetime(folder) {} }
    var unread = ["/openapi.html"]
    var read: Set<String> = []
    while let path = unread.popLast() {
      guard read.insert(path).inserted else { continue }
      let file = try client.send("GET", path)
      #expect(file.status == 200, "\(path)")
      let text = String(decoding: file.body, as: UTF8.self)
      let linked = text.matches(of: /<(?:link|script)[^>]* (?:href|src)="([^"]+)"/).map(\.output.1)
      let imported = text.matches(
        of: /^(?:import|export|\}).* from '([^']+)';/.anchorsMatchLineEndings()
      )
      .map(\.output.1)
      for name in linked + imported {
        let address = try #require(
          URL(string: String(name), relativeTo: URL(string: "file://" + path)))
        unread.append(address.path)
      }
    }
    #expect(read.contains("/explorer/openapi.js"))
    #expect(read.contains("/explorer/dom.js"))
    #expect(read.contains("/explorer/openapi.css"))
  }

  @Test("A file of the directory takes the place of the program's of the same name")
  func ownFile() throws {
    let (folder, address) = try served()
    try folder.write("own client", to: "site/livefetch.py")
    let client = FaultClient(address: address)
    #expect(try client.send("GET", "/livefetch.py").body == Array("own client".utf8))
    #expect(
      try client.send("GET", "/conformance.py").body == WebPage.files["/conformance.py"])
  }

  @Test(
    "A file that the server itself uses is not served: its place below --public is refused",
    arguments: [
      (["serve", "site/w.sqlite"], "site", "site/w.sqlite"),
      (["serve", "link.sqlite"], "site", "link.sqlite"),
      (["serve", "w.sqlite"], ".", "w.sqlite"),
      (["serve", "w.sqlite", "--token-file", "site/token"], "site", "site/token"),
      (["serve", "w.sqlite", "--backup-every", "1h", "--backup-to", "site/b"], "site", "site/b"),
      (["demo", "--data", "site/new.sqlite"], "site", "site/new.sqlite"),
      (["serve", "w.sqlite", "--config", "site/settings.json"], "site", "site/settings.json"),
    ])
  func ownFiles(words: [String], directory: String, file: String) throws {
    let folder = try folder()
    try folder.sql(smallFixture, on: "site/w.sqlite")
    try FileManager.default.createSymbolicLink(
      atPath: folder.file("link.sqlite"), withDestinationPath: "site/w.sqlite")
    try folder.write("secret", to: "site/token")
    try folder.write(#"{"max-items": 100}"#, to: "site/settings.json")
    let run = try folder.run(words + ["--port", "0", "--public", directory])
    #expect(run.status == 64)
    #expect(
      run.errors
        == "livefetch: \(file) is below --public \(directory), whose files everyone can read: move it, or serve another directory\n"
    )
  }

  @Test("A hard link below --public to a file that the server itself uses is not served")
  func hardLinks() throws {
    let folder = try folder()
    try folder.write("secret", to: "token")
    try folder.write("[]", to: "audit.log")
    try folder.write("text", to: "site/a.txt")
    let (_, address) = try folder.serve(
      "w.sqlite", ["--public", "site", "--token-file", "token", "--audit", "audit.log"])
    let files = ["w.sqlite", "w.sqlite-wal", "token", "audit.log"]
    for (name, place) in files.map({ ($0, $0 + ".txt") }) + [("site/a.txt", "b.txt")] {
      try FileManager.default.linkItem(
        atPath: folder.file(name), toPath: folder.file("site/" + place))
    }
    let client = FaultClient(address: address)
    for file in files {
      #expect(try client.send("GET", "/\(file).txt").status == 404, "\(file)")
    }
    #expect(try client.send("GET", "/b.txt").body == Array("text".utf8))
  }

  /// A store, and a directory of files for `--public`.
  private func folder() throws -> Folder {
    let folder = try smallFolder()
    try FileManager.default.createDirectory(
      atPath: folder.file("site"), withIntermediateDirectories: false)
    return folder
  }

  private func served() throws -> (Folder, String) {
    let folder = try folder()
    return (folder, try folder.serve("w.sqlite", ["--public", "site"]).1)
  }
}
