// The body of an event stream, as the network cuts it → server-sent events.

/// An event that is complete.
struct ServerSentEvent: Sendable, Equatable {
  var name = "message"
  var data: [UInt8] = []
}

/// Reads events; what is under way when the bytes end is no event.
struct EventParser {
  private var line: [UInt8] = []
  private var endedInCR = false
  private var event = ServerSentEvent()
  private var hasData = false

  /// The events that `bytes` complete. O(bytes).
  mutating func read(_ bytes: some Collection<UInt8>) -> [ServerSentEvent] {
    var events: [ServerSentEvent] = []
    var rest = bytes[...]
    // The second half of a CRLF that the network cut.
    if endedInCR, rest.first == Self.lf { rest = rest.dropFirst() }
    if !rest.isEmpty { endedInCR = false }
    while let end = rest.firstIndex(where: { $0 == Self.lf || $0 == Self.cr }) {
      line += rest[..<end]
      let isCR = rest[end] == Self.cr
      rest = rest[rest.index(after: end)...]
      if isCR {
        endedInCR = rest.isEmpty
        if rest.first == Self.lf { rest = rest.dropFirst() }
      }
      take(&events)
    }
    line += rest
    return events
  }

  private mutating func take(_ events: inout [ServerSentEvent]) {
    defer { line.removeAll(keepingCapacity: true) }
    guard line.isEmpty else { return takeField() }
    if hasData { events.append(event) }
    (event, hasData) = (ServerSentEvent(), false)
  }

  private mutating func takeField() {
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
