// Maintenance of a file that no store has open: migration to another version of its model, and
// imports of many values.

import FetchModel
import SQLiteStore

extension LocalStore {
  /// What a migration did, or would do.
  public struct Migration: Sendable {
    /// A sentence for each change of the tables.
    public let steps: [String]
    /// The values that the new version cannot hold.
    public let losses: [String]
    /// Why the migration is impossible; empty for one that was carried out.
    public let refusals: [String]
  }

  /// How a file is migrated.
  public struct MigrationOptions: Sendable {
    /// True to report the migration without carrying it out.
    public var isDryRun = false
    /// True to allow the loss of values that the new version cannot hold.
    public var allowsLoss = false
    /// The path of a copy of the file, made before; there may be no file. nil for no copy.
    public var backup: String?
    /// SQL on the old tables, run first in the same transaction.
    public var before: [String] = []
    /// SQL on the new tables, run last in the same transaction.
    public var after: [String] = []

    public init() {}
  }

  /// The model that the file at `path` stores; nil if it stores none.
  ///
  /// - Throws: `StoreError` if the file cannot be read.
  public static func storedModel(path: String) throws(StoreError) -> ModelFile? {
    try SQLiteStore.rememberedModel(path: path)
  }

  /// Migrates the file at `path` from the model that it stores to another version of it, in one
  /// transaction. Names and renaming identifiers determine what changed. O(rows) of the changed
  /// tables; blocks the calling thread.
  ///
  /// ```swift
  /// if try LocalStore.storedModel(path: path) != model {
  ///   try LocalStore.migrate(path: path, to: model)
  /// }
  /// let store = try LocalStore(path: path)
  /// ```
  ///
  /// - Throws: `StoreError` with every reason for a refusal, or if the file is open as a store; the
  ///   file is unchanged then.
  @discardableResult
  public static func migrate(
    path: String, to model: ModelFile, options: MigrationOptions = .init()
  ) throws(StoreError) -> Migration {
    var settings = SQLiteStore.MigrationSettings()
    settings.isDryRun = options.isDryRun
    settings.allowsLoss = options.allowsLoss
    settings.backup = options.backup
    settings.before = options.before.map { MigrationScript(name: "before", sql: $0) }
    settings.after = options.after.map { MigrationScript(name: "after", sql: $0) }
    let plan = try SQLiteStore.migrate(path: path, to: model, options: settings)
    return Migration(steps: plan.steps, losses: plan.losses, refusals: plan.refusals)
  }

  /// Writes many values into the file at `path`, in one transaction and several times as fast as
  /// saves. The values are read once; memory use does not depend on their number. Blocks the calling
  /// thread.
  ///
  /// - Parameters:
  ///   - values: the values. Their first one determines the properties that are written.
  ///   - path: of a file that no store has open.
  ///   - key: the properties that identify existing objects, which are updated; empty inserts all.
  /// - Returns: the numbers of inserted and updated objects.
  /// - Throws: `StoreError` with the first value that is refused, by its number from 1; nothing was
  ///   written then.
  @discardableResult
  public static func importValues<Value: Fetchable & Encodable>(
    _ values: some Sequence<Value>, path: String, key: [String] = []
  ) throws(StoreError) -> (inserted: Int, updated: Int) {
    let run: TableImport
    do throws(ImportError) {
      run = try TableImport(path: path, entity: Value.entityName, key: key)
    } catch {
      throw StoreError(error)
    }
    do throws(StoreError) {
      try run.add(values)
      try run.commit()
    } catch {
      run.cancel()
      throw error
    }
    return (run.counts.inserted, run.counts.updated)
  }
}

extension TableImport {
  fileprivate func add<Value: Encodable>(_ values: some Sequence<Value>) throws(StoreError) {
    var names: [String] = []
    for (index, value) in values.enumerated() {
      let members = try Self.members(of: value, index + 1)
      if index == 0 {
        names = members.map(\.name)
        do throws(ImportError) {
          try use(properties: names)
        } catch {
          throw StoreError(error)
        }
      }
      var given = Dictionary(members.map { ($0.name, $0.value) }) { $1 }
      let fields = names.map { name in
        Self.field(given.removeValue(forKey: name), of: name)
      }
      if let name = given.keys.min() {
        throw .unusable("value \(index + 1) has `\(name)`, and the first one has not")
      }
      if let refusal = try add(fields) {
        let property = refusal.property.map { "`\($0)`: " } ?? ""
        throw .unusable("value \(index + 1): \(property)\(refusal.detail)")
      }
    }
  }

  /// A value's field. The store assigns an `id` that is null.
  private static func field(_ value: JSON?, of name: String) -> ImportedField {
    switch value {
    case nil: .missing
    case .null?: name == "id" ? .missing : .null
    case let json?: .json(json)
    }
  }

  /// The members of a value, with null for properties that are nil, in the order of their names.
  private static func members(
    of value: some Encodable, _ number: Int
  ) throws(StoreError) -> [JSON.Member] {
    do throws(UnreadableValue) {
      guard case .object(let members) = try ItemCoding.encode(value) else {
        throw UnreadableValue("is no object")
      }
      return (members + NilKeys.members(of: value)).sorted { $0.name < $1.name }
    } catch {
      throw .unusable("value \(number) \(error.reason)")
    }
  }
}

extension StoreError {
  fileprivate init(_ error: ImportError) {
    if case .store(let error) = error { self = error } else { self = .unusable("\(error)") }
  }
}
