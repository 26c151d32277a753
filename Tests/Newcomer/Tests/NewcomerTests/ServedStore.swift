// A server on the sample's file, as a program of its own.

import Foundation
import LiveFetch

struct NoServer: Error {}

/// Stops its server when it is released.
final class ServedStore {
  private let sample: SampleStore
  private var process: Process?
  private(set) var address = URL(fileURLWithPath: "/")

  /// The server of this checkout; nil if it is not built.
  nonisolated static var program: URL? {
    var root = URL(fileURLWithPath: #filePath)
    for _ in 0..<5 { root.deleteLastPathComponent() }
    let program = root.appendingPathComponent(".build/debug/livefetch")
    return FileManager.default.isExecutableFile(atPath: program.path) ? program : nil
  }

  init() async throws {
    sample = try SampleStore()
    sample.store.close()
    try await start(port: 0)
  }

  deinit { process?.terminate() }

  func stop() {
    process?.terminate()
    process?.waitUntilExit()
  }

  /// Starts the server again at the same address.
  func restart() async throws { try await start(port: address.port ?? 0) }

  private func start(port: Int) async throws {
    guard let program = Self.program else { throw NoServer() }
    let process = Process()
    let output = Pipe()
    process.executableURL = program
    process.arguments = ["serve", sample.path, "--port", "\(port)"]
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    self.process = process
    guard let url = await Self.address(in: output.fileHandleForReading) else { throw NoServer() }
    address = url
  }

  /// The first address that the server prints; nil if it ends without one.
  private static func address(in output: FileHandle) async -> URL? {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        var text = ""
        while true {
          let data = output.availableData
          text += String(decoding: data, as: UTF8.self)
          if let url = url(in: text) { return continuation.resume(returning: url) }
          if data.isEmpty { return continuation.resume(returning: nil) }
        }
      }
    }
  }

  private nonisolated static func url(in text: String) -> URL? {
    guard let start = text.range(of: "http://") else { return nil }
    let rest = text[start.lowerBound...]
    guard let end = rest.firstIndex(where: { $0.isWhitespace || $0 == "," }) else { return nil }
    return URL(string: String(rest[..<end]))
  }
}
