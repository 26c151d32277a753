// The protocol between a service manager such as systemd and a service.
//
// Input: `LISTEN_PID`, `LISTEN_FDS` and `NOTIFY_SOCKET` in the environment. Output: the listening
// socket that the manager holds, and datagrams that report what the service does. Source:
// sd_listen_fds(3) and sd_notify(3). Without these variables nothing happens.

import Foundation
import LiveFetchHTTPServer

enum ServiceManager {
  /// The first descriptor that a manager hands over.
  private static let firstDescriptor: Int32 = 3

  /// The listening socket that the manager has opened for this process; nil without one.
  ///
  /// The manager keeps the socket while the process restarts, so connections wait instead of being
  /// refused.
  static func listener(
    _ environment: [String: String] = ProcessInfo.processInfo.environment
  ) throws -> HTTPListener? {
    guard let process = environment["LISTEN_PID"], Int32(process) == getpid(),
      let count = environment["LISTEN_FDS"]
    else { return nil }
    guard count == "1" else {
      throw failure("The service manager gave \(count) sockets; one is needed.", .usage)
    }
    guard let listener = HTTPListener(inherited: firstDescriptor) else {
      throw failure(
        "The service manager gave a socket that does not listen on a TCP port.", .usage)
    }
    return listener
  }

  /// The states that a service reports to its manager.
  enum State: String {
    case ready = "READY=1"
    case stopping = "STOPPING=1"
  }

  /// Reports the state to the manager. Does nothing if there is none.
  static func notify(
    _ state: State, _ environment: [String: String] = ProcessInfo.processInfo.environment
  ) {
    guard let path = environment["NOTIFY_SOCKET"], var address = unixAddress(path) else { return }
    let descriptor = socket(
      AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    let message = Array(state.rawValue.utf8)
    let length = socklen_t(MemoryLayout<sa_family_t>.size + path.utf8.count)
    _ = withUnsafeBytes(of: &address) { bytes in
      sendto(
        descriptor, message, message.count, Int32(MSG_NOSIGNAL),
        bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), length)
    }
  }

  /// The address of a socket file, or of an abstract name that begins with `@`; nil if it is
  /// neither, or too long.
  private static func unixAddress(_ path: String) -> sockaddr_un? {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    var name = Array(path.utf8)
    guard name.first == UInt8(ascii: "/") || name.first == UInt8(ascii: "@"),
      name.count < MemoryLayout.size(ofValue: address.sun_path)
    else { return nil }
    if name[0] == UInt8(ascii: "@") { name[0] = 0 }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
    return address
  }
}
