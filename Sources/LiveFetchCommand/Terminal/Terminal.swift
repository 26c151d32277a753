// Standard output and standard error: a terminal with colours and a width, or a file.

import ArgumentParser
import Foundation
import LiveFetchCLibrary

/// An output of the process, or a file.
struct Terminal: Sendable {
  let descriptor: Int32
  let isTerminal: Bool
  /// True for a terminal that is not dumb, unless `NO_COLOR` is set.
  let hasColors: Bool

  static let output = Terminal(STDOUT_FILENO)
  static let errors = Terminal(STDERR_FILENO)

  init(_ descriptor: Int32) {
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

  /// Writes all of `text`; returns false and sets `errno` if it cannot be written.
  @discardableResult
  func write(_ text: String) -> Bool { write(Array(text.utf8)) }

  @discardableResult
  func write(_ bytes: [UInt8]) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes {
        LiveFetchCLibrary.write(descriptor, $0.baseAddress, $0.count)
      }
      if count < 0, errno == EINTR || awaitsSpace() { continue }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }

  /// If `errno` says that a non-blocking output is full, waits until its reader has read, and
  /// returns true.
  private func awaitsSpace() -> Bool {
    guard errno == EAGAIN else { return false }
    var state = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    return poll(&state, 1, -1) > 0 || errno == EINTR
  }

  /// Writes all of `bytes`, or ends the command.
  func put(_ bytes: [UInt8]) throws {
    guard !write(bytes) else { return }
    throw Self.unwritable()
  }

  /// Prints the error in `errno`. Returns the exit code of a command whose output failed.
  static func unwritable() -> ExitCode {
    failure("standard output: \(String(cString: strerror(errno)))", .failed)
  }

  func paint(_ text: String, _ style: Style) -> String {
    hasColors ? "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m" : text
  }

  /// Text attributes and colours, as parameters of the escape sequence `ESC [ … m`.
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
