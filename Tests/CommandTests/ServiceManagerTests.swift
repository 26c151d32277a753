// A service manager such as systemd: passed sockets and notifications.

import Foundation
import TestSupport
import Testing

#if canImport(Glibc)
  import Glibc
#endif

@Suite("A service manager", .mayBlock)
struct ServiceManagerTests {
  /// Moves the socket that is the process's standard input to where a service manager puts it.
  private static let handingOver =
    "exec 3<&0 </dev/null; export LISTEN_PID=$$ LISTEN_FDS=1"

  /// Serves `w.sqlite` on `listener` until it is ready.
  private func serve(_ folder: Folder, on listener: Listener, as name: String) throws -> Process {
    let process = try folder.start(
      ["serve", "w.sqlite"], output: name, input: listener.descriptor, limits: Self.handingOver)
    let ready = try folder.wait(for: name) { $0.hasSuffix("\n") }
    #expect(ready == "LiveFetch listening on http://127.0.0.1:\(listener.port)\n")
    return process
  }

  @Test("A connection that is made while no server runs is served by the next one")
  func activation() throws {
    let folder = try smallFolder()
    let listener = try Listener()
    for start in ["first", "second"] {
      let client = try WaitingClient(
        "http://127.0.0.1:\(listener.port)", "/v1/objects/City?as=count")
      #expect(client.isWaiting)
      let process = try serve(folder, on: listener, as: start)
      #expect(client.receiveHead().hasPrefix("HTTP/1.1 200 "))
      stop(process)
    }
  }

  @Test("The variables of another process are ignored")
  func otherProcess() throws {
    let folder = try smallFolder()
    let (_, address) = try folder.serve(
      "w.sqlite", environment: ["LISTEN_PID": "1", "LISTEN_FDS": "1"])
    #expect(address.hasPrefix("http://127.0.0.1:"))
  }

  @Test(
    "More than one socket, and a descriptor that is no TCP socket, end the program with status 64",
    arguments: [
      (
        "LISTEN_PID=$$ LISTEN_FDS=2",
        "livefetch: The service manager gave 2 sockets; one is needed.\n"
      ),
      (
        "LISTEN_PID=$$ LISTEN_FDS=1",
        "livefetch: The service manager gave a socket that does not listen on a TCP port.\n"
      ),
    ])
  func wrongSockets(variables: String, message: String) throws {
    let folder = try smallFolder()
    let process = try folder.start(
      ["serve", "w.sqlite"], output: "out", limits: "exec 3</dev/null; export \(variables)")
    process.waitUntilExit()
    #expect(process.terminationStatus == 64)
    #expect(try folder.read("out.err") == message)
  }

  @Test("The manager is notified when the server listens and when it stops")
  func notification() throws {
    let folder = try smallFolder()
    let manager = try DatagramReceiver(path: folder.file("notify"))
    let (process, _) = try folder.serve(
      "w.sqlite", environment: ["NOTIFY_SOCKET": folder.file("notify")])
    #expect(manager.receive() == "READY=1")
    process.terminate()
    #expect(manager.receive() == "STOPPING=1")
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
  }

  @Test(
    "SIGTERM and SIGINT end a server that is still opening its file, which opens the next time",
    arguments: [SIGTERM, SIGINT])
  func signalWhileOpening(signal: Int32) throws {
    let folder = try smallFolder()
    try folder.sql("PRAGMA journal_mode = WAL", on: "w.sqlite")
    // The history's transaction waits five seconds for the lock.
    let holder = try WriteLockHolder(folder.file("w.sqlite"))
    let process = try folder.start(["serve", "w.sqlite", "--port", "0"], output: "out")
    #expect(try eventually(within: .seconds(60)) { folder.has("w.sqlite-livefetch") })
    kill(process.processIdentifier, signal)
    process.waitUntilExit()
    holder.release()
    #expect(process.terminationReason == .exit)
    #expect(process.terminationStatus == 0)
    #expect(try folder.read("out.err") == "")
    try folder.serveOnce("w.sqlite")
  }

  @Test("A manager that has gone is passed over")
  func missingManager() throws {
    let folder = try smallFolder()
    for path in [folder.file("none"), "none", "@none", String(repeating: "/a", count: 200)] {
      stop(try folder.serve("w.sqlite", environment: ["NOTIFY_SOCKET": path]).process)
    }
  }
}

/// A TCP socket that listens on loopback.
private final class Listener {
  let descriptor: Int32
  let port: Int

  init() throws {
    (descriptor, port) = try LoopbackSocket.reservePort()
    try #require(listen(descriptor, 16) == 0)
  }

  deinit { close(descriptor) }
}

/// A socket file that receives datagrams.
private final class DatagramReceiver {
  private let descriptor: Int32

  init(path: String) throws {
    descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let name = Array(path.utf8)
    try #require(name.count < MemoryLayout.size(ofValue: address.sun_path))
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
    let size = socklen_t(MemoryLayout<sockaddr_un>.size)
    let descriptor = descriptor
    let bound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) }
    }
    try #require(bound == 0)
    LoopbackSocket.setTimeout(60, of: descriptor)
  }

  deinit { close(descriptor) }

  /// The next message; empty if none arrives within a minute.
  func receive() -> String {
    var message = [UInt8](repeating: 0, count: 4_096)
    let count = recv(descriptor, &message, message.count, 0)
    return String(decoding: message[..<max(count, 0)], as: UTF8.self)
  }
}
