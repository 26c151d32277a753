// Sample values of a file's field → the type of a new column, and the table for a file.

import LiveFetchCLibrary

/// Infers the type of a file's field from sample values.
public struct TypeGuess: Sendable, Hashable {
  private var candidates: Set<AttributeType> = [.boolean, .integer, .double, .date, .json]
  private var hasTime = false
  private var hasStructure = false
  private var isEmpty = true

  /// Creates an inference without samples.
  public init() {}

  /// Adds a sample value.
  public mutating func add(_ field: ImportedField) {
    switch field {
    case .missing, .null, .json(.null): return
    case .text(let utf8), .quoted(let utf8): add(text: utf8.string)
    case .json(let json): add(json)
    }
    isEmpty = false
  }

  private mutating func add(text: String) {
    candidates.remove(.json)
    if !["true", "false"].contains(text.lowercased()) { candidates.remove(.boolean) }
    if !Self.isPlainInteger(text) { candidates.remove(.integer) }
    if !Self.isPlainNumber(text) || Int64(text).map(Self.isInexact) == true {
      candidates.remove(.double)
    }
    add(date: text)
  }

  /// True if a double would lose digits of the integer.
  private static func isInexact(_ integer: Int64) -> Bool {
    Int64(exactly: Double(integer)) != integer
  }

  private mutating func add(_ json: JSON) {
    switch json {
    case .null: return
    case .boolean: candidates.formIntersection([.boolean])
    case .number(let text):
      candidates.formIntersection(Self.types(ofNumber: text, json))
    case .string(let text):
      candidates.formIntersection([.date])
      add(date: text)
    case .array, .object:
      candidates.formIntersection([.json])
      hasStructure = true
    }
  }

  /// Integers of more than 64 bits, and fractions of more digits than a double has, become text, which
  /// keeps their digits.
  private static func types(ofNumber text: String, _ json: JSON) -> Set<AttributeType> {
    if let integer = json.integer {
      return Self.isInexact(integer) ? [.integer] : [.integer, .double]
    }
    guard text.utf8.contains(where: { [0x2E, 0x45, 0x65].contains($0) }) else { return [] }
    // A number beyond all doubles is refused with its row.
    return json.double.map { keepsDigits(of: text, $0) } ?? true ? [.double] : []
  }

  private mutating func add(date text: String) {
    guard candidates.contains(.date) else { return }
    let isDate = text.utf8.count >= 10 && text.utf8.dropFirst(4).first == 0x2D
    if isDate, Instant(iso8601: text) != nil {
      hasTime = hasTime || text.utf8.count > 10
    } else {
      candidates.remove(.date)
    }
  }

  /// `007` is text: a code whose leading zeros matter.
  private static func isPlainInteger(_ text: String) -> Bool {
    let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
    return Int64(text) != nil && !text.hasPrefix("+") && (digits == "0" || !digits.hasPrefix("0"))
  }

  /// `07.5` is text, as `007` is, and so is a number of more digits than a double has.
  static func isPlainNumber(_ text: String) -> Bool {
    if isPlainInteger(text) { return true }
    let digits = text.utf8.drop { $0 == 0x2D }
    guard let first = digits.first, first >= 0x30, first <= 0x39,
      text.utf8.contains(where: { [0x2E, 0x45, 0x65].contains($0) }),
      let double = Double(decimal: text), double.isFinite
    else { return false }
    let hasLeadingZero =
      first == 0x30 && digits.dropFirst().first.map { $0 >= 0x30 && $0 <= 0x39 } == true
    return !hasLeadingZero && keepsDigits(of: text, double)
  }

  /// True if `double`, written with as many digits as `text` has or as few as it needs, has the same
  /// digits.
  private static func keepsDigits(of text: String, _ double: Double) -> Bool {
    guard let number = ExactDecimal(text) else { return false }
    let count = number.digits.count
    // Every double but the smallest ones keeps 15 digits.
    guard count > 0, count > 15 || !double.isNormal else { return true }
    if ExactDecimal(double) == number { return true }
    var written = [CChar](repeating: 0, count: count + 16)
    withVaList([CInt(count - 1), double]) { arguments in
      _ = vsnprintf(&written, written.count, "%.*e", arguments)
    }
    let bytes = written.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    return ExactDecimal(String(decoding: bytes, as: UTF8.self)) == number
  }

  /// The type that includes every sample. If there is none: JSON if an array or an object is among
  /// the samples, otherwise text. Text without samples.
  public var type: AttributeType {
    guard !isEmpty else { return .string }
    return [.boolean, .integer, .double, .date, .json].first { candidates.contains($0) }
      ?? (hasStructure ? .json : .string)
  }

  /// The declared type of a column for these values.
  public var declaration: String {
    type == .date && !hasTime ? "DATE" : Self.declaration(of: type)
  }

  /// Returns the declared type of a column of `type`.
  public static func declaration(of type: AttributeType) -> String {
    switch type {
    case .integer: "INTEGER"
    case .double: "REAL"
    case .decimal: "NUMERIC"
    case .string: "TEXT"
    case .boolean: "BOOLEAN"
    case .date: "TIMESTAMP"
    case .binary: "BLOB"
    case .uuid: "UUID"
    case .uri: "URI"
    case .json: "JSON"
    }
  }
}

/// A table created for an import.
public struct NewTable: Sendable {
  /// The name of the table.
  public let name: String
  /// Names and declared types, in file order.
  public let columns: [(name: String, declaration: String)]
  /// The columns that identify existing rows.
  public let key: [String]

  /// Makes a new table.
  public init(name: String, columns: [(name: String, declaration: String)], key: [String]) {
    self.name = name
    self.columns = columns
    self.key = key
  }
}
