// A path → calls of `onWrite`, at most 200 per second, after the operating system reported a write to
// the file or its log. A call only hints that a check is due. On systems without such reports, checks at
// intervals are sufficient.

#if canImport(Glibc) || canImport(Musl)
  import LiveFetchCLibrary
  import LiveFetchThreads
  import Synchronization

  /// Reports writes to a file and its log, and that one of them was created, removed or renamed.
  final class FileEvents: Sendable {
    private let events: Int32
    /// The ends of a pipe; a byte in it stops the thread.
    private let stopping: [Int32]
    /// True once the thread was requested to stop. The thread then closes the pipe, and the system may
    /// reuse the descriptors' numbers, so nobody may write to them afterwards.
    private let isStopped = Atomic<Bool>(false)
    private let name: [UInt8]

    /// The pause in microseconds after a notification, in which further ones are collected. A busy
    /// file thus causes at most 200 per second.
    private static let pause: UInt32 = 5_000

    /// Watches the directory of `path`; nil if the system does not allow it.
    ///
    /// - Parameter onWrite: called on the watching thread.
    init?(path: String, _ onWrite: @escaping @Sendable () -> Void) {
      let (directory, file) = pathParts(path)
      name = Array(file.utf8)
      let watched =
        UInt32(IN_MODIFY) | UInt32(IN_CREATE) | UInt32(IN_DELETE)
        | UInt32(IN_MOVED_TO) | UInt32(IN_MOVED_FROM)
      events = inotify_init1(Int32(IN_CLOEXEC))
      var ends: [Int32] = [-1, -1]
      stopping = pipe(&ends) == 0 ? ends : []
      for end in stopping { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
      guard events >= 0, !stopping.isEmpty, inotify_add_watch(events, directory, watched) >= 0
      else {
        close()
        return nil
      }
      let isStarted = startThread { [self] in
        while wait() {
          if isAboutFile() { onWrite() }
          usleep(Self.pause)
        }
        close()
      }
      if !isStarted {
        close()
        return nil
      }
    }

    /// Ends the thread soon. A second call does nothing.
    func stop() {
      guard !isStopped.exchange(true, ordering: .relaxed) else { return }
      var byte: UInt8 = 0
      if let end = stopping.last { _ = write(end, &byte, 1) }
    }

    private func close() {
      for descriptor in [events] + stopping where descriptor >= 0 {
        _ = LiveFetchCLibrary.close(descriptor)
      }
    }

    /// Waits for events. Returns false once stopped.
    private func wait() -> Bool {
      var queries = [
        pollfd(fd: events, events: Int16(POLLIN), revents: 0),
        pollfd(fd: stopping[0], events: Int16(POLLIN), revents: 0),
      ]
      while poll(&queries, 2, -1) < 0, errno == EINTR {}
      return queries[1].revents == 0
    }

    /// Reads the available events. Returns true if one of them concerns the file.
    private func isAboutFile() -> Bool {
      var buffer = [UInt8](repeating: 0, count: 16_384)
      let count = read(events, &buffer, buffer.count)
      var offset = 0
      let head = MemoryLayout<inotify_event>.size
      while count - offset >= head {
        let length = buffer.withUnsafeBytes {
          // The field `len` of inotify_event.
          Int($0.loadUnaligned(fromByteOffset: offset + 12, as: UInt32.self))
        }
        let start = offset + head
        guard start + length <= count else { return true }
        // The names of the log and the journal begin with the file's. Another file whose name does so
        // costs one check.
        if buffer[start..<(start + length)].starts(with: name) { return true }
        offset = start + length
      }
      return false
    }
  }
#else
  final class FileEvents: Sendable {
    init?(path: String, _ onWrite: @escaping @Sendable () -> Void) { return nil }
    func stop() {}
  }
#endif
