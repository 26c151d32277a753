// Values of PostgreSQL's types → values as an SQLite file stores them, which order keys and the evaluator
// know.

import FetchModel

extension StoredValue {
  /// Dates become text whose order by bytes is the order of the instants. A decimal becomes an integer if 64
  /// bits hold it, otherwise the nearest double. NaN becomes null.
  init(_ value: PostgresValue) {
    switch value {
    case .null: self = .null
    case .bool(let isTrue): self = .integer(isTrue ? 1 : 0)
    case .integer(let integer): self = .integer(integer)
    case .double(let double): self = double.isNaN ? .null : .double(double)
    case .numeric(let text): self.init(numeric: text)
    case .date, .timestamp:
      let text = Instant(value).map { DateStyle(.iso8601).comparable($0) }
      self = .text(text.map { String(decoding: $0, as: UTF8.self) } ?? value.infiniteDateKey)
    case .text(let text), .uuid(let text), .json(let text): self = .text(text)
    case .bytes(let bytes), .other(_, let bytes): self = .blob(bytes)
    case .xid(let id): self = .integer(Int64(clamping: id))
    }
  }

  private init(numeric text: String) {
    if let integer = Int64(NumericText.canonical(text)) {
      self = .integer(integer)
    } else {
      let double = Double(text) ?? .nan
      self = double.isNaN ? .null : .double(double)
    }
  }
}

extension Instant {
  private static let secondsPerDay: Int64 = 86_400

  /// The instant of a date or a timestamp; nil for infinite ones and other values.
  init?(_ value: PostgresValue) {
    switch value {
    case .date(let days) where days != .max && days != .min:
      self.init(seconds: Int64(days) * Self.secondsPerDay)
    case .timestamp(let microseconds) where microseconds != .max && microseconds != .min:
      var (seconds, rest) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
      if rest < 0 { (seconds, rest) = (seconds - 1, rest + 1_000_000) }
      seconds += Int64(PostgresValue.daysTo2000) * Self.secondsPerDay
      self.init(seconds: seconds, nanoseconds: Int32(rest) * 1_000)
    default: return nil
    }
  }
}

extension PostgresValue {
  /// The server's text of this date, which is infinite.
  var infiniteDateText: String {
    switch self {
    case .date(.min), .timestamp(.min): "-infinity"
    default: "infinity"
    }
  }

  /// The sort key of this date, which is infinite. A space sorts before every digit, a letter after.
  fileprivate var infiniteDateKey: String {
    infiniteDateText == "infinity" ? "infinity" : " -infinity"
  }
}

/// The digits of a `numeric`, whose scale is no part of its value.
enum NumericText {
  /// Removes the zeros at the end of a fraction: `1.50` is `1.5`, and `2.00` is `2`.
  static func canonical(_ text: String) -> String {
    guard text.utf8.contains(0x2E) else { return text }
    var digits = Substring(text)
    while digits.utf8.last == 0x30 { digits.removeLast() }
    if digits.utf8.last == 0x2E { digits.removeLast() }
    return String(digits)
  }
}

/// JSON without blanks between its tokens.
enum CompactJSON {
  /// O(length). Bytes inside strings stay as they are.
  static func bytes(of json: String) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(json.utf8.count)
    var isString = false
    var isEscaped = false
    for byte in json.utf8 {
      if isString {
        if isEscaped {
          isEscaped = false
        } else if byte == 0x5C {
          isEscaped = true
        } else if byte == 0x22 {
          isString = false
        }
      } else if byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 {
        continue
      } else if byte == 0x22 {
        isString = true
      }
      result.append(byte)
    }
    return result
  }
}
