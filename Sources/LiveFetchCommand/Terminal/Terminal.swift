// Standard output and standard error: a terminal with colours and a width, or a file.

import ArgumentParser
import Foundation

/// An output of the process.
struct Terminal: Sendable {
  let descriptor: Int32
  let isTerminal: Bool
  /// True for a terminal that is not dumb, unless `NO_COLOR` is set.
  let hasColors: Bool

  static let output = Terminal(STDOUT_FILENO)
  static let errors = Terminal(STDERR_FILENO)

  private init(_ descriptor: Int32) {
    let environment = ProcessInfo.processInfo.environment
    self.descriptor = descriptor
    isTerminal = isatty(descriptor) == 1
    let isPlain = environment["NO_COLOR"].map { !$0.isEmpty } ?? false
    hasColors = isTerminal && !isPlain && environment["TERM"] != "dumb"
  }

  /// Columns and rows; 80 and 24 if the terminal does not report them.
  var size: (columns: Int, rows: Int) {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
      return (80, 24)
    }
    return (Int(size.ws_col), Int(size.ws_row))
  }

  /// Writes all of `text`; returns false if the reader closed the output.
  @discardableResult
  func write(_ text: String) -> Bool { write(Array(text.utf8)) }

  @discardableResult
  func write(_ bytes: [UInt8]) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }

  /// Writes all of `bytes`, or ends the command.
  func put(_ bytes: [UInt8]) throws {
    guard !write(bytes) else { return }
    throw Self.unwritable()
  }

  /// Returns the exit code of a command whose output failed, and prints the error in `errno`.
  static func unwritable() -> ExitCode {
    failure("standard output: \(String(cString: strerror(errno)))", .failed)
  }

  func paint(_ text: String, _ style: Style) -> String {
    hasColors ? "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m" : text
  }

  /// Text styles: bold, dim and the colours of the standard palette.
  enum Style: String {
    case bold = "1"
    case dim = "2"
    case inverse = "7"
    case green = "32"
    case yellow = "1;33"
    case blue = "34"
    case struck = "9;31"
  }
}
