// A served file → the id that its scheduled backups have in their names.
//
// Stores in different directories may have the same name, and their servers may make backups in one
// directory. The id is in the file; every copy of the file has it too. So the inode and the time of
// creation of the file to which the id belongs are stored with it: a copy of the file that is served gets
// an id of its own.

import FetchModel
import LiveFetchCMappedFiles
import SQLComposer

/// The id of a file among those whose backups are in one directory.
enum BackupIdentity {
  /// Gives the file an id, unless it has one. Requires the history's tables.
  static func ensure(_ path: String, on connection: Connection) throws(StoreError) {
    guard let place = Self.place(of: path), try Self.id(place, on: connection) == nil
    else { return }
    try History.set("backup_id", .text(History.randomID()), on: connection)
    // Last: an id without its place is made again.
    try History.set("backup_place", .text(place), on: connection)
  }

  /// Returns the id of the file at a place; nil if its id is missing or that of another file.
  static func id(_ place: String, on connection: Connection) throws(StoreError) -> String? {
    try connection.first(
      """
      SELECT value FROM main.livefetch_store WHERE key = 'backup_id'
      AND ? = (SELECT value FROM main.livefetch_store WHERE key = 'backup_place')
      """, [.text(place)]
    ) { $0.text(0) }
  }

  /// Returns the values by which the file at `path` differs from its copies: its inode and its time of
  /// creation.
  static func place(of path: String) -> String? {
    FileStatus(path).map { "\($0.identity.inode) \(livefetch_file_created(path))" }
  }
}

extension SQLiteStore {
  /// Returns the id in the names of the backups of the file at `path`, which no other file has; nil if
  /// the file has none, because it was never opened for writing at this place.
  public static func backupID(of path: String) throws(StoreError) -> String? {
    guard let place = BackupIdentity.place(of: path) else { return nil }
    let (connection, _) = try OpenFile.openForReading(path)
    defer { connection.close() }
    guard try History.isPresent(on: connection) else { return nil }
    return try BackupIdentity.id(place, on: connection)
  }
}
