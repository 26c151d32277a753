// A path enters; everything needed to serve the file leaves: its lock, its model, its history.

import FetchModel
import LiveFetchCLibrary
import ModelStorage
import SQLComposer

/// A file that is open and prepared for serving.
struct OpenFile {
  let model: Model
  let schema: Schema
  let history: History
  let readAccess: Connection.Access
  /// nil if the file is read-only.
  let writeConnection: Connection?
  let lock: FileLock?
  let historySetup: HistorySetup
  /// nil if the file is read-only.
  let watch: FileIdentityMonitor?

  init(path: String, options: SQLiteStoreOptions) throws(StoreError) {
    try Self.checkLength(path, options)
    guard !options.isReadOnly, Self.mayWrite(path) else {
      lock = options.isOnlyServer ? try FileLock.forReading(path) : nil
      let (connection, access) = try Self.openForReading(path)
      try Self.checkPages(connection)
      let introspection = try Self.introspection(of: connection, options)
      model = try introspection.model.with(options.transformers)
      schema = introspection.schema
      history = History(model: model, schema: schema)
      readAccess = access
      writeConnection = nil
      historySetup = .continued
      watch = nil
      return
    }
    lock = try FileLock(beside: path)
    let connection = try Connection(path: path, access: .write)
    try Self.checkPages(connection)
    // This precedes every change, so a file of a newer version stays unchanged.
    if try History.isPresent(on: connection) {
      try History.checkFormat(on: connection)
    } else {
      // The writer's thread checks a file that was served before, so that it is served at once.
      try Self.checkContent(connection)
    }
    // No table is created for a model that cannot be served.
    try options.model?.checkTransformers(among: options.transformers)
    let tracked = try Self.track(path, connection, options)
    (model, schema) = (tracked.model, tracked.schema)
    history = tracked.history
    historySetup = tracked.setup
    watch = tracked.watch
    readAccess = .read
    writeConnection = connection
  }

  /// A model with its tables, whose changes are recorded from now on.
  private struct Tracked {
    let model: Model
    let schema: Schema
    let history: History
    let setup: HistorySetup
    let watch: FileIdentityMonitor
  }

  /// The most times that the tables are read again because other programs change them meanwhile.
  private static let maxReads = 20

  /// Reads the tables and sets up their history. The tables that are served, recorded and watched are those
  /// of one version of the schema.
  ///
  /// - Throws: ``StoreError/busy`` if other programs change the schema all the time.
  private static func track(
    _ path: String, _ connection: Connection, _ options: SQLiteStoreOptions
  ) throws(StoreError) -> Tracked {
    let opening = ModelOpening(connection: connection, given: options.model)
    let durability = options.durability == .full ? "FULL" : "NORMAL"
    var journalMode: String?
    var isRestarted = false
    for _ in 0..<maxReads {
      // Another version if opening the model creates its tables or triggers. They are read once more then.
      let version = try History.schemaVersion(on: connection)
      let introspection =
        if let modelled = try opening.open() { modelled } else {
          try Introspection(tablesOf: connection)
        }
      let model = try introspection.model.with(options.transformers)
      let history = History(model: model, schema: introspection.schema)
      let mode = if let journalMode { journalMode } else { try switchToWAL(connection) }
      journalMode = mode
      try connection.execute("PRAGMA synchronous = \(durability)")
      let found = try history.setUp(on: connection, journalMode: mode, schemaVersion: version)
      guard let (setup, latest) = found else { continue }
      isRestarted = isRestarted || setup == .restarted
      try BackupIdentity.ensure(path, on: connection)
      if let file = model.file { try ModelOpening.store(file, on: connection) }
      let watch = try FileIdentityMonitor(path: path, on: connection)
      guard try History.schemaVersion(on: connection) == latest else { continue }
      return Tracked(
        model: model, schema: introspection.schema, history: history,
        setup: isRestarted ? .restarted : setup, watch: watch)
    }
    throw .busy
  }

  /// Refuses a file that was evidently truncated. SQLite takes one of 0 or 1 bytes for a new
  /// database, and deletes its log.
  private static func checkLength(
    _ path: String, _ options: SQLiteStoreOptions
  ) throws(StoreError) {
    try OrphanedLog.check(path)
    guard let size = FileStatus(path)?.size, size <= 1 else { return }
    guard size == 0, options.acceptsEmptyFile else {
      throw .unusable(
        """
        the file was cut short: it has \(size) bytes (restore it from a backup; --create or --model \
        serves an empty file as a new store)
        """)
    }
  }

  /// Refuses a file that lacks pages. A checkpoint would fill the gap with zeros.
  private static func checkPages(_ connection: Connection) throws(StoreError) {
    // The first read applies or opens the log.
    _ = try connection.first("SELECT count(*) FROM main.sqlite_schema") { _ in true }
    guard connection.lacksPages else { return }
    connection.keepLogOnClose()
    throw .unusable(
      "the file was cut short: it has fewer pages than its header says (restore it from a backup)")
  }

  /// Seconds after which the check of a file's content is interrupted: enough for some 100 MB. It cannot
  /// have a deadline, because a table is checked in one step of SQLite's virtual machine.
  private static let contentCheckLimit = 0.25

  /// Refuses a file that contains damaged pages. Saves to it could be lost.
  static func checkContent(_ connection: Connection) throws(StoreError) {
    let findings: [String]
    do throws(StoreError) {
      findings = try connection.interrupted(after: contentCheckLimit) { () throws(StoreError) in
        try connection.all("PRAGMA main.quick_check(10)") { $0.text(0) }
      }
    } catch .damaged(let reason) {
      connection.keepLogOnClose()
      throw .damaged("\(reason) (restore it from a backup)")
    } catch {
      // There was no time for everything, or a constraint calls a function of another program.
      return
    }
    // The other findings are rows that violate a constraint.
    guard let damage = findings.first(where: { $0.hasPrefix("*** in database") }) else { return }
    connection.keepLogOnClose()
    let first = damage.split(separator: "\n").dropFirst().first ?? "a page cannot be read"
    throw .damaged("the file is damaged: \(first) (restore it from a backup)")
  }

  /// True if the process may write the file and its directory, which contains the log.
  private static func mayWrite(_ path: String) -> Bool {
    let resolved = resolvedPath(path)
    return access(resolved, W_OK) == 0
      && access(pathParts(resolved).directory, W_OK | X_OK) == 0
  }

  /// Returns the tables of a read-only file.
  private static func introspection(
    of connection: Connection, _ options: SQLiteStoreOptions
  ) throws(StoreError) -> Introspection {
    guard let model = options.model else { return try Introspection(of: connection) }
    return try ModelOpening.introspection(of: ModelTables(model, .sqlite), on: connection)
  }

  /// Switches to a write-ahead log. Returns the previous journal mode.
  private static func switchToWAL(_ connection: Connection) throws(StoreError) -> String {
    let before = try connection.first("PRAGMA journal_mode") { $0.text(0) } ?? "delete"
    let now = try connection.first("PRAGMA journal_mode = WAL") { $0.text(0) }
    guard now == "wal" else { throw .unusable("the file cannot be given a write-ahead log") }
    return before
  }

  /// Opens a file for reading. In a directory that is not writable, SQLite has no place for the index
  /// of the log, and the file is opened without locks.
  ///
  /// - Throws: ``StoreError/unusable(_:)`` if a log or a journal has to be applied first;
  ///   ``StoreError/busy`` if another program locks the file.
  static func openForReading(
    _ path: String
  ) throws(StoreError) -> (Connection, Connection.Access) {
    do throws(StoreError) {
      let connection = try Connection(path: path, access: .readOnlyFile)
      _ = try connection.first("SELECT count(*) FROM sqlite_schema") { _ in true }
      return (connection, .readOnlyFile)
    } catch .readOnly {
      return try openWithoutLocks(path)
    } catch .storageFailed {
      return try openWithoutLocks(path)
    } catch .damaged(let reason) {
      throw .damaged("\(reason) (restore it from a backup)")
    } catch {
      throw error
    }
  }

  /// Opens a file without its log and its journal, which SQLite then ignores.
  ///
  /// - Throws: ``StoreError/unusable(_:)`` if the log has data: the newest saves may be in it alone. The
  ///   same if the journal has data: the file contains a part of a transaction that was not completed.
  private static func openWithoutLocks(
    _ path: String
  ) throws(StoreError) -> (Connection, Connection.Access) {
    let log = resolvedPath(path) + "-wal"
    if let bytes = FileStatus(log)?.size, bytes > 0 {
      throw .unusable(
        """
        its log \(log) has data that cannot be read without writing \(path)-shm (make the directory \
        writable, or copy both files to one that is)
        """)
    }
    let journal = resolvedPath(path) + "-journal"
    guard !hasContent(journal: journal) else {
      throw .unusable(
        """
        its journal \(journal) belongs to a transaction that was not completed (let `sqlite3` open the \
        file for writing, which rolls it back)
        """)
    }
    return (try Connection(path: path, access: .immutableFile), .immutableFile)
  }
}

/// True if a rollback journal has a header. SQLite clears it at the end of a transaction if it keeps
/// the journal.
private func hasContent(journal path: String) -> Bool {
  let descriptor = open(path, O_RDONLY | O_CLOEXEC)
  guard descriptor >= 0 else { return false }
  defer { close(descriptor) }
  var header = [UInt8](repeating: 0, count: 8)
  return read(descriptor, &header, header.count) > 0 && header.contains { $0 != 0 }
}

extension ModelFile {
  /// - Throws: ``StoreError/unusable(_:)`` if an attribute names an unregistered transformer.
  fileprivate func checkTransformers(
    among registered: [String: ValueTransformer]
  ) throws(StoreError) {
    let known = Set(Self.builtInTransformers).union(registered.keys)
    for entity in entities {
      for attribute in entity.attributes {
        guard let name = attribute.transformer, !known.contains(name) else { continue }
        throw .unusable("\(entity.name).\(attribute.name): there is no transformer `\(name)`")
      }
    }
  }
}

extension Model {
  /// Returns the model with the program's transformers.
  ///
  /// - Throws: ``StoreError/unusable(_:)`` if an attribute names an unregistered transformer.
  fileprivate func with(
    _ transformers: [String: ValueTransformer]
  ) throws(StoreError) -> Model {
    try file?.checkTransformers(among: transformers)
    var model = self
    model.transformers = transformers
    return model
  }
}
