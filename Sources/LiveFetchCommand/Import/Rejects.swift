// Refused rows → messages for the user, and a file of the original rows, which can be corrected and
// imported again.

import Foundation
import LiveFetchCLibrary

/// The refused rows so far.
struct Rejects {
  /// The number of rows that are reported individually.
  static let shown = 20

  private let file: OutputFile?
  private var output: Terminal?
  private(set) var count = 0
  /// The header of the imported files, which begins the file of refused rows; nil before the first input.
  private var heading: [UInt8]?

  init(path: String?) throws {
    file = path.map { OutputFile(path: $0) }
    output = try file?.create()
  }

  /// Sets the heading of the following rows. Ends the command if refused rows are kept and the first
  /// input had another heading.
  mutating func use(heading: [UInt8], of name: String) throws {
    if file != nil, let first = self.heading, Self.trimmed(first) != Self.trimmed(heading) {
      throw failure(
        "\(name): has another heading than the first file, so --rejects cannot keep its rows below it: "
          + "import it by itself", .usage)
    }
    if self.heading == nil { self.heading = heading }
  }

  private static func trimmed(_ line: [UInt8]) -> ArraySlice<UInt8> {
    var rest = line[...]
    while rest.last == 0x0A || rest.last == 0x0D { rest.removeLast() }
    return rest
  }

  mutating func add(_ raw: [UInt8], _ reason: String) throws {
    count += 1
    if count <= Self.shown {
      printError(reason)
    } else if count == Self.shown + 1 {
      printError("… further refused rows are not shown")
    }
    guard let file, let output else { return }
    var bytes = count == 1 ? Self.line(heading ?? []) : []
    bytes += Self.line(raw)
    guard output.write(bytes) else { throw file.unwritable() }
  }

  private static func line(_ bytes: [UInt8]) -> [UInt8] {
    bytes.isEmpty || bytes.last == 0x0A ? bytes : bytes + [0x0A]
  }

  /// Closes the file, and removes it if no row was refused.
  mutating func close() {
    guard let file, let output else { return }
    _ = LiveFetchCLibrary.close(output.descriptor)
    self.output = nil
    if count == 0 { file.remove() }
  }
}
