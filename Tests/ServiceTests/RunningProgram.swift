// The built program, started by a test.

import Foundation
import TestSupport

/// The running program, after its first line of output.
struct RunningProgram {
  let process = Process()
  private(set) var line = ""

  /// - Parameter directory: the working directory; nil for that of the tests.
  init(_ arguments: [String], in directory: String? = nil) throws {
    let output = Pipe()
    if let directory { process.currentDirectoryURL = URL(fileURLWithPath: directory) }
    process.executableURL = BuiltProgram.named("livefetch")
    process.arguments = arguments
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    while let byte = try output.fileHandleForReading.read(upToCount: 1), byte != Data([10]) {
      guard !byte.isEmpty else { break }
      line += String(decoding: byte, as: UTF8.self)
    }
  }

  /// Waits for its end and returns its status.
  func end() -> Int32 {
    process.waitUntilExit()
    return process.terminationStatus
  }
}
