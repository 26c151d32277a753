// Events of swift-log → lines on standard error, as text or as JSON.
//
// Promises: logging never waits for the reader of standard error: lines that it is behind with are
// dropped beyond a bound, and their number is logged. A line holds no line break and no invisible character.

import FetchModel
import Foundation
import LiveFetchThreads
import Logging
import Synchronization

/// The forms of a line.
enum LogFormat: String {
  case text, json
}

/// Writes each event as one line.
struct LineLogHandler: LogHandler {
  let format: LogFormat
  let output: LogOutput
  var logLevel = Logger.Level.info
  var metadata: Logger.Metadata = [:]

  init(_ format: LogFormat, _ output: LogOutput = .errors) {
    self.format = format
    self.output = output
  }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    let time = Instant.now.iso8601Milliseconds
    let entries = metadata.merging(event.metadata ?? [:]) { $1 }
    let line =
      format == .json ? Self.json(time, event, entries) : Self.text(time, event, entries)
    output.write(line.escapingInvisible)
  }

  /// The entries of a request in the order of a line; others follow, sorted.
  private static let order = [
    "id", "method", "route", "status", "ms", "caller", "refusal", "address", "items", "bytes",
    "token",
  ]

  private static func sorted(_ entries: Logger.Metadata) -> [(String, Logger.MetadataValue)] {
    let known = order.compactMap { name in entries[name].map { (name, $0) } }
    return known + entries.filter { !order.contains($0.key) }.sorted { $0.key < $1.key }
  }

  private static func json(
    _ time: String, _ event: LogEvent, _ entries: Logger.Metadata
  ) -> [UInt8] {
    var members: [JSON.Member] = [
      .init(name: "time", value: .string(time)),
      .init(name: "level", value: .string(event.level.rawValue)),
      .init(name: "message", value: .string(event.message.description)),
    ]
    for (name, value) in sorted(entries) {
      switch value {
      case .stringConvertible(let number) where number is Int || number is Double:
        members.append(.init(name: name, value: .number(number.description)))
      default: members.append(.init(name: name, value: .string(value.description)))
      }
    }
    var line: [UInt8] = []
    line.append(json: .object(members))
    return line
  }

  private static func text(
    _ time: String, _ event: LogEvent, _ entries: Logger.Metadata
  ) -> [UInt8] {
    var line = Array("\(time) \(event.level.rawValue) \(event.message.description.onOneLine)".utf8)
    for (name, value) in sorted(entries) {
      line += Array(" \(name)=".utf8)
      let text = value.description
      if !text.isEmpty, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != 0x22 }) {
        line += Array(text.utf8)
      } else {
        line.append(jsonString: text)
      }
    }
    return line
  }
}

/// Standard error, written by a thread of its own.
final class LogOutput: Sendable {
  static let errors = LogOutput { _ = Terminal.errors.write($0) }

  private static let maxWaiting = 8_192
  private let pool = ThreadPool(name: "livefetch-log", threads: 1, queue: maxWaiting)
  private let dropped = Atomic<Int>(0)
  private let put: @Sendable ([UInt8]) -> Void

  init(put: @escaping @Sendable ([UInt8]) -> Void) { self.put = put }

  /// Writes a line soon.
  func write(_ line: [UInt8]) {
    let isTaken = pool.run { [self] in
      let count = dropped.exchange(0, ordering: .relaxed)
      if count > 0 { put(Array("livefetch: \(count) lines of the log were dropped\n".utf8)) }
      put(line + [0x0A])
    }
    if !isTaken { dropped.add(1, ordering: .relaxed) }
  }

  /// Waits until every line has been written, at most this long: nobody may read them. Later lines are
  /// not written.
  func finish(seconds: Double) { pool.finish(seconds: seconds) }
}
