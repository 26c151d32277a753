// Whether a file is still what it was when it was opened: the same file under its name, with the
// same tables. Asked by the writer's thread between saves.

import FetchModel

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Which file a name means.
struct FileIdentity: Sendable, Hashable {
  private let device: UInt64
  private let inode: UInt64

  /// nil where there is no file of that name.
  init?(_ path: String) {
    var found = stat()
    guard stat(path, &found) == 0 else { return nil }
    device = UInt64(found.st_dev)
    inode = UInt64(found.st_ino)
  }
}

/// What a file was when it was opened.
struct FileWatch: Sendable {
  let path: String
  private let identity: FileIdentity?
  private let log: FileIdentity?
  private let entities: [Entity]
  private let schema: Schema
  private var catalogue: [String]

  /// - Parameter connection: has read the file, so that its log is there.
  init(path: String, on connection: Connection) throws(StoreError) {
    self.path = path
    let introspection = try Introspection(of: connection)
    identity = FileIdentity(path)
    log = FileIdentity(path + "-wal")
    entities = introspection.model.entities
    schema = introspection.schema
    catalogue = try Self.catalogue(on: connection)
  }

  /// Whether another file has taken the name. A name without a file may get one again.
  var isReplaced: Bool {
    guard let identity, let now = FileIdentity(path) else { return false }
    return now != identity
  }

  /// The statements that made what is in the file, but for LiveFetch's own.
  private static func catalogue(on connection: Connection) throws(StoreError) -> [String] {
    try connection.all(
      """
      SELECT type || ' ' || name || ' ' || coalesce(sql, '') FROM main.sqlite_schema
      WHERE name NOT LIKE 'livefetch\\_%' ESCAPE '\\'
      AND tbl_name NOT LIKE 'livefetch\\_%' ESCAPE '\\' ORDER BY rowid
      """
    ) { $0.text(0) }
  }

  /// Whether the model or the tables behind it are not those that were opened.
  mutating func hasOtherTables(on connection: Connection) throws(StoreError) -> Bool {
    let catalogue = try Self.catalogue(on: connection)
    guard catalogue != self.catalogue else { return false }
    guard let found = try introspection(on: connection), found.model.entities == entities,
      found.schema == schema
    else { return true }
    self.catalogue = catalogue
    return false
  }

  /// nil where the tables are not those of the file's model any more.
  private func introspection(
    on connection: Connection
  ) throws(StoreError) -> Introspection? {
    do throws(StoreError) {
      return try Introspection(of: connection)
    } catch .unusable {
      return nil
    }
  }

  /// Takes away the log of a file that is not under its name any more: SQLite would take it for the
  /// new file's. Only where the log is still the old one's own. Nothing may have it open.
  func removeStaleLog() {
    guard isReplaced, let log, FileIdentity(path + "-wal") == log else { return }
    unlink(path + "-wal")
    unlink(path + "-shm")
  }
}
