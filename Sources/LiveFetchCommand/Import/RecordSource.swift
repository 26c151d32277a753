// A file in any of the supported formats → its records in sequence.

import FetchModel

/// The format of a file of rows.
enum RecordFormat: String, CaseIterable {
  case csv, tsv, json, ndjson

  /// Determines the format from a file's extension, ignoring `.gz`.
  init?(path: String) {
    var name = path.lowercased()
    if name.hasSuffix(".gz") { name.removeLast(3) }
    switch name.split(separator: ".").last {
    case "csv": self = .csv
    case "tsv", "tab": self = .tsv
    case "json": self = .json
    case "ndjson", "jsonl": self = .ndjson
    default: return nil
    }
  }

  /// Determines the format of an output from its path; nil also for a compressed one.
  init?(output path: String?) {
    guard let path, !path.hasSuffix(".gz") else { return nil }
    self.init(path: path)
  }

  /// Determines the format from a file's first bytes.
  init(lookingAt bytes: [UInt8]) {
    let start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes[...]
    let line = start.prefix { $0 != 0x0A }
    switch start.first(where: { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }) {
    case 0x5B: self = .json
    case 0x7B: self = .ndjson
    default: self = line.contains(0x09) && !line.contains(0x2C) ? .tsv : .csv
    }
  }
}

/// A record, the end, or an invalid record.
enum RecordOutcome {
  case record
  case bad(String)
  case end
}

/// Reads the records of one file. Fields and bytes are valid until the next call.
protocol RecordSource: AnyObject {
  /// The names of the fields.
  var names: [String] { get }
  var fields: [ImportedField] { get }
  /// The record's first line, counted from 1.
  var line: Int { get }
  /// The record's original bytes.
  var raw: [UInt8] { get }
  /// The first bytes of a file of rejected records.
  var heading: [UInt8] { get }
  func next() throws(ReadError) -> RecordOutcome
  /// Returns these records with the following calls of ``next()``. Call it at the end of the file.
  func readAgain(_ records: [(line: Int, raw: [UInt8])])
  /// Returns the original bytes of a record as the file of rejected records contains them.
  func rejectedForm(of raw: [UInt8]) -> [UInt8]
}

extension RecordSource {
  func rejectedForm(of raw: [UInt8]) -> [UInt8] { raw }
}
