// Refused rows → messages for the user, and a file of the original rows, which can be corrected and
// imported again.

import ArgumentParser
import Foundation

/// The refused rows so far.
struct Rejects {
  /// The number of rows that are reported individually.
  static let shown = 20

  private let path: String?
  private var file: FileHandle?
  private(set) var count = 0
  /// The first bytes of the file.
  var heading: [UInt8] = []

  init(path: String?) throws {
    self.path = path
    guard let path, FileManager.default.createFile(atPath: path, contents: nil) else {
      guard let path else { return }
      throw failure("\(path): cannot be written", .failed)
    }
    file = FileHandle(forWritingAtPath: path)
  }

  mutating func add(_ raw: [UInt8], _ reason: String) throws {
    count += 1
    if count <= Self.shown {
      printError(reason)
    } else if count == Self.shown + 1 {
      printError("… further refused rows are not shown")
    }
    guard let file else { return }
    var bytes = count == 1 ? Self.line(heading) : []
    bytes += Self.line(raw)
    do {
      try file.write(contentsOf: Data(bytes))
    } catch {
      throw failure("\(path ?? ""): cannot be written", .failed)
    }
  }

  private static func line(_ bytes: [UInt8]) -> [UInt8] {
    bytes.isEmpty || bytes.last == 0x0A ? bytes : bytes + [0x0A]
  }

  /// Removes the file if no row was refused.
  mutating func close() {
    try? file?.close()
    file = nil
    if count == 0, let path { try? FileManager.default.removeItem(atPath: path) }
  }
}
