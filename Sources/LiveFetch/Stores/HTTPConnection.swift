// A socket for one request: its bytes enter; its answer leaves, or as they are asked for the events of
// a stream. Nothing is read that nobody asked for: a server then notices that its reader is slow, and
// sends one diff for what happened meanwhile. A URL session takes in whatever comes.

import Dispatch
import Foundation
import HTTPAnswers
import Synchronization

/// How long an answer is waited for, in seconds.
struct ConnectionPatience: Sendable {
  /// Until an address has answered.
  var connecting = 10.0
  /// Until the first byte of a stream, or between two of another answer. A server begins a stream at
  /// once, so what comes later was held back on the way.
  var beginning = 10.0
  /// Between two bytes of a stream. A server sends a comment every 15 s.
  var silence = 45.0
}

/// One request and what answers it. Ends when it is closed; until then it keeps itself.
final class HTTPConnection: @unchecked Sendable {
  enum Outcome: Sendable {
    case event(ServerSentEvent)
    /// Not by a stream.
    case answered(RemoteAnswer)
    /// Nothing came, or somebody in between waits for the stream's end.
    case heldBack
    /// The connection could not be made, or broke.
    case ended(String)
    case cancelled
  }
  enum Wish: Sendable { case stream, answer }
  typealias Reader = CheckedContinuation<Outcome, Never>

  /// Names are looked up one after the other: that blocks, and would take every thread there is.
  private static let lookups = DispatchQueue(label: "livefetch.lookups")

  private let wish: Wish
  private let patience: ConnectionPatience
  /// Since when it has told something; nil before.
  private let lasting = Mutex<ContinuousClock.Instant?>(nil)

  // Everything below belongs to the queue. There is one source at a time, and its cancel handler
  // alone closes the descriptor.
  private let queue = DispatchQueue(label: "livefetch.connection", target: .global())
  private var source: (any DispatchSourceProtocol)?
  private var timer: (any DispatchSourceTimer)?
  private var unsent: ArraySlice<UInt8>
  private var isConnected = false
  private var isSuspended = false
  private var lastHeard = ContinuousClock.now
  private var answer = AnswerReader()
  private var events = EventParser()
  private var hasBody = false
  /// The body of an answer that is no stream.
  private var page: [UInt8] = []
  private var ready: [ServerSentEvent] = []
  private var outcome: Outcome?
  private var reader: Reader?
  /// Why the last address did not answer.
  private var refusal = "there is no such host"

  init(
    host: String, port: Int, request: [UInt8], wants wish: Wish,
    patience: ConnectionPatience = .init()
  ) {
    self.wish = wish
    self.patience = patience
    unsent = request[...]
    Self.lookups.async { [self] in
      let addresses = SocketAddress.all(of: host, port: port)
      queue.async { [self] in begin(addresses) }
    }
  }

  /// Whether it has told an event, or been there for a second: then another one is worth a try.
  var hasLasted: Bool {
    lasting.withLock { $0.map { $0.duration(to: .now) >= .seconds(1) } ?? false }
  }

  /// What comes next. One task at a time waits; cancelling it closes the connection.
  func next() async -> Outcome {
    await withTaskCancellationHandler {
      await withCheckedContinuation { reader in queue.async { self.take(reader) } }
    } onCancel: {
      close()
    }
  }

  func close() { queue.async { self.end(.cancelled) } }
}

// MARK: - Readers

extension HTTPConnection {
  private func take(_ reader: Reader) {
    guard self.reader == nil else { return reader.resume(returning: .cancelled) }
    self.reader = reader
    resumeReading()
    deliver()
  }

  private func deliver() {
    guard let reader else { return }
    let next: Outcome? = ready.isEmpty ? outcome : .event(ready.removeFirst())
    guard let next else { return }
    self.reader = nil
    reader.resume(returning: next)
  }

  private func end(_ outcome: Outcome) {
    guard self.outcome == nil else { return }
    self.outcome = outcome
    if case .cancelled = outcome { ready = [] }
    timer?.cancel()
    timer = nil
    // A source that is suspended is never done being cancelled.
    resumeReading()
    source?.cancel()
    deliver()
  }

  private func resumeReading() {
    guard isSuspended else { return }
    isSuspended = false
    lastHeard = .now
    source?.resume()
  }
}

// MARK: - Connecting

extension HTTPConnection {
  private func begin(_ addresses: [SocketAddress]) {
    guard outcome == nil else { return }
    let timer = DispatchSource.makeTimerSource(queue: queue)
    let pace = min(patience.connecting, patience.beginning, patience.silence) / 4
    timer.schedule(deadline: .now() + pace, repeating: pace, leeway: .milliseconds(200))
    timer.setEventHandler { [weak self] in self?.checkTime() }
    self.timer = timer
    timer.resume()
    connect(addresses[...])
  }

  private func connect(_ addresses: ArraySlice<SocketAddress>) {
    guard outcome == nil else { return }
    guard let address = addresses.first else { return end(.ended(refusal)) }
    let rest = addresses.dropFirst()
    guard let descriptor = address.startConnecting() else {
      refusal = SocketAddress.lastError
      return connect(rest)
    }
    lastHeard = .now
    let source = DispatchSource.makeWriteSource(fileDescriptor: descriptor, queue: queue)
    source.setEventHandler { [self] in write(to: descriptor) }
    source.setCancelHandler { [self] in
      self.source = nil
      if outcome == nil, isConnected { return read(from: descriptor) }
      SocketAddress.close(descriptor)
      connect(rest)
    }
    self.source = source
    source.resume()
  }

  private func write(to descriptor: Int32) {
    guard outcome == nil else { return }
    if !isConnected {
      if let error = SocketAddress.connectError(of: descriptor) {
        refusal = error
        source?.cancel()
        return
      }
      isConnected = true
    }
    guard let count = SocketAddress.send(unsent, to: descriptor) else {
      return end(.ended(SocketAddress.lastError))
    }
    unsent = unsent.dropFirst(count)
    lastHeard = .now
    if unsent.isEmpty { source?.cancel() }
  }

  private func checkTime() {
    let silence = lastHeard.duration(to: .now) / .seconds(1)
    if !isConnected {
      guard silence > patience.connecting else { return }
      refusal = "no answer in \(Int(patience.connecting)) s"
      source?.cancel()
    } else if !hasBody {
      if silence > patience.beginning { end(.heldBack) }
    } else {
      if silence > patience.silence, !isSuspended { end(.ended("the stream went silent")) }
    }
  }
}

// MARK: - Reading

extension HTTPConnection {
  private func read(from descriptor: Int32) {
    let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
    source.setEventHandler { [self] in readMore(from: descriptor) }
    source.setCancelHandler { [self] in
      SocketAddress.close(descriptor)
      self.source = nil
    }
    self.source = source
    source.resume()
  }

  private func readMore(from descriptor: Int32) {
    guard outcome == nil, !isSuspended else { return }
    switch SocketAddress.receive(from: descriptor) {
    case .bytes(let bytes): take(bytes)
    case .none: break
    case .end: takeEnd()
    case .failed: end(.ended(SocketAddress.lastError))
    }
    guard outcome == nil, !ready.isEmpty, reader == nil else { return }
    isSuspended = true
    source?.suspend()
  }

  private func take(_ bytes: [UInt8]) {
    lastHeard = .now
    let body: [UInt8]
    do throws(AnswerReader.Fault) {
      body = try answer.read(bytes)
    } catch {
      return end(.ended(error.reason))
    }
    guard let head = answer.head else { return }
    if head.isStream {
      takeEvents(body)
    } else {
      page += body
      // In a stream's place nobody has much to say.
      let isEnough = wish == .stream && page.count > 1 << 20
      if answer.isOver || isEnough { takeEnd() }
    }
  }

  private func takeEvents(_ body: [UInt8]) {
    if !body.isEmpty, !hasBody {
      hasBody = true
      lasting.withLock { $0 = .now }
      // From now on silence alone is looked for.
      let pace = patience.silence / 4
      timer?.schedule(deadline: .now() + pace, repeating: pace, leeway: .milliseconds(200))
    }
    let new = events.read(body)
    if !new.isEmpty { lasting.withLock { $0 = .now - .seconds(1) } }
    ready += new
    deliver()
    if answer.isOver { end(.ended("the stream ended")) }
  }

  private func takeEnd() {
    guard let head = answer.head, !head.isStream, answer.mayEnd else {
      return end(.ended("the connection was closed in the middle of an answer"))
    }
    end(
      .answered(
        RemoteAnswer(
          status: head.status, body: page, retryAfter: head.headers["retry-after"])))
  }
}

extension AnswerReader.Head {
  /// Whether events follow.
  fileprivate var isStream: Bool {
    status == 200
      && headers["content-type"]?.lowercased().hasPrefix("text/event-stream") == true
      && headers["content-encoding"] == nil
  }
}
