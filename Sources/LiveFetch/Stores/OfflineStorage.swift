// Where an offline store keeps results and saves: values by key, in a folder or in memory.

import Foundation
import Synchronization

/// Keeps values by key for an ``OfflineStore``. Keys consist of letters, digits and hyphens.
public protocol OfflineStorage: Sendable {
  /// The value of a key; nil if there is none.
  func value(forKey key: String) throws -> Data?
  /// Replaces a value; nil removes it. A value that was set still exists after a restart.
  func setValue(_ value: Data?, forKey key: String) throws
  /// The keys that have a value, in any order.
  func keys() throws -> [String]
}

/// A storage that has one file for each value in a folder of its own.
public struct FolderStorage: OfflineStorage {
  private let folder: URL

  /// - Parameter folder: is created if it does not exist.
  public init(_ folder: URL) throws {
    self.folder = folder
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  public func value(forKey key: String) throws -> Data? {
    let file = file(key)
    guard FileManager.default.fileExists(atPath: file.path) else { return nil }
    return try Data(contentsOf: file)
  }

  public func setValue(_ value: Data?, forKey key: String) throws {
    let file = file(key)
    if let value {
      try value.write(to: file, options: .atomic)
    } else if FileManager.default.fileExists(atPath: file.path) {
      try FileManager.default.removeItem(at: file)
    }
  }

  public func keys() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path)
      .filter { $0.hasSuffix(".json") }.map { String($0.dropLast(5)) }
  }

  private func file(_ key: String) -> URL { folder.appendingPathComponent(key + ".json") }
}

/// A storage that ends with the program.
public final class MemoryStorage: OfflineStorage {
  // Protects the values.
  private let values = Mutex<[String: Data]>([:])

  /// Makes an empty storage.
  public init() {}

  public func value(forKey key: String) -> Data? { values.withLock { $0[key] } }

  public func setValue(_ value: Data?, forKey key: String) {
    values.withLock { $0[key] = value }
  }

  public func keys() -> [String] { values.withLock { Array($0.keys) } }
}
