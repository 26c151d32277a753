// Items → CSV, TSV, JSON or NDJSON, page by page.

import FetchModel

/// Writes items in one format.
struct RowTextWriter {
  let format: RecordFormat
  /// The columns of CSV and TSV. The first page determines them.
  private(set) var columns: [String] = []
  /// Says what a column's strings look like in CSV and TSV.
  var kind: (_ column: String) -> ColumnKind = { _ in .plain }
  /// Parallel to ``columns``.
  private var kinds: [ColumnKind] = []
  private var count = 0

  init(_ format: RecordFormat) { self.format = format }

  /// Returns the text before the first row.
  ///
  /// - Parameter columns: The columns, also for a result without items.
  mutating func begin(columns: [String]) -> [UInt8] {
    self.columns = columns
    kinds = columns.map(kind)
    switch format {
    case .csv, .tsv: return line(columns.map { (.string($0), .plain) })
    case .json: return Array("[".utf8)
    case .ndjson: return []
    }
  }

  mutating func write(_ items: [JSON]) -> [UInt8] {
    var bytes: [UInt8] = []
    for item in items {
      switch format {
      case .csv, .tsv:
        bytes += line(zip(columns, kinds).map { (FetchResult.value($0, of: item), $1) })
      case .json:
        bytes += Array((count == 0 ? "\n" : ",\n").utf8)
        bytes.append(json: item)
      case .ndjson:
        bytes.append(json: item)
        bytes.append(0x0A)
      }
      count += 1
    }
    return bytes
  }

  func end() -> [UInt8] { format == .json ? Array((count == 0 ? "]\n" : "\n]\n").utf8) : [] }

  private func line(_ values: [(JSON, ColumnKind)]) -> [UInt8] {
    var bytes: [UInt8] = []
    for (index, (value, kind)) in values.enumerated() {
      if index > 0 { bytes.append(format == .tsv ? 0x09 : 0x2C) }
      append(value, kind, to: &bytes)
    }
    bytes.append(0x0A)
    return bytes
  }

  /// Writes nil as an empty field and an empty text in quotes; `livefetch import` reads both back.
  private func append(_ value: JSON, _ kind: ColumnKind, to bytes: inout [UInt8]) {
    switch value {
    case .null: return
    case .string(let text) where kind != .json:
      appendQuoted(Array(text.utf8), isText: kind == .untyped, to: &bytes)
    case .number(let text): bytes.append(contentsOf: text.utf8)
    default:
      var json: [UInt8] = []
      json.append(json: value)
      appendQuoted(json, to: &bytes)
    }
  }

  /// - Parameter isText: True to write quotes where the text does not need them.
  private func appendQuoted(_ text: [UInt8], isText: Bool = false, to bytes: inout [UInt8]) {
    let needsQuotes =
      isText || text.isEmpty || text.contains { [0x09, 0x0A, 0x0D, 0x22, 0x2C].contains($0) }
    guard needsQuotes else { return bytes.append(contentsOf: text) }
    bytes.append(0x22)
    for byte in text {
      if byte == 0x22 { bytes.append(0x22) }
      bytes.append(byte)
    }
    bytes.append(0x22)
  }
}
