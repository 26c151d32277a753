// Which threads try the queries of a caller, after one that took long.

#if os(Linux)
  import FetchModel
  import Foundation
  import LiveFetchHTTPServer
  import LiveFetchThreads
  import Synchronization
  import TestSupport
  import Testing

  @testable import Service

  @Suite("After a query of more than 50 ms", .mayBlock)
  struct LongQueriesTests {
    private func pools(connections: Int) throws -> RequestPools {
      RequestPools(ServiceConfiguration(), connections: connections, try Deadlines())
    }

    /// The nice value of this thread: the 19th field of its status.
    private static var niceValue: Int {
      let status = try? String(contentsOfFile: "/proc/thread-self/stat", encoding: .utf8)
      let fields = status?.split(separator: ")").last?.split(separator: " ") ?? []
      return fields.count > 16 ? Int(fields[16]) ?? -1 : -1
    }

    /// The nice values of the threads that try a query which takes 60 ms of processor time, if it is long.
    private func niceValues(_ pools: RequestPools, _ caller: String, isLong: Bool) throws -> [Int] {
      let values = Mutex<[Int]>([])
      let done = MonotonicSemaphore()
      let id = CallerID(name: caller, connection: 1)
      pools.query(for: id, until: .now + .seconds(600)) { _ in
        done.signal()
      } _: { attempt in
        values.withLock { $0.append(Self.niceValue) }
        if isLong, attempt.limit == .milliseconds(50) {
          let end = QueryAttempt.processorTime + 60_000_000
          while QueryAttempt.processorTime < end {}
          return false
        }
        done.signal()
        return true
      }
      try #require(done.wait(seconds: 300))
      return values.withLock { $0 }
    }

    @Test("the caller's next ones are tried in the background, and those of other callers are not")
    func background() throws {
      let pools = try pools(connections: 0)
      defer { pools.closeQueries() }
      let own = Self.niceValue
      let later = min(own + 10, 19)
      #expect(try niceValues(pools, "a", isLong: false) == [own])
      #expect(try niceValues(pools, "a", isLong: true) == [own, later])
      #expect(try niceValues(pools, "a", isLong: false) == [later])
      #expect(try niceValues(pools, "b", isLong: false) == [own])
    }

    @Test("the next ones are tried as before if a database server runs them")
    func server() throws {
      let pools = try pools(connections: 8)
      defer { pools.closeQueries() }
      let own = Self.niceValue
      #expect(try niceValues(pools, "a", isLong: true) == [own, min(own + 10, 19)])
      #expect(try niceValues(pools, "a", isLong: false) == [own])
    }
  }
#endif
