// A stream's bytes → server-sent events.

import FetchModel
import Foundation
import LiveFetchHTTPServer

/// One server-sent event.
struct SentEvent: Equatable {
  var kind = ""
  var id: String?
  var data = ""

  var json: JSON { (try? JSON(parsing: Array(data.utf8))) ?? .null }
  var name: String? { json["name"]?.string }
}

/// Requests the bytes of a stream, without a socket, and reads the events.
final class EventReader {
  private let stream: HTTPStream
  private var received: [UInt8] = []
  private(set) var isOver = false
  /// The largest number of bytes received at once.
  private(set) var largest = 0

  init(_ stream: HTTPStream) { self.stream = stream }

  /// The next event; nil if none arrives in time or the stream has ended.
  func next(seconds: Double = 300) -> SentEvent? {
    let end = Date(timeIntervalSinceNow: seconds)
    while Date() < end {
      if let event = takeEvent() { return event }
      switch stream.next() {
      case .bytes(let bytes):
        largest = max(largest, bytes.count)
        received += bytes
      case .wait: Thread.sleep(forTimeInterval: 0.002)
      case .end:
        isOver = true
        return takeEvent()
      }
    }
    return nil
  }

  /// The next `count` events.
  func next(_ count: Int) -> [SentEvent] { (0..<count).compactMap { _ in next() } }

  private func takeEvent() -> SentEvent? {
    while let end = received.firstRange(of: [0x0A, 0x0A]) {
      let block = String(decoding: received[..<end.lowerBound], as: UTF8.self)
      received.removeSubrange(..<end.upperBound)
      var event = SentEvent()
      for line in block.split(separator: "\n") {
        let parts = line.split(separator: ":", maxSplits: 1)
        guard parts.count == 2 else { continue }
        let value = String(parts[1].dropFirst())
        switch parts[0] {
        case "event": event.kind = value
        case "id": event.id = value
        case "data": event.data += value
        default: break
        }
      }
      if !event.data.isEmpty { return event }
    }
    return nil
  }
}
