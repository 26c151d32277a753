// A file that others write → whether they have, since it was asked last.

import FetchModel

/// Notices commits of other connections, without a lock and without a history.
public final class ChangeWatch {
  private let connection: Connection
  private var version: Int64

  public init(path: String) throws(StoreError) {
    (connection, _) = try OpenFile.openForReading(path)
    version = try Self.version(connection)
  }

  /// Whether somebody committed since the last call. Costs one look at the file's head.
  public func hasChanged() throws(StoreError) -> Bool {
    let now = try Self.version(connection)
    defer { version = now }
    return now != version
  }

  private static func version(_ connection: Connection) throws(StoreError) -> Int64 {
    try connection.first("PRAGMA main.data_version") { $0.integer(0) } ?? 0
  }
}
