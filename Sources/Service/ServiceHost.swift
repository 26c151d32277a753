// A store whose model may change while clients are connected → one service after the other, behind
// one handler.
//
// Each service knows one model and nothing of others: plans, live fetches and kept snapshots belong
// to it. When what is stored is not any more what was opened, the service ends and another one is
// opened. Requests that come in between wait for it; whoever waited for a change goes on there from
// the moment that it has, as far as the history of what it asks does.

import FetchModel
import HTTPServer
import Synchronization
import Threads

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Serves a store, and opens it anew when it has changed under it.
public final class ServiceHost: HTTPHandler {
  /// What happened, for a log.
  public enum Event: Sendable {
    case reopened
    /// Tried again until it succeeds.
    case cannotReopen(StoreError)
  }

  public typealias Opening = @Sendable () throws(StoreError) -> any ReopenableStore

  private struct Served {
    let store: any ReopenableStore
    let service: Service
  }

  private struct State {
    /// nil while another one is being opened.
    var served: Served?
    /// Requests that wait for it.
    var waiting: [(request: HTTPRequest, exchange: HTTPExchange)] = []
    /// Whether opening has failed for so long that requests are refused.
    var isDown = false
    var isDraining = false
  }

  /// How long requests wait for a store to be opened, in tries.
  private static let patience = 50
  /// Microseconds between two tries.
  private static let pause: UInt32 = 100_000

  private let open: Opening
  private let configuration: ServiceConfiguration
  private let onEvent: @Sendable (Event) -> Void
  // Guards what is served; never held while a service or a store works.
  private let state = Mutex(State())

  /// Serves `store`.
  ///
  /// - Parameters:
  ///   - open: opens it anew, after it was closed.
  ///   - onEvent: called on a thread of the host's.
  public init(
    _ store: any ReopenableStore, configuration: ServiceConfiguration = .init(),
    onEvent: @escaping @Sendable (Event) -> Void = { _ in }, open: @escaping Opening
  ) throws(HTTPServerError) {
    self.open = open
    self.configuration = configuration
    self.onEvent = onEvent
    let service = try Service(store, configuration, isHosted: true)
    begin(Served(store: store, service: service))
  }

  public var metrics: ServiceMetrics { configuration.metrics }

  public func handle(_ request: HTTPRequest, _ exchange: HTTPExchange) {
    enum Turn {
      case served(Service)
      case waits
      case refused(Problem)
    }
    let turn: Turn = state.withLock { state in
      if let served = state.served { return .served(served.service) }
      if state.isDraining { return .refused(.shuttingDown) }
      if state.isDown { return .refused(Problem(StoreError.busy)) }
      state.waiting.append((request, exchange))
      return .waits
    }
    switch turn {
    case .served(let service): service.handle(request, exchange)
    case .waits: break
    case .refused(let problem): exchange.respond(problem.response)
    }
  }

  public func answered(_ mark: UInt8, status: Int, nanoseconds: UInt64) {
    configuration.metrics.count(mark, status: status, nanoseconds: nanoseconds)
  }

  /// Answers everyone who waits and takes no more work; see ``Service/drain(within:)``.
  public func drain(within seconds: Double = 20) {
    let (served, waiting) = state.withLock { state in
      state.isDraining = true
      defer { state.waiting = [] }
      return (state.served, state.waiting)
    }
    for (_, exchange) in waiting { exchange.respond(Problem.shuttingDown.response) }
    served?.service.drain(within: seconds)
  }

  /// Waits until the streams have sent their last events, for at most so many seconds.
  public func awaitStreams(seconds: Double) {
    let end = ContinuousClock.now + .seconds(seconds)
    while configuration.metrics.openStreams.value > 0, ContinuousClock.now < end { usleep(2_000) }
  }

  /// Lets go of the store; after ``drain()``.
  public func close() {
    let served = state.withLock { state in
      defer { state.served = nil }
      return state.served
    }
    served?.store.close()
  }
}

// MARK: - Opening anew

extension ServiceHost {
  /// Serves what was opened, to those first who waited for it.
  private func begin(_ served: Served) {
    let (waiting, isLate) = state.withLock { state in
      if !state.isDraining { state.served = served }
      state.isDown = false
      defer { state.waiting = [] }
      return (state.waiting, state.isDraining)
    }
    guard !isLate else { return served.store.close() }
    for (request, exchange) in waiting { served.service.handle(request, exchange) }
    // Told at once where it has changed already.
    served.store.onOutdated { [weak self] changed in
      startThread { [self] in self?.replace(served, changed) }
    }
  }

  private func replace(_ old: Served, _ changed: [Int]) {
    let isCurrent = state.withLock { state in
      guard state.served?.service === old.service, !state.isDraining else { return false }
      state.served = nil
      return true
    }
    guard isCurrent else { return }
    old.service.retire(changed)
    old.store.close()
    var tries = 0
    while !state.withLock({ $0.isDraining }) {
      do throws(StoreError) {
        let new = try reopen()
        begin(new)
        onEvent(.reopened)
        return old.service.succession.settle(.success(new.service))
      } catch {
        if tries == Self.patience {
          onEvent(.cannotReopen(error))
          refuseWaiting()
          old.service.succession.settle(.failure(Problem(StoreError.busy)))
        }
      }
      tries += 1
      usleep(Self.pause)
    }
    old.service.succession.settle(.failure(.shuttingDown))
  }

  private func reopen() throws(StoreError) -> Served {
    let store = try open()
    do {
      return Served(store: store, service: try Service(store, configuration, isHosted: true))
    } catch {
      store.close()
      throw .failed("the system has no threads to give")
    }
  }

  private func refuseWaiting() {
    let waiting = state.withLock { state in
      state.isDown = true
      defer { state.waiting = [] }
      return state.waiting
    }
    for (_, exchange) in waiting { exchange.respond(Problem(StoreError.busy).response) }
  }
}
