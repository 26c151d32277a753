// The work of `livefetch import`: files → records → rows, with what is refused kept apart.

import ArgumentParser
import FetchModel
import Foundation
import SQLiteStore

/// One run of the command.
struct ImportRun {
  private let command: ImportCommand
  private var rejects: Rejects
  private let table: TableImport
  private let isNewFile: Bool
  private let isNewTable: Bool
  private var bar: ProgressBar
  private let start = DispatchTime.now().uptimeNanoseconds

  init(_ command: ImportCommand) throws {
    self.command = command
    isNewFile = !FileManager.default.fileExists(atPath: command.store)
    rejects = try Rejects(path: command.rejects)
    bar = ProgressBar(command.into)
    do {
      isNewTable =
        try isNewFile || !NewTable.isKnown(command.into, in: command.store)
      let new = isNewTable ? try Self.newTable(command) : nil
      table = try TableImport(
        path: command.store, entity: command.into, key: command.keyNames, creating: new)
    } catch let error as ImportError {
      throw Self.explain(error, command)
    } catch let error as StoreError {
      throw failure("\(command.store): \(error.message)", error.exitStatus)
    }
  }

  /// Looks through the beginning of the first file. Standard input cannot be read twice, so its
  /// types are found from what was read of it.
  private static func newTable(_ command: ImportCommand) throws -> NewTable {
    guard let path = command.files.first, path != "-" else {
      throw failure(
        "\(command.into): there is no such entity yet; its types can be found from a file, not from "
          + "standard input", .usage)
    }
    let input = try ImportInput(path: path, command)
    var guesses = input.properties.map { _ in TypeGuess() }
    var count = 0
    while count < 10_000 {
      let outcome = try input.next()
      if case .end = outcome { break }
      count += 1
      guard case .record = outcome else { continue }
      for (index, field) in input.fields.enumerated() { guesses[index].add(field) }
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
    guard names.allSatisfy({ !$0.isEmpty }), !names.isEmpty else {
      throw failure("the heading has a column without a name", .unusableStore)
    }
    return zip(names, guesses).map { name, guess in
      (name, given[name].map(TypeGuess.declaration(of:)) ?? guess.declaration)
    }
  }

  // MARK: Loading

  mutating func load() throws {
    for path in command.files {
      let input = try ImportInput(path: path, command)
      do {
        try table.use(properties: input.properties)
        rejects.heading = input.heading
        try load(input)
      } catch let error as ImportError {
        abandon()
        throw Self.explain(error, command)
      } catch let error as StoreError {
        abandon()
        throw failure("\(command.store): \(error.message)", error.exitStatus)
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
      case .end: return
      case .bad(let detail): try reject(input, detail)
      case .record:
        if let refusal = try table.add(input.fields) { try reject(input, refusal.detail) }
      }
      seen += 1
      if seen & 1023 == 0, !command.quiet {
        bar.show(input.fraction, table.counts.inserted + table.counts.updated, "rows")
      }
    }
  }

  private mutating func reject(_ input: ImportInput, _ detail: String) throws {
    if rejects.count < Rejects.shown { bar.clear() }
    try rejects.add(input.raw, "\(input.source.name): line \(input.line): \(detail)")
  }

  /// Takes everything back.
  private mutating func abandon() {
    bar.clear()
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
        "nothing was imported: \(rejects.count.grouped) rows were refused", .unusableStore)
    }
    let seconds = Double(DispatchTime.now().uptimeNanoseconds &- start) / 1e9
    do {
      try table.commit()
    } catch {
      abandon()
      throw failure("\(command.store): \(error.message)", error.exitStatus)
    }
    if !command.quiet { print(summary(seconds)) }
    if rejects.count > 0 { throw ExitCode(ExitStatus.unusableStore.rawValue) }
  }

  private func summary(_ seconds: Double) -> String {
    let counts = table.counts
    var parts = ["\(counts.inserted.grouped) inserted"]
    if counts.updated > 0 || command.key != nil {
      parts.append("\(counts.updated.grouped) updated")
    }
    if rejects.count > 0 {
      parts.append("\(rejects.count.grouped) refused" + (command.rejects.map { " (\($0))" } ?? ""))
    }
    let rate = Int(Double(counts.inserted + counts.updated) / max(0.001, seconds))
    let time = String(format: "%.1f", seconds)
    let made = isNewTable ? " (a new table)" : ""
    return
      "\(command.into)\(made): \(parts.joined(separator: ", ")) in \(time) s, \(rate.grouped)/s"
  }

  private static func explain(_ error: ImportError, _ command: ImportCommand) -> ExitCode {
    func hinted(_ text: String, _ hint: String?) -> String {
      text + (hint.map { "; did you mean '\($0)'?" } ?? "")
    }
    let entity = command.into
    switch error {
    case .store(let error):
      return failure("\(command.store): \(error.message)", error.exitStatus)
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
