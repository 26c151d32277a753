// Values → parameters in the form that libpq sends.

extension PostgresValue {
  /// A parameter as it is sent.
  struct Parameter {
    /// The type; 0 if the server infers it.
    var type: UInt32 = 0
    /// nil for NULL. Text does not end with a zero byte.
    var bytes: [UInt8]?
    var isBinary = false
  }

  /// The form in which this value is sent.
  var parameter: Parameter {
    switch self {
    case .null: Parameter()
    case .bool(let value): Parameter(text: value ? "t" : "f")
    case .integer(let value): Parameter(text: String(value))
    case .double(let value): Parameter(text: Self.text(of: value))
    case .numeric(let text), .text(let text), .uuid(let text), .json(let text):
      Parameter(text: text)
    case .xid(let id): Parameter(text: String(id))
    case .bytes(let bytes): Parameter(type: TypeID.bytea, bytes: bytes, isBinary: true)
    case .date(let days): Parameter(type: TypeID.date, integer: Self.daysSince2000(days))
    case .timestamp(let microseconds):
      Parameter(type: TypeID.timestamptz, integer: microseconds)
    case .other(let type, let bytes): Parameter(type: type, bytes: bytes, isBinary: true)
    }
  }

  private static func text(of double: Double) -> String {
    if double.isNaN { return "NaN" }
    if double.isInfinite { return double > 0 ? "Infinity" : "-Infinity" }
    return double.description
  }

  /// Converts days since 1970 to days since 2000. The least and the greatest number are PostgreSQL's
  /// infinite dates. Dates before the least one become -infinity.
  private static func daysSince2000(_ days: Int32) -> Int32 {
    if days == .min || days == .max { return days }
    let (difference, overflow) = days.subtractingReportingOverflow(daysTo2000)
    return overflow ? .min : difference
  }
}

extension PostgresValue.Parameter {
  fileprivate init(text: String) { self.init(bytes: Array(text.utf8)) }

  fileprivate init(type: UInt32, integer: some FixedWidthInteger) {
    let bytes = withUnsafeBytes(of: integer.bigEndian) { Array($0) }
    self.init(type: type, bytes: bytes, isBinary: true)
  }
}
