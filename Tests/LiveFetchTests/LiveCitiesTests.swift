// The tutorial's program, run as one.

import Foundation
import Synchronization
import TestSupport
import Testing

#if canImport(Glibc)
  import Glibc
#endif

@Suite("The live table", .mayBlock)
struct LiveCitiesTests {
  /// Everything that a program wrote so far.
  private final class Output: Sendable {
    private let bytes = Mutex(Data())
    func append(_ data: Data) { bytes.withLock { $0.append(data) } }
    var text: String { bytes.withLock { String(decoding: $0, as: UTF8.self) } }
  }

  @Test("draws again when a save arrives, and ends at an interrupt")
  func drawing() async throws {
    let directory = try TemporaryDirectory()
    defer { withExtendedLifetime(directory) {} }
    let path = directory.file("store.sqlite")
    try sqlite(path, Cities.schema)
    let (table, output, pipe) = (Process(), Output(), Pipe())
    table.executableURL = BuiltProgram.named("LiveCities")
    table.arguments = [path]
    table.standardOutput = pipe
    try table.run()
    // A handler of the file handle may run while its descriptor is closed, which ends the process.
    Thread.detachNewThread {
      while case let data = pipe.fileHandleForReading.availableData, !data.isEmpty {
        output.append(data)
      }
    }
    defer { if table.isRunning { kill(table.processIdentifier, SIGKILL) } }
    try await appears("5 cities", in: output)
    #expect(output.text.hasPrefix("  Tokyo                            900  Japan\n"))
    #expect(!output.text.contains("\u{1B}"))
    try sqlite(path, "UPDATE City SET population = 950 WHERE name = 'Cusco'")
    try await appears("* Cusco                            950  Peru\n", in: output)
    kill(table.processIdentifier, SIGINT)
    table.waitUntilExit()
    #expect(table.terminationStatus == 0)
  }

  private func appears(_ text: String, in output: Output) async throws {
    try await eventually { output.text.contains(text) }
    #expect(output.text.contains(text), "\(output.text)")
  }
}
