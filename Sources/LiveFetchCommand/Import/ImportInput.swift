// One file of an import: its records, the selected fields, and its position.

import FetchModel

/// A file that is being imported.
struct ImportInput {
  let source: ByteSource
  private let records: any RecordSource
  private let format: RecordFormat
  /// The properties of the selected fields.
  private(set) var properties: [String]
  /// The fields' indexes in a record; nil if all are selected.
  private var places: [Int]?

  init(_ source: ByteSource, _ path: String, _ command: ImportCommand) throws {
    self.source = source
    let buffer = SlidingBuffer(source)
    do throws(ReadError) {
      while buffer.bytes.count < TextCheck.size, try buffer.grow() {}
      try TextCheck.check(buffer.bytes.prefix(TextCheck.size))
      format =
        command.format ?? RecordFormat(path: path)
        ?? RecordFormat(lookingAt: Array(buffer.bytes.prefix(4_096)))
      records = try Self.records(buffer, format)
    } catch {
      throw failure("\(source.name): \(error.detail)", error.status)
    }
    (properties, places) = try Self.selection(of: records.names, source.name, command.map)
    let isDatabase = if case .database = command.location { true } else { false }
    let header = ImportHeader(
      names: properties, places: places, distinguishesCase: isDatabase)
    if let problem = header.problem {
      throw failure("\(source.name): line \(max(1, records.line)): \(problem)", .unusableStore)
    }
  }

  private static func records(
    _ buffer: SlidingBuffer, _ format: RecordFormat
  ) throws(ReadError) -> any RecordSource {
    switch format {
    case .csv: try DelimitedSource(buffer, delimiter: 0x2C)
    case .tsv: try DelimitedSource(buffer, delimiter: 0x09)
    case .json: try JSONSource(buffer, isArray: true)
    case .ndjson: try JSONSource(buffer, isArray: false)
    }
  }

  /// Returns the properties of the selected fields, and the fields' indexes; nil if all are selected.
  ///
  /// - Parameter map: the property of a field; nil leaves the field out. Others have their own name.
  private static func selection(
    of names: [String], _ file: String, _ map: [String: String?]
  ) throws -> ([String], [Int]?) {
    for header in map.keys.sorted() where !names.contains(header) {
      let hint = nearestName(to: header, among: names).map { "; did you mean '\($0)'?" } ?? ""
      throw failure("\(file): --map: there is no column '\(header)'\(hint)", .usage)
    }
    let properties = names.map { map[$0] ?? $0 }
    let places = names.indices.filter { properties[$0] != nil }
    return (
      places.compactMap { properties[$0] }, places.count == names.count ? nil : Array(places)
    )
  }

  /// Leaves out the fields of these properties.
  mutating func leaveOut(_ names: [String]) {
    let kept = properties.indices.filter { !names.contains(properties[$0]) }
    places = kept.map { places?[$0] ?? $0 }
    properties = kept.map { properties[$0] }
  }

  // MARK: Records

  var line: Int { records.line }
  var raw: [UInt8] { records.raw }
  var heading: [UInt8] { records.heading }
  /// The format of the file of rejected records: an array's elements are one per line.
  var rejectedFormat: RecordFormat { format == .json ? .ndjson : format }
  /// Returns the original bytes of a record as the file of rejected records contains them.
  func rejectedForm(of raw: [UInt8]) -> [UInt8] { records.rejectedForm(of: raw) }

  /// The fraction of the file that was read, 0...1; nil if its size is unknown.
  var fraction: Double? {
    source.size.map { $0 == 0 ? 1 : Double(source.consumed) / Double($0) }
  }

  /// Returns the next record. Errors have the file's name and the line.
  func next() throws(ReadError) -> RecordOutcome {
    do {
      return try records.next()
    } catch {
      throw ReadError(
        detail: "\(source.name): line \(records.line + 1): \(error.detail)", status: error.status)
    }
  }

  /// Returns these records with the following calls of ``next()``. Call it at the end of the file.
  func readAgain(_ again: [(line: Int, raw: [UInt8])]) { records.readAgain(again) }

  /// The record's selected fields.
  var fields: [ImportedField] { places?.map { records.fields[$0] } ?? records.fields }
}
