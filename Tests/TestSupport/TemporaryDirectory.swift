// A temporary directory for a test's files.

import Foundation

/// A unique directory that is deleted with this object.
public final class TemporaryDirectory: Sendable {
  public let path: String

  public init() throws {
    path = NSTemporaryDirectory() + "livefetch-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// The path of the file `name` in it.
  public func file(_ name: String) -> String { path + "/" + name }

  /// Creates an empty file, on which a store can be opened, and returns its path.
  public func emptyFile(_ name: String = "store.sqlite") throws -> String {
    guard FileManager.default.createFile(atPath: file(name), contents: nil) else {
      throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: file(name)])
    }
    return file(name)
  }
}
