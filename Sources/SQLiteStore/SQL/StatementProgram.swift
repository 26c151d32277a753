// A statement and its first bindings as bytes, which one statement hands to another. Only composed
// SQL stands in them, and only this process makes and reads them.
//
//     length, SQL, count, and for each binding its class with its bytes

import FetchModel

enum StatementProgram {
  private enum Class: UInt8 {
    case null, integer, double, text, blob
    /// A statement within: what `livefetch_apart` is given.
    case program
  }

  /// A binding as it is read.
  enum Binding {
    case value(SQLValue)
    case program([UInt8])
  }

  /// - Parameter programs: which of the bindings, blobs all of them, are programs themselves.
  static func encoded(_ sql: String, _ bindings: [SQLValue], programs: [Int]) -> [UInt8] {
    let programs = Set(programs)
    var bytes: [UInt8] = []
    append(Array(sql.utf8), to: &bytes)
    append(UInt64(bindings.count), to: &bytes)
    for (index, binding) in bindings.enumerated() {
      append(binding, isProgram: programs.contains(index), to: &bytes)
    }
    return bytes
  }

  /// Bytes that differ wherever values or their classes do.
  static func key(_ values: [SQLValue]) -> [UInt8] {
    var bytes: [UInt8] = []
    for value in values { append(value, isProgram: false, to: &bytes) }
    return bytes
  }

  private static func append(_ value: SQLValue, isProgram: Bool, to bytes: inout [UInt8]) {
    switch value {
    case .null: bytes.append(Class.null.rawValue)
    case .integer(let integer):
      bytes.append(Class.integer.rawValue)
      append(UInt64(bitPattern: integer), to: &bytes)
    case .double(let double):
      bytes.append(Class.double.rawValue)
      append(double.bitPattern, to: &bytes)
    case .text(let text):
      bytes.append(Class.text.rawValue)
      append(Array(text.utf8), to: &bytes)
    case .blob(let blob):
      bytes.append((isProgram ? Class.program : .blob).rawValue)
      append(blob, to: &bytes)
    }
  }

  private static func append(_ number: UInt64, to bytes: inout [UInt8]) {
    withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
  }

  private static func append(_ part: [UInt8], to bytes: inout [UInt8]) {
    append(UInt64(part.count), to: &bytes)
    bytes += part
  }

  /// The SQL and the bindings in `bytes`; nil where these are no program.
  static func decoded(_ bytes: [UInt8]) -> (sql: String, bindings: [Binding])? {
    var reader = Reader(bytes: bytes)
    guard let sql = reader.part(), let count = reader.number(), count <= bytes.count else {
      return nil
    }
    var bindings: [Binding] = []
    for _ in 0..<count {
      guard let binding = reader.binding() else { return nil }
      bindings.append(binding)
    }
    return (String(decoding: sql, as: UTF8.self), bindings)
  }

  private struct Reader {
    let bytes: [UInt8]
    var place = 0

    mutating func number() -> UInt64? {
      guard bytes.count - place >= 8 else { return nil }
      defer { place += 8 }
      return bytes[place..<place + 8].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    mutating func part() -> [UInt8]? {
      guard let count = number(), count <= bytes.count - place else { return nil }
      defer { place += Int(count) }
      return Array(bytes[place..<place + Int(count)])
    }

    mutating func binding() -> Binding? {
      guard place < bytes.count, let kind = Class(rawValue: bytes[place]) else { return nil }
      place += 1
      switch kind {
      case .null: return .value(.null)
      case .integer: return number().map { .value(.integer(Int64(bitPattern: $0))) }
      case .double: return number().map { .value(.double(Double(bitPattern: $0))) }
      case .text: return part().map { .value(.text(String(decoding: $0, as: UTF8.self))) }
      case .blob: return part().map { .value(.blob($0)) }
      case .program: return part().map { .program($0) }
      }
    }
  }
}
