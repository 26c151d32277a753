import Foundation
import TestSupport
import Testing
import WebPage

@Suite("The web page in the program", .mayBlock)
struct WebPageTests {
  @Test("Every file of Public is carried as it is")
  func files() throws {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Public")
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
}
