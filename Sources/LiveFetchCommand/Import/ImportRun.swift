// The work of `livefetch import`: files → records → rows. Refused records are reported and kept.

import ArgumentParser
import FetchModel
import Foundation
import PostgresStore
import SQLiteStore

/// A run of the command.
struct ImportRun {
  private let command: ImportCommand
  private var rejects: Rejects
  private let table: ImportDestination
  private let standardInput: ByteSource?
  private let isNewFile: Bool
  private let isNewTable: Bool
  private var bar: ProgressBar
  private let start = DispatchTime.now().uptimeNanoseconds

  init(_ command: ImportCommand) throws {
    self.command = command
    isNewFile = try command.database == nil && !isFile(command.store)
    rejects = try Rejects(path: command.rejects)
    bar = ProgressBar(command.into)
    standardInput = command.files.contains("-") ? try ByteSource(path: "-") : nil
    do {
      isNewTable = try isNewFile || !Self.isKnown(command)
      let new = isNewTable ? try Self.newTable(command, standardInput) : nil
      table = try ImportDestination(command, creating: new)
    } catch {
      rejects.close()
      if isNewFile { SQLiteStore.remove(path: command.store) }
      switch error {
      case let error as ImportError: throw Self.explain(error, command)
      case let error as StoreError:
        throw failure("\(command.storeName): \(error.message)", error.exitStatus)
      default: throw error
      }
    }
  }

  /// True if the table exists.
  private static func isKnown(_ command: ImportCommand) throws(StoreError) -> Bool {
    guard let target = command.database else {
      return try NewTable.isKnown(command.into, in: command.store)
    }
    return try DatabaseImport.isKnown(command.into, in: target.text)
  }

  /// The number of bytes of standard input that are kept for type inference.
  private static let sampleSize = 8 << 20

  /// Returns the source for type inference: a file itself, or a copy of standard input's first
  /// bytes.
  private static func sample(_ path: String, _ standardInput: ByteSource?) throws -> ByteSource {
    guard path == "-", let standardInput else { return try ByteSource(path: path) }
    do throws(ReadError) {
      return try ByteSource(lookingAt: standardInput, limit: sampleSize)
    } catch {
      throw failure("standard input: \(error.detail)", .failed)
    }
  }

  /// Infers the columns of a new table from the first file's first records.
  private static func newTable(
    _ command: ImportCommand, _ standardInput: ByteSource?
  ) throws -> NewTable {
    let path = command.files[0]
    let input = try ImportInput(sample(path, standardInput), path, command)
    var guesses = input.properties.map { _ in TypeGuess() }
    var count = 0
    while count < 10_000 {
      // A sample of standard input may end within a record.
      guard let outcome = path == "-" ? try? input.peek() : try input.next() else { break }
      if case .end = outcome { break }
      count += 1
      if case .bad(let detail) = outcome, input.properties.isEmpty {
        throw failure("\(input.source.name): line \(input.line): \(detail)", .unusableStore)
      }
      guard case .record = outcome else { continue }
      for (index, field) in input.fields.enumerated() { guesses[index].add(field) }
    }
    guard !input.properties.isEmpty else {
      throw failure("\(input.source.name): no record to infer a table from", .unusableStore)
    }
    return NewTable(
      name: command.into, columns: try columns(input.properties, guesses, command),
      key: command.keyNames)
  }

  private static func columns(
    _ names: [String], _ guesses: [TypeGuess], _ command: ImportCommand
  ) throws -> [(name: String, declaration: String)] {
    let given = command.typesByProperty
    for name in given.keys.sorted() + command.keyNames where !names.contains(name) {
      let hint = nearestName(to: name, among: names).map { "; did you mean '\($0)'?" } ?? ""
      throw failure("the file has no column '\(name)'\(hint)", .usage)
    }
    return zip(names, guesses).map { name, guess in
      (name, given[name].map(TypeGuess.declaration(of:)) ?? guess.declaration)
    }
  }

  // MARK: Loading

  mutating func load() throws {
    for path in command.files {
      let source = path == "-" ? standardInput : nil
      let input = try ImportInput(source ?? ByteSource(path: path), path, command)
      do {
        try table.use(properties: input.properties)
        rejects.heading = input.heading
        try load(input)
      } catch let error as ImportError {
        abandon()
        throw Self.explain(error, command)
      } catch let error as StoreError {
        abandon()
        throw failure("\(command.storeName): \(error.message)", error.exitStatus)
      } catch {
        abandon()
        throw error
      }
    }
  }

  private mutating func load(_ input: ImportInput) throws {
    var seen = 0
    while true {
      switch try input.next() {
      case .end: return try reject(table.flush(), of: input)
      case .bad(let detail):
        try reject(table.flush(), of: input)
        try reject(input, line: input.line, input.raw, detail)
      case .record: try reject(table.add(input), of: input)
      }
      seen += 1
      if seen & 1023 == 0, !command.quiet {
        bar.show(input.fraction, count: table.inserted + table.updated, unit: "rows")
      }
    }
  }

  private mutating func reject(
    _ rows: [DatabaseImport.RefusedRow], of input: ImportInput
  ) throws {
    for row in rows { try reject(input, line: row.line, row.raw, row.refusal.detail) }
  }

  private mutating func reject(
    _ input: ImportInput, line: Int, _ raw: [UInt8], _ detail: String
  ) throws {
    if rejects.count < Rejects.shown { bar.clear() }
    try rejects.add(raw, "\(input.source.name): line \(line): \(detail)")
  }

  /// Rolls everything back.
  private mutating func abandon() {
    bar.clear()
    rejects.close()
    table.cancel()
    if isNewFile { SQLiteStore.remove(path: command.store) }
  }

  // MARK: The end

  mutating func finish() throws {
    bar.clear()
    rejects.close()
    if command.strict, rejects.count > 0 {
      abandon()
      throw failure(
        "nothing was imported: \(rejects.count.withThousandsSeparators) rows were refused",
        .unusableStore)
    }
    if isNewTable, rejects.count > 0, table.inserted == 0 {
      abandon()
      throw failure("nothing was imported: every row was refused", .unusableStore)
    }
    let seconds = Double(DispatchTime.now().uptimeNanoseconds &- start) / 1e9
    do {
      try table.commit()
    } catch {
      abandon()
      throw failure("\(command.storeName): \(error.message)", error.exitStatus)
    }
    if !command.quiet { print(summary(seconds)) }
    if rejects.count > 0 { throw ExitCode(ExitStatus.unusableStore.rawValue) }
  }

  private func summary(_ seconds: Double) -> String {
    var parts = ["\(table.inserted.withThousandsSeparators) inserted"]
    if table.updated > 0 || command.key != nil {
      parts.append("\(table.updated.withThousandsSeparators) updated")
    }
    if rejects.count > 0 {
      parts.append(
        "\(rejects.count.withThousandsSeparators) refused"
          + (command.rejects.map { " (\($0))" } ?? ""))
    }
    let rate = Int(Double(table.inserted + table.updated) / max(0.001, seconds))
    let time = String(format: "%.1f", seconds)
    let made = isNewTable ? " (a new table)" : ""
    return
      "\(command.into)\(made): \(parts.joined(separator: ", ")) in \(time) s, \(rate.withThousandsSeparators)/s"
  }

  private static func explain(_ error: ImportError, _ command: ImportCommand) -> ExitCode {
    func hinted(_ text: String, _ hint: String?) -> String {
      text + (hint.map { "; did you mean '\($0)'?" } ?? "")
    }
    let entity = command.into
    switch error {
    case .store(let error):
      return failure("\(command.storeName): \(error.message)", error.exitStatus)
    case .unknownEntity(let name, let hint):
      return failure(hinted("there is no entity '\(name)'", hint), .usage)
    case .readOnlyEntity(let name):
      return failure("'\(name)' is a view: nothing can be loaded into it", .usage)
    case .unknownProperty(let name, let hint):
      let advice = hint == nil ? "; --map '\(name)=' leaves the column out" : ""
      return failure(
        hinted("\(entity) has no property '\(name)'", hint) + advice, .usage)
    case .notWritable(let name):
      return failure("\(entity): '\(name)' is calculated by the store", .usage)
    case .repeatedProperty(let name):
      return failure("\(entity): two columns are '\(name)'", .usage)
    case .keyNotUnique(let names):
      let columns = names.joined(separator: ", ")
      return failure(
        "--key: \(entity) has no unique index over \(columns), so rows cannot be found by it",
        .usage)
    case .keyNotGiven(let name):
      return failure("--key: the file has no column for '\(name)'", .usage)
    }
  }
}
