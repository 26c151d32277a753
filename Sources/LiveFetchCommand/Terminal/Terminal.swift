// What standard output and standard error are: a terminal with colours and a width, or a file.

import ArgumentParser
import Foundation

/// One of the process's outputs.
struct Terminal: Sendable {
  let descriptor: Int32
  let isTerminal: Bool
  /// Whether it shows colours: a terminal that is not dumb, and nobody set `NO_COLOR`.
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

  /// Columns and rows; 80 and 24 where it does not say.
  var size: (columns: Int, rows: Int) {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
      return (80, 24)
    }
    return (Int(size.ws_col), Int(size.ws_row))
  }

  /// Writes all of `text`; false where nobody reads any more.
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

  /// Ends a command whose output could not be written, as `errno` says.
  static func unwritable() -> ExitCode {
    failure("standard output: \(String(cString: strerror(errno)))", .failed)
  }

  func paint(_ text: String, _ style: Style) -> String {
    hasColors ? "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m" : text
  }

  /// What text can look like. The sixteen colours that every theme has.
  enum Style: String {
    case bold = "1"
    case dim = "2"
    case inverse = "7"
    case red = "31"
    case green = "32"
    case yellow = "1;33"
    case blue = "34"
    case struck = "9;31"
  }
}
