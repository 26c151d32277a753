// The destination of `livefetch export`: standard output, or a file that gets its name once it is
// complete.

import FetchModel
import Foundation

/// Writes the pages of an export.
struct ExportSink {
  /// nil for standard output.
  private let file: OutputFile?
  /// The temporary file; nil if the output is written directly: standard output, a device or a pipe.
  private let draft: OutputFile.Draft?
  private let output: Terminal
  private var writer: RowTextWriter
  private var hasBegun = false
  private var columnsIfEmpty: [String] = []
  private(set) var count = 0
  /// nil if no progress is shown.
  private var bar: ProgressBar?

  /// - Parameter path: The file to write; nil or `-` for standard output.
  init(path: String?, format: RecordFormat, showsProgress: Bool) throws {
    file = path.map { OutputFile(path: $0) }
    let opened = try file?.createDraft()
    output = opened?.output ?? .output
    draft = opened?.draft
    writer = RowTextWriter(format)
    bar = path != nil && path != "-" && showsProgress ? ProgressBar("export") : nil
  }

  /// True for a file; false for standard output, a device and a pipe.
  var isFile: Bool { draft != nil }

  /// True for CSV and TSV.
  var isDelimited: Bool { writer.format == .csv || writer.format == .tsv }

  /// Sets the columns of a result without items, and how strings of each column are quoted. Call it
  /// before the first page.
  mutating func describe(
    columnsIfEmpty: [String], _ kind: @escaping (_ column: String) -> ColumnKind
  ) {
    self.columnsIfEmpty = columnsIfEmpty
    writer.kind = kind
  }

  mutating func write(_ page: JSON) throws {
    let items = FetchResult.sections(page).flatMap(\.items)
    try begin(items)
    count += items.count
    try put(writer.write(items))
    bar?.show(nil, count: count, unit: "objects")
  }

  /// Writes the heading, before the first items or without any.
  private mutating func begin(_ items: [JSON]) throws {
    guard !hasBegun else { return }
    hasBegun = true
    try put(writer.begin(columns: items.isEmpty ? columnsIfEmpty : FetchResult.columns(of: items)))
  }

  /// Writes the end, and gives a file its name.
  mutating func finish() throws {
    bar?.clear()
    try begin([])
    try put(writer.end())
    guard let file, let draft else { return }
    guard close(output.descriptor) == 0, draft.complete() else {
      throw file.unwritable()
    }
  }

  /// Removes the temporary file.
  mutating func cancel() {
    bar?.clear()
    draft?.delete()
  }

  private func put(_ bytes: [UInt8]) throws {
    guard !output.write(bytes) else { return }
    throw file?.unwritable() ?? Terminal.unwritable()
  }
}
