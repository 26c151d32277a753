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

  @Test("With --public the page of the OpenAPI document has every file that it loads")
  func openAPIPage() throws {
    let server = try FaultServer(smallFixture, ["--public", "."])
    var unread = ["/openapi.html"]
    var read: Set<String> = []
    while let path = unread.popLast() {
      guard read.insert(path).inserted else { continue }
      let file = try server.client.send("GET", path)
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
    #expect(server.end() == 0)
  }

  @Test("A file of the directory takes the place of the program's of the same name")
  func ownFile() throws {
    let folder = try Folder()
    try folder.sql(smallFixture, on: "w.sqlite")
    try FileManager.default.createDirectory(
      atPath: folder.file("site"), withIntermediateDirectories: false)
    try folder.write("own client", to: "site/livefetch.py")
    let (_, address) = try folder.serve("w.sqlite", ["--public", "site"])
    let client = FaultClient(address: address)
    #expect(try client.send("GET", "/livefetch.py").body == Array("own client".utf8))
    #expect(
      try client.send("GET", "/conformance.py").body == WebPage.files["/conformance.py"])
  }
}
