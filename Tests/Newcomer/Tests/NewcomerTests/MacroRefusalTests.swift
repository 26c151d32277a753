// Compiles classes that the macro @Entity refuses, and reads the compiler's messages.

import Foundation
import Testing

struct `The macro @Entity` {
  /// The macro's program, which the build places beside the tests.
  private nonisolated static let plugin = URL(fileURLWithPath: CommandLine.arguments[0])
    .deletingLastPathComponent().appendingPathComponent("LiveFetchMacros-tool").path

  @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: plugin)))
  func `refuses a class below another entity with one message`() throws {
    let errors = try errors("@Entity final class City: Place { var size = 1 }")
    #expect(errors.count == 1)
    #expect(
      errors.first?.contains("@Entity is for a class that inherits from ManagedObject directly")
        == true)
  }

  @Test(
    .enabled(if: FileManager.default.isExecutableFile(atPath: plugin)),
    arguments: [
      ("var x = 0, y = 0", "@Entity needs a declaration of its own for each of: x, y"),
      ("let size = 5", "declare `size` with var, or mark it @Transient"),
      ("weak var owner: City?", "declare `owner` with var, or mark it @Transient"),
      (
        "\n#if LARGE\nvar size = 5\n#endif\n",
        "declare `size` outside, or mark it @Transient"
      ),
      (
        "\n#if os(Linux)\n#if LARGE\n#else\nvar area: Int?\n#endif\n#endif\n",
        "declare `area` outside, or mark it @Transient"
      ),
    ])
  func `refuses properties that it could not store`(property: String, message: String) throws {
    let errors = try errors("@Entity final class City: ManagedObject { \(property) }")
    #expect(errors.contains { $0.contains(message) }, "\(errors)")
  }

  /// The errors of the compiler for a declaration.
  private func errors(_ declaration: String) throws -> [Substring] {
    let file = FileManager.default.temporaryDirectory
      .appendingPathComponent("\(UUID().uuidString).swift")
    defer { try? FileManager.default.removeItem(at: file) }
    try Data(
      """
      @attached(member, names: arbitrary) @attached(memberAttribute)
      macro Entity() = #externalMacro(module: "LiveFetchMacros", type: "EntityMacro")
      class ManagedObject {}
      class Place: ManagedObject {}
      \(declaration)
      """.utf8
    ).write(to: file)
    let compiler = Process()
    compiler.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    compiler.arguments = [
      "swiftc", "-typecheck", "-load-plugin-executable", "\(Self.plugin)#LiveFetchMacros",
      file.path,
    ]
    let pipe = Pipe()
    compiler.standardError = pipe
    try compiler.run()
    let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
    compiler.waitUntilExit()
    return String(decoding: output, as: UTF8.self).split(separator: "\n")
      .filter { $0.hasPrefix("\(file.path):5:") && $0.contains("error: ") }
  }
}
