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
}
