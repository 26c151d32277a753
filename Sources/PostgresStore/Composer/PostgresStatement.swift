// Converts a composed statement to the text and the parameters that PostgreSQL takes.
//
//     "name" = ? AND livefetch_contains("note", ?, 0)
//     "name" = $1::text AND livefetch.livefetch_contains("note", $2::text, 0)

import FetchModel
import SQLComposer

/// A statement in PostgreSQL's form.
struct PostgresStatement: Hashable, Sendable {
  let sql: String
  let parameters: [PostgresValue]

  /// - Parameters:
  ///   - assigned: The number of the first values whose types the server infers, because they are
  ///     assigned to columns.
  ///   - comparesColumns: True if the other values are compared with columns, whose types the server
  ///     infers as well, except that an integer may be beyond the column's range.
  init(_ fragment: SQLFragment, assigned: Int = 0, comparesColumns: Bool = false) {
    let bindings =
      assigned > 0 || comparesColumns ? fragment.values : fragment.values.map(Self.integerIfExact)
    var writer = PlaceholderWriter(
      bindings: bindings, assigned: assigned, comparesColumns: comparesColumns)
    writer.write(Array(fragment.text.utf8))
    sql = String(decoding: writer.output, as: UTF8.self)
    parameters = writer.parameters.map(PostgresValue.init)
  }

  /// Returns a double without a fraction as an integer. In a comparison with a double, PostgreSQL would
  /// convert the integers of a column to doubles, which rounds large ones.
  private static func integerIfExact(_ value: SQLValue) -> SQLValue {
    guard case .double(let double) = value, let integer = Int64(exactly: double), integer != 0
    else { return value }
    return .integer(integer)
  }

  init(_ statement: FetchStatement) {
    self.init(SQLFragment(statement.sql, bindings: statement.bindings))
  }
}

extension PostgresValue {
  init(_ value: StoredValue) {
    switch value {
    case .null: self = .null
    case .integer(let integer): self = .integer(integer)
    case .double(let double): self = .double(double)
    case .text(let text): self = .text(text)
    case .blob(let bytes): self = .bytes(bytes)
    }
  }
}

/// Numbers the placeholders and gives them types, and qualifies LiveFetch's functions. Texts and names
/// in quotes stay as they are. O(length).
private struct PlaceholderWriter {
  private static let prefix = Array("livefetch_".utf8)
  private static let schema = Array("livefetch.".utf8)

  let bindings: [SQLValue]
  let assigned: Int
  let comparesColumns: Bool
  var output: [UInt8] = []
  private(set) var parameters: [SQLValue] = []
  private var placeholderCount = 0
  /// The numbers of the typed parameters. Equal values share one, so that equal expressions have equal
  /// texts, as GROUP BY needs.
  private var numbers: [SQLValue: Int] = [:]

  init(bindings: [SQLValue], assigned: Int, comparesColumns: Bool) {
    self.bindings = bindings
    self.assigned = assigned
    self.comparesColumns = comparesColumns
  }

  mutating func write(_ text: [UInt8]) {
    output.reserveCapacity(text.count + text.count / 8)
    var quote: UInt8?
    var index = 0
    while index < text.count {
      let byte = text[index]
      if let open = quote {
        if byte == open { quote = nil }
      } else if byte == 0x22 || byte == 0x27 {
        quote = byte
      } else if byte == 0x3F {
        writePlaceholder(isTyped: text[(index + 1)...].starts(with: "::".utf8))
        index += 1
        continue
      } else if byte == Self.prefix[0], isCall(in: text, at: index) {
        output += Self.schema
      }
      output.append(byte)
      index += 1
    }
  }

  private mutating func writePlaceholder(isTyped: Bool) {
    let binding = placeholderCount < bindings.count ? bindings[placeholderCount] : .null
    placeholderCount += 1
    let type = isTyped || placeholderCount <= assigned ? "" : type(of: binding)
    if !type.isEmpty, let number = numbers[binding] {
      output += Array("$\(number)\(type)".utf8)
      return
    }
    parameters.append(binding)
    if !type.isEmpty { numbers[binding] = parameters.count }
    output += Array("$\(parameters.count)\(type)".utf8)
  }

  private func type(of binding: SQLValue) -> String {
    switch binding {
    case .double where comparesColumns, .text where comparesColumns, .null, .blob: ""
    case .integer: "::bigint"
    case .double: "::float8"
    case .text: "::text"
    }
  }

  /// True if a call of a function of LiveFetch begins at `index`.
  private func isCall(in text: [UInt8], at index: Int) -> Bool {
    guard text[index...].starts(with: Self.prefix) else { return false }
    let previous = index > 0 ? text[index - 1] : 0x20
    guard !Self.isNamePart(previous), previous != 0x2E else { return false }
    let end = text[index...].firstIndex { !Self.isNamePart($0) }
    return end.map { text[$0] == 0x28 } ?? false
  }

  private static func isNamePart(_ byte: UInt8) -> Bool {
    byte == 0x5F || byte &- 0x30 < 10 || (byte | 0x20) &- 0x61 < 26
  }
}
