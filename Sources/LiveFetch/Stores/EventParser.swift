// The body of an event stream, in pieces of any size → server-sent events.

/// A complete event.
struct ServerSentEvent: Sendable, Equatable {
  var name = "message"
  var data: [UInt8] = []
}

/// Reads events. An incomplete one at the end of the bytes is not returned.
struct EventParser {
  private var line: [UInt8] = []
  private var endedInCR = false
  private var event = ServerSentEvent()
  private var hasData = false

  /// Returns the events that `bytes` complete. O(bytes).
  mutating func read(_ bytes: some Collection<UInt8>) -> [ServerSentEvent] {
    var events: [ServerSentEvent] = []
    var rest = bytes[...]
    // The second half of a CRLF whose first half ended the piece before.
    if endedInCR, let first = rest.first {
      endedInCR = false
      if first == Self.lf { rest = rest.dropFirst() }
    }
    while let end = rest.firstIndex(where: { $0 == Self.lf || $0 == Self.cr }) {
      line += rest[..<end]
      let isCR = rest[end] == Self.cr
      rest = rest[rest.index(after: end)...]
      if isCR {
        endedInCR = rest.isEmpty
        if rest.first == Self.lf { rest = rest.dropFirst() }
      }
      readLine(&events)
    }
    line += rest
    return events
  }

  private mutating func readLine(_ events: inout [ServerSentEvent]) {
    defer { line.removeAll(keepingCapacity: true) }
    guard line.isEmpty else { return readField() }
    if hasData { events.append(event) }
    (event, hasData) = (ServerSentEvent(), false)
  }

  private mutating func readField() {
    let colon = line.firstIndex(of: 0x3A) ?? line.endIndex
    var value = line[colon...].dropFirst()
    if value.first == 0x20 { value = value.dropFirst() }
    switch String(decoding: line[..<colon], as: UTF8.self) {
    case "event": event.name = String(decoding: value, as: UTF8.self)
    case "data":
      if hasData { event.data.append(Self.lf) }
      event.data += value
      hasData = true
    default: break
    }
  }

  private static let lf: UInt8 = 0x0A
  private static let cr: UInt8 = 0x0D
}
