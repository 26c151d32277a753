// A seed → rows and predicates for the parity test of SQL and the evaluator.

import FetchModel
import SQLComposer
import TestSupport

/// Generated rows and predicates with hard cases: nil, empty text, surrogate pairs, marks, the
/// bounds of integers and doubles, and values whose type differs from the column's.
struct EvaluatorCases: SeededCaseGenerator {
  var random: SeededRandom

  init(seed: UInt64) { random = SeededRandom(seed: seed) }

  // MARK: Values

  static let integers: [Int64] = [
    0, 1, -1, 2, 3, 5, 7, 64, 100, -100, .max, .min, .max - 1, .min + 1, 1 << 53, (1 << 53) + 1,
    (1 << 53) - 1, -(1 << 53) - 1, 1 << 62, 978_307_200,
  ]
  static let doubles: [Double] = [
    0, -0.0, 0.5, -0.5, 1, 2.5, 1e15, 0x1p53, 0x1p53 + 2, 0x1p63, -0x1p63, 1e308, -1e308,
    .leastNonzeroMagnitude,
    .infinity, -.infinity, .nan, 0.1, 3,
  ]
  static let texts = [
    "", "a", "A", "ä", "a\u{308}", "Ä", "ß", "SS", "ss", "İ", "i", "I", "ı", "i\u{307}", "é",
    "e\u{301}", "𝄞", "😀a", "\u{FFFF}", "ﬀ", "K", "Σ", "σ", "ς", "Berlin", "berlin", "Bérlin",
    "abc", "ab", "b", "12", "1e3", " 7 ", "0x1F", "a*b", "a?b", "x\u{0}y", "zzz", "true", "Ⅷ",
    "９", "名古屋", "\u{1F1E9}\u{1F1EA}", "9223372036854775808",
  ]
  static let dates = [
    "2024-02-29T10:00:00Z", "2001-01-01T00:00:00Z", "1969-12-31T23:59:59Z",
    "2024-02-29T10:00:00.5Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z",
    "2024-02-29T12:00:00+02:00", "2024-02-29",
  ]

  private mutating func integer() -> StoredValue { .integer(pick(Self.integers)) }
  private mutating func double() -> StoredValue { .double(pick(Self.doubles)) }
  private mutating func text() -> StoredValue { .text(pick(Self.texts)) }

  /// Usually returns a value of the column's type.
  private mutating func value(_ usual: (inout Self) -> StoredValue) -> StoredValue {
    switch number(0...19) {
    case 0...2: .null
    case 3: integer()
    case 4: double()
    case 5: text()
    case 6: .blob(pick([[], [0], [0x61], [0xFF, 0xFE]]))
    default: usual(&self)
    }
  }

  private mutating func present(_ usual: (inout Self) -> StoredValue) -> StoredValue {
    let value = value(usual)
    if case .null = value { return .integer(1) }
    if case .double(let double) = value, double.isNaN { return .integer(2) }
    return value
  }

  private mutating func date(_ format: DateFormat) -> StoredValue {
    guard let instant = Instant(iso8601: pick(Self.dates)) else { return .null }
    return StoredValue(.date(instant), format)
  }

  mutating func team(_ id: Int) -> [StoredValue] {
    [.integer(Int64(id)), value { $0.text() }, value { $0.integer() }, value { $0.date(.iso8601) }]
  }

  mutating func thing(_ id: Int) -> [StoredValue] {
    [
      .integer(oneIn(12) ? Self.integers[10] - Int64(id) : Int64(id)), value { $0.text() },
      value { $0.text() }, value { $0.integer() }, present { $0.integer() }, value { $0.double() },
      value { $0.oneIn(2) ? $0.integer() : $0.double() },
      value { .integer(Int64($0.number(0...1))) }, value { $0.date(.iso8601) },
      value { $0.date(.sqlText) }, value { $0.date(.day) }, value { $0.date(.unixSeconds) },
      present { $0.date(.iso8601) },
      value { _ in .text("6F9619FF-8B86-D011-B42D-00C04FC964FF") }, value { $0.text() },
      value { .blob($0.pick([[], [1, 2], [1], [2]])) }, value { $0.text() },
      value { $0.integer() }, oneIn(4) ? .null : .integer(Int64(number(1...6))),
      .text(pick(["a", "A", "ß", "SS", "12", "b"])),
    ]
  }

  // MARK: Predicates

  mutating func predicate(_ entity: String, depth: Int = 2) -> String {
    switch number(0...9) {
    case 0 where depth > 0:
      "(\(predicate(entity, depth: depth - 1))) AND (\(predicate(entity, depth: depth - 1)))"
    case 1 where depth > 0:
      "(\(predicate(entity, depth: depth - 1))) OR (\(predicate(entity, depth: depth - 1)))"
    case 2 where depth > 0: "NOT (\(predicate(entity, depth: depth - 1)))"
    case 3: collection(entity)
    case 4...6: textual(entity)
    case 7: dated(entity)
    case 8 where entity == "thing": other()
    default: numeric(entity)
    }
  }

  private mutating func relation() -> String { pick(["==", "!=", "<", "<=", ">", ">=", "="]) }
  private mutating func options() -> String { pick(["", "", "", "[c]", "[d]", "[cd]", "[n]"]) }

  private mutating func numeric(_ entity: String) -> String {
    let left = count(entity)
    switch number(0...5) {
    case 0: return "\(left) BETWEEN {\(literal()), \(literal())}"
    case 1: return "\(left) IN {\(literal()), \(literal()), \(pick(["nil", literal()]))}"
    case 2: return "\(left) \(pick(["==", "!=", "<=", ">", ">="])) nil"
    default: return "\(left) \(relation()) \(oneIn(3) ? count(entity) : literal())"
    }
  }

  private mutating func literal() -> String {
    if oneIn(3) { return "\(pick(Self.doubles.filter(\.isFinite)))" }
    return "\(pick(Self.integers.filter { $0 != .min }))"
  }

  /// Returns a numeric expression.
  private mutating func count(_ entity: String, depth: Int = 2) -> String {
    let inner = { (cases: inout Self) in cases.count(entity, depth: depth - 1) }
    guard depth > 0, oneIn(2) else {
      let paths =
        entity == "team"
        ? ["level", "level", "id"]
        : ["count", "count", "ratio", "price", "flag", "size", "weight", "team.level", "id"]
      return oneIn(6) ? literal() : pick(paths)
    }
    switch number(0...9) {
    case 0...2: return "(\(inner(&self)) \(pick(["+", "-", "*", "/", "**"])) \(inner(&self)))"
    case 3:
      let functions = ["abs", "sqrt", "floor", "ceiling", "trunc", "ln", "log", "exp"]
      return "\(pick(functions))(\(inner(&self)))"
    case 4:
      let functions = [
        "modulus:by:", "bitwiseAnd:with:", "bitwiseOr:with:", "bitwiseXor:with:", "leftshift:by:",
        "rightshift:by:", "raise:toPower:",
      ]
      return "FUNCTION('\(pick(functions))', \(inner(&self)), \(inner(&self)))"
    case 5: return "length(\(words(entity)))"
    case 6: return "TERNARY(\(predicate(entity, depth: 0)), \(inner(&self)), \(inner(&self)))"
    case 7: return "\(pick(["max", "min", "sum"]))({\(inner(&self)), \(inner(&self)), 3})"
    case 8: return "CAST(\(words(entity)), 'NSNumber')"
    default: return "onesComplement(\(inner(&self)))"
    }
  }

  private mutating func textual(_ entity: String) -> String {
    let left = words(entity)
    switch number(0...7) {
    case 0: return "\(left) IN\(options()) {\(quoted()), \(quoted()), \(pick(["nil", quoted()]))}"
    case 1: return "\(left) BETWEEN {\(quoted()), \(quoted())}"
    case 2: return "\(left) \(pick(["==", "!="])) nil"
    case 3, 4:
      let operators = ["BEGINSWITH", "ENDSWITH", "CONTAINS"]
      return "\(left) \(pick(operators))\(options()) \(oneIn(3) ? words(entity) : quoted())"
    case 5:
      let patterns = ["'a*'", "'*b'", "'?'", "'*'", "'a?b'", "'*er*'", "''", "'[ab]'"]
      return "\(left) LIKE\(options()) \(pick(patterns))"
    case 6:
      let patterns = ["'a.*'", "'[a-z]+'", "'.'", "'\\\\d+'", "''", "'(a|b)c?'", "'ß|ss'"]
      return "\(left) MATCHES\(options()) \(pick(patterns))"
    default:
      return "\(left) \(relation())\(options()) \(oneIn(3) ? words(entity) : quoted())"
    }
  }

  private mutating func quoted() -> String { "'\(pick(Self.texts.filter { $0 != "x\u{0}y" }))'" }

  /// Returns a text expression.
  private mutating func words(_ entity: String) -> String {
    let paths =
      entity == "team"
      ? ["title"] : ["name", "note", "token", "link", "loose", "team.title", "home.label"]
    switch number(0...9) {
    case 0: return "\(pick(["uppercase", "lowercase", "canonical"]))(\(pick(paths)))"
    case 1: return "CAST(\(count(entity, depth: 1)), 'NSString')"
    case 2: return "TERNARY(\(predicate(entity, depth: 0)), \(pick(paths)), \(quoted()))"
    default: return pick(paths)
    }
  }

  private mutating func dated(_ entity: String) -> String {
    let left = dateExpression(entity)
    switch number(0...4) {
    case 0: return "\(left) BETWEEN {\(dateLiteral()), \(dateLiteral())}"
    case 1: return "\(left) IN {\(dateLiteral()), \(dateLiteral())}"
    case 2: return "\(left) \(pick(["==", "!=", "<="])) nil"
    default: return "\(left) \(relation()) \(oneIn(2) ? dateExpression(entity) : dateLiteral())"
    }
  }

  private mutating func dateLiteral() -> String {
    oneIn(4) ? "CAST(\(number(-1...1)), 'NSDate')" : "'\(pick(Self.dates))'"
  }

  private mutating func dateExpression(_ entity: String) -> String {
    let paths =
      entity == "team" ? ["since"] : ["made", "seen", "day", "stamp", "born", "team.since"]
    switch number(0...9) {
    case 8:
      let function = pick(["max", "min"])
      return "\(function)({\(pick(["CAST('2020-01-01', 'NSDate')", pick(paths)])), \(pick(paths))})"
    case 9:
      return """
        TERNARY(\(predicate(entity, depth: 0)), CAST(\(number(-1...1)), 'NSDate'), \
        \(pick(["CAST('2020-01-01', 'NSDate')", pick(paths)])))
        """
    case 0: return "CAST(\(count(entity, depth: 1)), 'NSDate')"
    case 1: return "TERNARY(\(predicate(entity, depth: 0)), \(pick(paths)), \(pick(paths)))"
    case 2: return "CAST(CAST(\(pick(paths)), 'NSNumber'), 'NSDate')"
    default: return pick(paths)
    }
  }

  private mutating func other() -> String {
    pick([
      "SELF == \(number(1...24))", "SELF IN {1, 2, \(number(1...24))}", "team == \(number(1...6))",
      "team != nil", "team IN {1, 2}", "team == team.id", "flag == TRUE", "flag != NO", "flag",
      "bytes == 'AQI='", "bytes != nil", "bytes < 'Ag=='", "team.id == \(number(1...6))",
      "token == '6F9619FF-8B86-D011-B42D-00C04FC964FF'", "size == count", "price >= ratio",
      "name == note", "name ==[cd] note", "loose < name",
      "home == 'a'", "home != 'SS'", "home IN {'A', 'b'}", "home == home.label", "home == nil",
    ])
  }

  private mutating func collection(_ entity: String) -> String {
    let path = entity == "team" ? "thing" : "team.thing"
    let value = pick(["count", "size", "flag", "ratio", "id"])
    switch number(0...6) {
    case 0...1:
      return "\(pick(["ANY", "ALL", "NONE", "SOME"])) \(path).\(value) \(relation()) \(literal())"
    case 2:
      let name = pick(["name", "note", "loose"])
      return "\(pick(["ANY", "NONE"])) \(path).\(name) ==\(options()) \(quoted())"
    case 3: return "\(path).@count \(relation()) \(number(0...6))"
    case 4:
      return "\(path).@\(pick(["min", "max", "sum"])).\(value) \(relation()) \(count(entity))"
    case 5:
      return "SUBQUERY(\(path), $x, $x.\(value) \(relation()) \(count(entity))).@count > 1"
    default: return "\(path).@distinctUnionOfObjects.\(value).@count \(relation()) 2"
    }
  }
}
