// Maintenance of a file that no store has open: migration to another version of its model, and
// imports of many values.

import FetchModel
import SQLiteStore

extension LocalStore {
  /// The result of a migration, or of its dry run.
  public struct Migration: Sendable {
    /// A sentence for each change of the tables.
    public let steps: [String]
    /// The values that the new version cannot hold.
    public let losses: [String]
    /// The reasons why the migration is impossible; empty if it was carried out.
    public let refusals: [String]
  }

  /// The options of a migration.
  public struct MigrationOptions: Sendable {
    /// True to report the migration without carrying it out.
    public var isDryRun = false
    /// True to allow the loss of values that the new version cannot hold.
    public var allowsLoss = false
    /// The path of a copy of the file that is made first; nil for no copy. There must be no file at the path.
    public var backup: String?
    /// SQL statements on the old tables, which run first in the same transaction.
    public var before: [String] = []
    /// SQL statements on the new tables, which run last in the same transaction.
    public var after: [String] = []

    /// Makes options with the default values.
    public init() {}
  }

  /// Returns the model that the file at `path` stores; nil if it stores none.
  ///
  /// - Throws: `StoreError` if the file cannot be read.
  public static func storedModel(path: String) throws(StoreError) -> ModelFile? {
    try SQLiteStore.storedModel(path: path)
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
  ///   - values: the values. The first one determines the properties that are written.
  ///   - path: the path of a file that no store has open.
  ///   - key: the properties that identify existing objects, which are updated: `id`, or those of a
  ///     uniqueness constraint of the entity. Empty inserts all.
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
      let members = try Self.members(of: value, number: index + 1)
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
        throw .unusable("value \(index + 1) has `\(name)`, which the first value does not have")
      }
      if let refusal = try add(fields) {
        let property = refusal.property.map { "`\($0)`: " } ?? ""
        throw .unusable("value \(index + 1): \(property)\(refusal.detail)")
      }
    }
  }

  /// Returns the field for a value. The store assigns an `id` that is null.
  private static func field(_ value: JSON?, of name: String) -> ImportedField {
    switch value {
    case nil: .missing
    case .null?: name == "id" ? .missing : .null
    case let json?: .json(json)
    }
  }

  /// Returns the members of a value, with null for properties that are nil, in the order of their names.
  ///
  /// - Parameter number: The number of the value, for the error.
  private static func members(
    of value: some Encodable, number: Int
  ) throws(StoreError) -> [JSON.Member] {
    do throws(UnreadableValue) {
      return try ItemCoding.members(of: value, includesNil: true).sorted { $0.name < $1.name }
    } catch {
      throw .unusable("value \(number) \(error.reason)")
    }
  }
}

extension StoreError {
  fileprivate init(_ error: ImportError) {
    func list(_ names: [String]) -> String { names.map { "`\($0)`" }.joined(separator: ", ") }
    func hint(_ name: String?) -> String { name.map { "; did you mean `\($0)`?" } ?? "" }
    self =
      switch error {
      case .store(let error): error
      case .unknownEntity(let name, let near):
        .unusable("there is no entity `\(name)`\(hint(near))")
      case .readOnlyEntity(let name): .unusable("`\(name)` is a view or a table of links")
      case .unknownProperty(let name, let near):
        .unusable("there is no property `\(name)`\(hint(near))")
      case .notWritable(let name): .unusable("`\(name)` is computed by the database")
      case .repeatedProperty(let name): .unusable("`\(name)` is given twice")
      case .keyNotUnique(let names):
        .unusable(
          "key: \(list(names)) is no uniqueness constraint of the entity, so objects cannot be found by it"
        )
      case .keyNotGiven(let name): .unusable("key: the values have no `\(name)`")
      }
  }
}
