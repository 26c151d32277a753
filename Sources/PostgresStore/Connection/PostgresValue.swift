// Values of PostgreSQL's types, as parameters and in results.

/// The object identifiers of built-in types.
enum TypeID {
  static let bool: UInt32 = 16
  static let bytea: UInt32 = 17
  static let char: UInt32 = 18
  static let name: UInt32 = 19
  static let int8: UInt32 = 20
  static let int2: UInt32 = 21
  static let int4: UInt32 = 23
  static let text: UInt32 = 25
  static let oid: UInt32 = 26
  static let json: UInt32 = 114
  static let float4: UInt32 = 700
  static let float8: UInt32 = 701
  static let unknown: UInt32 = 705
  static let bpchar: UInt32 = 1042
  static let varchar: UInt32 = 1043
  static let date: UInt32 = 1082
  static let timestamp: UInt32 = 1114
  static let timestamptz: UInt32 = 1184
  static let interval: UInt32 = 1186
  static let numeric: UInt32 = 1700
  static let uuid: UInt32 = 2950
  static let jsonb: UInt32 = 3802
  static let xid8: UInt32 = 5069
}

/// A value with its type.
///
/// The server infers the types of most parameters from the statement: write `$1::bigint` where nothing
/// else determines it. Bytes, dates and timestamps carry their types.
enum PostgresValue: Hashable, Sendable {
  case null
  case bool(Bool)
  /// `smallint`, `integer`, `bigint` and `oid`.
  case integer(Int64)
  /// `real` and `double precision`; may be infinite or not a number.
  case double(Double)
  /// The exact decimal text of a `numeric`, with its scale: `1.50`, also `NaN` and `Infinity`.
  case numeric(String)
  /// Text types, enums, and every type without a case of its own that the server sends as text.
  case text(String)
  case bytes([UInt8])
  /// The lower-case text of a `uuid`.
  case uuid(String)
  /// The text of a `json` or `jsonb`.
  case json(String)
  /// Days since 1970-01-01; `Int32.max` and `Int32.min` for `infinity` and `-infinity`.
  case date(Int32)
  /// Microseconds since 2000, of a `timestamptz` or a `timestamp` that is understood as UTC;
  /// `Int64.max` and `Int64.min` for `infinity` and `-infinity`.
  case timestamp(Int64)
  /// A transaction id with its epoch.
  case xid(UInt64)
  /// The binary form of any other type.
  case other(type: UInt32, bytes: [UInt8])
}

extension PostgresValue: ExpressibleByIntegerLiteral, ExpressibleByStringLiteral,
  ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByFloatLiteral
{
  init(integerLiteral value: Int64) { self = .integer(value) }
  init(stringLiteral value: String) { self = .text(value) }
  init(nilLiteral: ()) { self = .null }
  init(booleanLiteral value: Bool) { self = .bool(value) }
  init(floatLiteral value: Double) { self = .double(value) }
}

extension PostgresValue {
  /// Days between 1970 and 2000, where PostgreSQL's times begin.
  static let daysTo2000: Int32 = 10_957

  /// The types of columns whose values are read in binary form; those of other types are read as text.
  static let decodedTypes: Set<UInt32> = [
    TypeID.bool, TypeID.int2, TypeID.int4, TypeID.int8, TypeID.oid, TypeID.float4, TypeID.float8,
    TypeID.numeric, TypeID.bytea, TypeID.uuid, TypeID.json, TypeID.jsonb, TypeID.date,
    TypeID.timestamp, TypeID.timestamptz, TypeID.text, TypeID.varchar, TypeID.bpchar, TypeID.name,
    TypeID.char,
  ]

  /// Decodes a value in binary form. Lengths and ranges are checked.
  init(binary bytes: UnsafeRawBufferPointer, type: UInt32) throws(PostgresError) {
    var reader = BinaryReader(bytes)
    switch type {
    case TypeID.bool: self = .bool(try reader.integer(UInt8.self) != 0)
    case TypeID.int2: self = .integer(Int64(try reader.integer(Int16.self)))
    case TypeID.int4: self = .integer(Int64(try reader.integer(Int32.self)))
    case TypeID.int8: self = .integer(try reader.integer(Int64.self))
    case TypeID.oid: self = .integer(Int64(try reader.integer(UInt32.self)))
    case TypeID.float4: self = .double(Double(Float(bitPattern: try reader.integer(UInt32.self))))
    case TypeID.float8: self = .double(Double(bitPattern: try reader.integer(UInt64.self)))
    case TypeID.xid8: self = .xid(try reader.integer(UInt64.self))
    case TypeID.numeric: self = .numeric(try reader.numeric())
    case TypeID.bytea: self = .bytes(Array(reader.rest()))
    case TypeID.uuid: self = .uuid(try reader.uuid())
    case TypeID.json: self = .json(reader.text())
    case TypeID.jsonb:
      guard try reader.integer(UInt8.self) == 1 else { throw .malformed("jsonb version") }
      self = .json(reader.text())
    case TypeID.date: self = .date(Self.date(try reader.integer(Int32.self)))
    case TypeID.timestamp, TypeID.timestamptz:
      self = .timestamp(try reader.integer(Int64.self))
    case TypeID.text, TypeID.varchar, TypeID.bpchar, TypeID.name, TypeID.char, TypeID.unknown:
      self = .text(reader.text())
    default: self = .other(type: type, bytes: Array(reader.rest()))
    }
    guard reader.isAtEnd else { throw .malformed("a value of type \(type) is too long") }
  }

  /// Every finite value of the server fits; a wrong one is clamped to infinity.
  private static func date(_ days: Int32) -> Int32 {
    if days == .min || days == .max { return days }
    let (sum, overflow) = days.addingReportingOverflow(daysTo2000)
    return overflow ? .max : sum
  }
}
