// TCP keep-alive: the detection of silent peers, and the distribution of probes over time.

import CMicrohttpd
import Glibc
import Testing

@testable import LiveFetchHTTPServer

extension HTTPServerTests {
  @Suite struct KeepAliveOfConnections {
    @Test func `the connection of a silent peer ends within a minute, after several probes`() {
      for descriptor in Int32(0)..<200 {
        let rhythm = KeepAlive(descriptor: descriptor)
        let probes = stride(from: rhythm.idle, to: 60, by: Int(rhythm.interval)).map { $0 }
        let last = probes.firstIndex { $0 * 1000 >= KeepAlive.userTimeout }
        #expect(last ?? 0 >= 4, "\(rhythm): \(probes)")
      }
    }

    @Test func `of ten thousand connections no more than a queue's worth is probed at once`() {
      var beginnings: [Int32: Int] = [:]
      for descriptor in Int32(0)..<10_000 {
        beginnings[KeepAlive(descriptor: descriptor).idle, default: 0] += 1
      }
      // From 16 s on the kernel's timers are two seconds wide.
      #expect(beginnings.values.max() ?? .max <= 625)
    }

    @Test func `accepted connections have a rhythm of their own`() async throws {
      try await withServer { server in
        let clients = try (0..<20).map { _ in try RawClient(server.port) }
        for client in clients { #expect(client.get("/")?.status == 200) }
        let accepted = acceptedDescriptors(server.port)
        #expect(accepted.count == 20)
        for descriptor in accepted {
          let expected = KeepAlive(descriptor: descriptor)
          #expect(option(descriptor, SOL_SOCKET, SO_KEEPALIVE) == 1)
          #expect(option(descriptor, Int32(IPPROTO_TCP), TCP_KEEPIDLE) == expected.idle)
          #expect(option(descriptor, Int32(IPPROTO_TCP), TCP_KEEPINTVL) == expected.interval)
          #expect(option(descriptor, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT) == 40_000)
        }
        withExtendedLifetime(clients) {}
      }
    }

    private func acceptedDescriptors(_ port: Int) -> [Int32] {
      (Int32(0)..<4096).filter { descriptor in
        var name = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isConnected = withUnsafeMutableBytes(of: &name) {
          let address = $0.baseAddress!.assumingMemoryBound(to: sockaddr.self)
          return getpeername(descriptor, address, &size) == 0
            && getsockname(descriptor, address, &size) == 0
        }
        return isConnected && Int(UInt16(bigEndian: name.sin_port)) == port
      }
    }

    private func option(_ descriptor: Int32, _ level: Int32, _ name: Int32) -> Int32 {
      var value: Int32 = -1
      var size = socklen_t(MemoryLayout<Int32>.size)
      getsockopt(descriptor, level, name, &value, &size)
      return value
    }
  }
}
