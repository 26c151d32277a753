// Refused rows → messages for the user, and a file of the original rows, which can be corrected and
// imported again.

import Foundation
import LiveFetchCLibrary

/// The refused rows so far.
struct Rejects {
  /// The number of rows that are reported individually.
  static let shown = 20

  private let file: OutputFile?
  /// The rows until the end of the import; nil if the file is a device or a pipe, which is written itself.
  private let draft: OutputFile.Draft?
  private var output: Terminal?
  private(set) var count = 0
  /// The header of the imported files, which begins the file of refused rows; nil before the first input.
  private var heading: [UInt8]?
  /// The format of the rows; nil before the first input.
  private var format: RecordFormat?

  init(path: String?) throws {
    file = path.map { OutputFile(path: $0) }
    let opened = try file?.createDraft()
    (output, draft) = (opened?.output, opened?.draft)
  }

  /// Sets the heading and the format of the following rows. Ends the command if refused rows are kept and
  /// the first input had another heading.
  mutating func use(heading: [UInt8], format: RecordFormat, of name: String) throws {
    if file != nil, let first = self.heading, Self.trimmed(first) != Self.trimmed(heading) {
      throw failure(
        "\(name): has another heading than the first file, so --rejects cannot keep its rows below it: "
          + "import it by itself", .usage)
    }
    if self.heading == nil { (self.heading, self.format) = (heading, format) }
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

  /// Gives the file its name. Without refused rows an existing file stays as it is.
  mutating func keep() throws {
    guard count > 0, let file else { return discard() }
    guard close(), draft?.complete() ?? true else {
      let error = file.unwritable()
      draft?.delete()
      throw error
    }
  }

  /// Removes the draft. An existing file stays as it is.
  mutating func discard() {
    guard output != nil else { return }
    _ = close()
    draft?.delete()
  }

  /// Returns false and sets `errno` if the file cannot be written. Standard output stays open.
  private mutating func close() -> Bool {
    defer { output = nil }
    guard let output, output.descriptor > STDERR_FILENO else { return true }
    return LiveFetchCLibrary.close(output.descriptor) == 0
  }

  /// Says how to import the file again if its name suggests another format than its rows have.
  var advice: String? {
    guard count > 0, let file, let format, let named = RecordFormat(path: file.path),
      named != format
    else { return nil }
    return "\(file.path): is \(format.rawValue.uppercased()), not \(named.rawValue.uppercased()): "
      + "import it with --format \(format.rawValue)"
  }
}
