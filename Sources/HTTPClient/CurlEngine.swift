// Transfers through libcurl's multi interface, all of them on one background thread, which runs until
// the process ends.
//
// HTTP/1.1 only: a response that is not read then blocks its own connection and no other one.
// Connections are kept and used again. Proxies are those of the environment (http_proxy, https_proxy,
// no_proxy), but for addresses of this machine.

#if !canImport(Darwin)

  import CCurl
  #if canImport(Glibc)
    import Glibc
  #else
    import Musl
  #endif
  import Synchronization
  import LiveFetchThreads

  /// The engine of this platform.
  let systemEngine: any TransferEngine = CurlEngine()

  final class CurlEngine: TransferEngine, @unchecked Sendable {
    private enum Command {
      case start(Transfer)
      case resume(Transfer)
      case cancel(Transfer)
    }

    /// Only ``post(_:)`` uses it on other threads, to wake this one; libcurl allows that.
    private let multi: UnsafeMutableRawPointer?
    // Protects the commands that the thread has not taken yet; nil if there is no thread.
    private let commands: Mutex<[Command]?>
    // The rest belongs to the thread.
    private var transfers: [ObjectIdentifier: CurlTransfer] = [:]
    private let settings = CurlSettings()
    /// When the earliest time limit may pass; nil if there is none.
    private var nextCheck: ContinuousClock.Instant?

    init() {
      ccurl_prepare()
      multi = curl_multi_init()
      commands = Mutex([])
      guard multi != nil, let thread = JoinableThread("http client", { [self] in run() }) else {
        commands.withLock { $0 = nil }
        return
      }
      thread.detach()
    }

    func start(_ transfer: Transfer) {
      if !post(.start(transfer)) {
        _ = transfer.receive(.failed(.failed("the system has no thread left for HTTP")))
      }
    }

    func resume(_ transfer: Transfer) { _ = post(.resume(transfer)) }

    func cancel(_ transfer: Transfer) { _ = post(.cancel(transfer)) }

    /// False if there is no thread.
    private func post(_ command: Command) -> Bool {
      let (isTaken, wakes): (Bool, Bool) = commands.withLock { commands in
        guard let count = commands?.count else { return (false, false) }
        commands?.append(command)
        return (true, count == 0)
      }
      if wakes { curl_multi_wakeup(multi) }
      return isTaken
    }

    // MARK: - The thread

    private func run() {
      Self.blockSignals()
      while true {
        let taken = commands.withLock { commands in
          defer { commands = [] }
          return commands ?? []
        }
        for command in taken { perform(command) }
        var running: Int32 = 0
        curl_multi_perform(multi, &running)
        removeDone()
        checkTimeLimits()
        // Without memory it returns at once.
        if curl_multi_poll(multi, nil, 0, pollTimeout, nil) != CURLM_OK { usleep(10_000) }
      }
    }

    /// Signals are for the program's own threads. A blocked SIGPIPE is a write error and no more.
    private static func blockSignals() {
      var signals = sigset_t()
      sigfillset(&signals)
      pthread_sigmask(SIG_BLOCK, &signals, nil)
    }

    private func perform(_ command: Command) {
      switch command {
      case .start(let transfer): begin(transfer)
      case .resume(let transfer): transfers[ObjectIdentifier(transfer)]?.resume()
      case .cancel(let transfer): remove(ObjectIdentifier(transfer))
      }
    }

    private func begin(_ transfer: Transfer) {
      guard !transfer.isFinished else { return }
      guard let active = CurlTransfer(transfer, settings),
        curl_multi_add_handle(multi, active.handle) == CURLM_OK
      else {
        _ = transfer.receive(.failed(.failed("no memory for a request")))
        return
      }
      transfers[ObjectIdentifier(transfer)] = active
    }

    private func remove(_ id: ObjectIdentifier) {
      guard let active = transfers.removeValue(forKey: id) else { return }
      curl_multi_remove_handle(multi, active.handle)
    }

    private func removeDone() {
      var result = CURLE_OK
      while let handle = ccurl_next_done(multi, &result) {
        guard let active = CurlTransfer.of(handle) else { continue }
        let event = active.lastEvent(result)
        remove(ObjectIdentifier(active.transfer))
        _ = active.transfer.receive(event)
      }
    }

    // MARK: - Time limits

    /// Ends the transfers whose limit has passed. O(transfers), but only when a limit may have passed.
    private func checkTimeLimits() {
      let now = ContinuousClock.now
      guard settings.hasNewDeadline || nextCheck.map({ $0 <= now }) ?? false else { return }
      settings.hasNewDeadline = false
      nextCheck = nil
      for (id, active) in transfers {
        guard let deadline = active.deadline(at: now) else { continue }
        if deadline > now {
          nextCheck = min(nextCheck ?? deadline, deadline)
        } else {
          remove(id)
          _ = active.transfer.receive(.failed(.timedOut(active.phase)))
        }
      }
    }

    /// Milliseconds that libcurl may wait for its sockets; its own timers shorten them.
    private var pollTimeout: Int32 {
      guard let nextCheck else { return 60_000 }
      let milliseconds = ContinuousClock.now.duration(to: nextCheck) / .milliseconds(1)
      return Int32(min(max(milliseconds.rounded(.up), 0), 60_000))
    }
  }

#endif
