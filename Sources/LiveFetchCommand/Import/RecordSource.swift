// A file of any of the forms that are imported → its records, one after the other.

import FetchModel
import SQLiteStore

/// What a file is written in.
enum RecordFormat: String, CaseIterable {
  case csv, tsv, json, ndjson

  /// What the end of a file's name says, `.gz` left out.
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

  /// What the first bytes of a file look like.
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

/// One record, or why there is none where one should be.
enum RecordOutcome {
  case record
  case bad(String)
  case end
}

/// Reads one file's records. Its fields and bytes are good until the next call.
protocol RecordSource: AnyObject {
  /// The names of the fields.
  var names: [String] { get }
  var fields: [ImportedField] { get }
  /// The line on which the record begins, counted from 1.
  var line: Int { get }
  /// The record as it stands in the file, for the reject file.
  var raw: [UInt8] { get }
  /// What has to stand at the head of a file of rejected records.
  var heading: [UInt8] { get }
  func next() throws(ReadError) -> RecordOutcome
}
