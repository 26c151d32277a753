import GRDB

/// Another program that writes the same file: foreign keys off, no functions of ours.
enum SQLiteShell {
  static func run(_ sql: String, path: String) throws {
    var configuration = Configuration()
    configuration.foreignKeysEnabled = false
    configuration.busyMode = .timeout(10)
    let queue = try DatabaseQueue(path: path, configuration: configuration)
    try queue.writeWithoutTransaction { try $0.execute(sql: sql) }
    try queue.close()
  }

  /// The integer that `sql` gives.
  static func integer(_ sql: String, path: String) throws -> Int64? {
    let queue = try DatabaseQueue(path: path)
    defer { try? queue.close() }
    return try queue.read { try Int64.fetchOne($0, sql: sql) }
  }
}
