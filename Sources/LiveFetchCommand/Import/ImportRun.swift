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
  private let destination: any ImportDestination
  /// The first file, if the types were detected from it and it cannot be opened again.
  private let firstSource: ByteSource?
  /// The store's file, if this import created it.
  private let newFile: NewStoreFile?
  private let isNewTable: Bool
  private var bar: ProgressBar
  /// The rows that refer to an object that does not exist yet.
  private var held: [DatabaseImport.RefusedRow] = []
  private var heldBytes = 0
  /// Further rows are refused at once after this many bytes of rows that wait.
  private static let maxHeldBytes = 256 << 20
  /// The most times that such rows are read again.
  private static let maxPasses = 50
  private let start = DispatchTime.now().uptimeNanoseconds

  init(_ command: ImportCommand) throws {
    self.command = command
    rejects = try Rejects(path: command.rejects)
    bar = ProgressBar(command.into)
    var newFile: NewStoreFile?
    do {
      var new: NewTable?
      var source: ByteSource?
      if try !Self.tableExists(command) {
        let first = try ByteSource(path: command.files[0])
        source = first.isReopenable ? nil : first
        new = try Self.newTable(command, first)
        newFile = try command.location.path.flatMap { try NewStoreFile(path: $0) }
        // Another process may have created the table meanwhile.
        if newFile == nil, try Self.tableExists(command) { new = nil }
      }
      guard new != nil || command.types.isEmpty else {
        throw failure("--type declares columns of a new table: this import creates none", .usage)
      }
      firstSource = source
      isNewTable = new != nil
      destination = try command.begin(creating: new)
    } catch {
      rejects.discard()
      newFile?.remove()
      throw Self.reported(error, command)
    }
    self.newFile = newFile
  }

  /// True if the table exists.
  private static func tableExists(_ command: ImportCommand) throws -> Bool {
    switch command.location {
    case .file(let path): try isFile(path) && NewTable.isKnown(command.into, in: path)
    case .database(let target): try DatabaseImport.isKnown(command.into, in: target.text)
    }
  }

  /// The number of bytes of standard input or of a pipe that are kept for type inference.
  private static let sampleSize = 8 << 20

  /// Returns the source for type inference: a file itself, or a copy of the first bytes of standard
  /// input or of a pipe.
  private static func sample(_ source: ByteSource) throws -> ByteSource {
    guard !source.isReopenable else { return source }
    do throws(ReadError) {
      return try ByteSource(lookingAt: source, limit: sampleSize)
    } catch {
      throw failure("\(source.name): \(error.detail)", error.status)
    }
  }

  /// Infers the columns of a new table from the first records of the first file, `source`.
  private static func newTable(_ command: ImportCommand, _ source: ByteSource) throws -> NewTable {
    let input = try ImportInput(sample(source), command.files[0], command)
    let inferred = try inferredTypes(of: input, isSample: !source.isReopenable)
    guard !input.properties.isEmpty else {
      throw failure("\(input.source.name): no record to infer a table from", .unusableStore)
    }
    if input.properties.count == 1, input.properties[0].contains(where: { $0 == ";" || $0 == "\t" })
    {
      throw failure(
        "\(input.source.name): the heading is one name, '\(input.properties[0])': separate the values by "
          + "commas, or by tabs with --format tsv", .unusableStore)
    }
    return NewTable(
      name: command.into, columns: try columns(input.properties, inferred, command),
      key: command.keyNames)
  }

  /// - Parameter isSample: True if the input may end within a record. Its errors are reported when
  ///   the whole input is loaded.
  private static func inferredTypes(of input: ImportInput, isSample: Bool) throws -> [TypeGuess] {
    var types = input.properties.map { _ in TypeGuess() }
    for _ in 0..<10_000 {
      guard let outcome = isSample ? try? input.next() : try input.next() else { break }
      switch outcome {
      case .end: return types
      case .bad(let detail) where input.properties.isEmpty:
        throw failure("\(input.source.name): line \(input.line): \(detail)", .unusableStore)
      case .bad: continue
      case .record:
        for (index, field) in input.fields.enumerated() { types[index].add(field) }
      }
    }
    return types
  }

  private static func columns(
    _ names: [String], _ inferred: [TypeGuess], _ command: ImportCommand
  ) throws -> [(name: String, declaration: String)] {
    let given = command.typesByProperty
    for name in given.keys.sorted() + command.keyNames where !names.contains(name) {
      let hint = nearestName(to: name, among: names).map { "; did you mean '\($0)'?" } ?? ""
      throw failure("the file has no column '\(name)'\(hint)", .usage)
    }
    return zip(names, inferred).map { name, type in
      (name, given[name].map(TypeGuess.declaration(of:)) ?? type.declaration)
    }
  }

  // MARK: Loading

  mutating func load() throws {
    do {
      for (index, path) in command.files.enumerated() {
        let source = try (index == 0 ? firstSource : nil) ?? ByteSource(path: path)
        var input = try ImportInput(source, path, command)
        leaveOutDerived(of: &input)
        try destination.use(properties: input.properties)
        try rejects.use(
          heading: input.heading, format: input.rejectedFormat, of: input.source.name)
        try load(input)
        bar.clear()
      }
    } catch {
      rollBack()
      rejects.discard()
      throw Self.reported(error, command)
    }
  }

  private func leaveOutDerived(of input: inout ImportInput) {
    let derived = destination.derivedNames(among: input.properties)
    guard !derived.isEmpty else { return }
    input.leaveOut(derived)
    guard !command.quiet else { return }
    let names = derived.map { "'\($0)'" }.joined(separator: ", ")
    printError("\(input.source.name): not imported, because the store computes it: \(names)")
  }

  /// Loads the records of a file. A row that refers to a later row of the table is loaded after the
  /// others; then again as long as one more row is accepted, in turns from the end and from the beginning.
  private mutating func load(_ input: ImportInput) throws {
    try loadRecords(of: input)
    for _ in 0..<Self.maxPasses where !held.isEmpty {
      let rows = takeHeld().reversed()
      input.readAgain(rows.map { ($0.line, $0.raw) })
      try loadRecords(of: input)
      if held.count == rows.count { break }
    }
    for row in takeHeld().sorted(by: { $0.line < $1.line }) {
      try reject(input, line: row.line, row.raw, row.refusal.detail)
    }
  }

  private mutating func takeHeld() -> [DatabaseImport.RefusedRow] {
    defer { (held, heldBytes) = ([], 0) }
    return held
  }

  private mutating func loadRecords(of input: ImportInput) throws {
    var seen = 0
    while true {
      switch try input.next() {
      case .end: return try reject(destination.flush(), of: input)
      case .bad(let detail):
        try reject(destination.flush(), of: input)
        try reject(input, line: input.line, input.raw, detail)
      case .record: try reject(destination.add(input), of: input)
      }
      seen += 1
      if seen & 1023 == 0, !command.quiet {
        bar.show(input.fraction, count: destination.inserted + destination.updated, unit: "rows")
      }
    }
  }

  private mutating func reject(
    _ rows: [DatabaseImport.RefusedRow], of input: ImportInput
  ) throws {
    for row in rows {
      if row.refusal.isMissingObject, destination.refersToItself, heldBytes < Self.maxHeldBytes {
        held.append(row)
        heldBytes += row.raw.count
      } else {
        try reject(input, line: row.line, row.raw, row.refusal.detail)
      }
    }
  }

  private mutating func reject(
    _ input: ImportInput, line: Int, _ raw: [UInt8], _ detail: String
  ) throws {
    if rejects.count < Rejects.shown { bar.clear() }
    try rejects.add(input.rejectedForm(of: raw), "\(input.source.name): line \(line): \(detail)")
  }

  /// Rolls everything back. The destination still locks the file.
  private mutating func rollBack() {
    bar.clear()
    destination.cancel()
    newFile?.remove()
  }

  // MARK: The end

  mutating func finish() throws {
    bar.clear()
    if let reason = reasonToImportNothing {
      rollBack()
      try keepRejects()
      throw failure("nothing was imported: \(reason)", .unusableStore)
    }
    let seconds = Double(DispatchTime.now().uptimeNanoseconds &- start) / 1e9
    do {
      try destination.commit()
      newFile?.keep()
    } catch {
      rollBack()
      rejects.discard()
      throw error.failure(command.location.name)
    }
    if !command.quiet { print(summary(seconds)) }
    try keepRejects()
    if rejects.count > 0 { throw ExitCode(ExitStatus.unusableStore.rawValue) }
  }

  /// The reason why refused rows prevent the import; nil if the others are imported.
  private var reasonToImportNothing: String? {
    guard rejects.count > 0 else { return nil }
    if command.strict {
      let rows = rejects.count == 1 ? "row was" : "rows were"
      return "\(rejects.count.withThousandsSeparators) \(rows) refused"
    }
    return isNewTable && destination.inserted == 0 ? "every row was refused" : nil
  }

  /// Writes the file of refused rows.
  private mutating func keepRejects() throws {
    try rejects.keep()
    if !command.quiet, let advice = rejects.advice { printError(advice) }
  }

  private func summary(_ seconds: Double) -> String {
    var parts = ["\(destination.inserted.withThousandsSeparators) inserted"]
    if destination.updated > 0 || command.key != nil {
      parts.append("\(destination.updated.withThousandsSeparators) updated")
    }
    if rejects.count > 0 {
      parts.append(
        "\(rejects.count.withThousandsSeparators) refused"
          + (command.rejects.map { " (\($0))" } ?? ""))
    }
    let rate = Int(Double(destination.inserted + destination.updated) / max(0.001, seconds))
    let time = String(format: "%.1f", seconds)
    let suffix = isNewTable ? " (a new table)" : ""
    return
      "\(command.into)\(suffix): \(parts.joined(separator: ", ")) in \(time) s, \(rate.withThousandsSeparators)/s"
  }

  /// Prints an error of the input or of the store. Returns the error to throw.
  private static func reported(_ error: any Error, _ command: ImportCommand) -> any Error {
    switch error {
    case let error as ReadError: failure(error.detail, error.status)
    case let error as ImportError: report(error, command)
    case let error as StoreError: error.failure(command.location.name)
    default: error
    }
  }

  /// Prints the error.
  private static func report(_ error: ImportError, _ command: ImportCommand) -> ExitCode {
    func hinted(_ text: String, _ hint: String?) -> String {
      text + (hint.map { "; did you mean '\($0)'?" } ?? "")
    }
    let entity = command.into
    switch error {
    case .store(let error):
      return error.failure(command.location.name)
    case .unknownEntity(let name, let hint):
      return failure(hinted("there is no entity '\(name)'", hint), .usage)
    case .readOnlyEntity(let name):
      return failure("'\(name)' is a view or read-only: nothing can be loaded into it", .usage)
    case .unknownProperty(let name, let hint):
      let advice = hint == nil ? "; --map '\(name)=' leaves the column out" : ""
      return failure(
        hinted("\(entity) has no property '\(name)'", hint) + advice, .usage)
    case .notWritable(let name):
      return failure("\(entity): '\(name)' is computed by the database", .usage)
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
