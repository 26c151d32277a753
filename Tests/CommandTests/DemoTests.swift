// The text that `livefetch demo` prints.

import Foundation
import TestSupport
import Testing

@testable import LiveFetchCommand

@Suite("What `livefetch demo` prints", .mayBlock)
struct DemoTests {
  @Test("A program without its folder of resources names the missing file")
  func withoutResources() throws {
    let folder = try Folder()
    try FileManager.default.copyItem(
      at: BuiltProgram.named("livefetch"), to: URL(fileURLWithPath: folder.file("livefetch")))
    let program = Process()
    program.executableURL = URL(fileURLWithPath: folder.file("livefetch"))
    program.arguments = ["demo", "--data", folder.file("demo.sqlite"), "--port", "0"]
    let errors = Pipe()
    program.standardError = errors
    try program.run()
    let text = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    program.waitUntilExit()
    #expect(program.terminationStatus == 74)
    #expect(
      text.hasSuffix(
        "the program's own file world.json is missing; it belongs beside the program\n"))
    #expect(!folder.has("demo.sqlite"))
  }

  @Test("An empty path is refused before the sample is loaded")
  func emptyPath() throws {
    let folder = try Folder()
    let outcome = try folder.run("demo", "--data", "", "--port", "0")
    #expect(outcome.status == 64)
    #expect(outcome.errors == "livefetch: --data: the path is empty\n")
  }

  @Test("The commands name an address of this machine, and the token if there is one")
  func greeting() {
    #expect(
      Demo.greeting(.heroes, at: "http://127.0.0.1:8080", needsToken: false) == """


        Open http://127.0.0.1:8080/ in two browser windows.

        Try it: curl http://127.0.0.1:8080/v1/model
        """)
    #expect(
      Demo.greeting(.todo, at: "https://[::]:9000", needsToken: false)
        .hasSuffix("Try it: curl https://[::1]:9000/v1/model"))
    let world = Demo.greeting(.world, at: "http://0.0.0.0:8080", needsToken: true)
    #expect(!world.contains("0.0.0.0"))
    let commands = world.split(separator: "\n").filter { $0.hasPrefix("  curl ") }
    #expect(commands.count == 3)
    #expect(
      commands.allSatisfy {
        $0.hasPrefix(#"  curl -H "Authorization: Bearer $LIVEFETCH_TOKEN" "#)
          && $0.contains("http://127.0.0.1:8080/v1/objects/City")
      })
  }
}
