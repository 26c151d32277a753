// Numbers → JSON text.

import FetchModel
import TestSupport
import Testing

@Suite("Numbers as JSON")
struct JSONNumberTests {
  private static func json(_ double: Double) -> String {
    var bytes: [UInt8] = []
    bytes.append(json: double)
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Double → JSON.
  private static let cases: [(Double, String)] = [
    (0.1, "0.1"), (-0.5, "-0.5"), (1, "1"), (-0.0, "0"), (42.50779, "42.50779"),
    (-122.41942, "-122.41942"), (1234.56, "1234.56"), (0.00001, "1e-05"), (0.0001, "0.0001"),
    (0.00012, "0.00012"), (0.000123, "0.000123"), (0.30000000000000004, "0.30000000000000004"),
    (0.3333333333333333, "0.3333333333333333"), (999_999_999.99999, "999999999.99999"),
    (1_000_000_000.5, "1000000000.5"), (123_456_789_012.125, "123456789012.125"),
    (9_007_199_254_740_992, "9007199254740992.0"), (1e300, "1e+300"),
    (.leastNonzeroMagnitude, "5e-324"),
    (.infinity, "\"Infinity\""), (-.infinity, "\"-Infinity\""), (.nan, "null"),
  ]

  @Test("a double has the shortest digits that read back as it", arguments: cases)
  func digits(double: Double, text: String) {
    #expect(Self.json(double) == text)
  }

  /// A number's text → the integer that it is exactly, if any.
  private static let integers: [(String, Int64?)] = [
    ("1", 1), ("-0", 0), ("1e3", 1_000), ("2.0", 2), ("-2.50e1", -25), ("0.0", 0),
    ("1.00000000000000000001", nil), ("4503599627370497.5", nil), ("0.5", nil), ("1e-3", nil),
    ("1e16", 10_000_000_000_000_000), ("9007199254740993.0", 9_007_199_254_740_993),
    ("9223372036854775807.0", .max), ("-9223372036854775808.0", .min),
    ("9223372036854775808", nil), ("9.223372036854775808e18", nil), ("1e400", nil), ("1e9999", nil),
    ("0x1F", nil), ("0x1p4", nil), ("nan", nil), ("inf", nil), ("", nil),
  ]

  @Test("a number is an integer exactly, or not at all", arguments: integers)
  func integer(text: String, integer: Int64?) {
    #expect(JSON.number(text).integer == integer)
    let imported = Array(text.utf8).withUnsafeBufferPointer { $0.importedInteger }
    #expect(imported == integer)
  }

  @Test("a result may have 16 levels around a stored value of 64")
  func depth() {
    func nested(_ count: Int) -> [UInt8] {
      Array((String(repeating: "[", count: count) + String(repeating: "]", count: count)).utf8)
    }
    #expect((try? JSON(stored: nested(64))) != nil)
    #expect((try? JSON(stored: nested(65))) == nil)
    #expect((try? JSON(result: nested(80))) != nil)
    #expect((try? JSON(result: nested(81))) == nil)
  }

  @Test("a request's string has at most 256 combining marks in succession")
  func combiningMarks() throws {
    let (most, tooMany) = (Self.marks(256), Self.marks(257))
    let read = try JSON(request: Array("\"a\(most)b\(most)\"".utf8))
    #expect(read == .string("a\(most)b\(most)"))
    for text in ["{\"a\(tooMany)\":1}", "\"a\(tooMany)\"", "\"a\(most)\\u0301\""] {
      do throws(JSONError) {
        _ = try JSON(request: Array(text.utf8))
        Issue.record("\(text.utf8.count) bytes")
      } catch {
        #expect(error.expected == "at most 256 combining marks in succession")
      }
      #expect((try? JSON(stored: Array(text.utf8))) != nil)
    }
    #expect(throws: PredicateError.self) {
      _ = try Predicate(parsing: "#\"a" + String(repeating: "\\u0301", count: 257) + "\" == 1")
    }
    #expect(throws: Never.self) {
      _ = try Predicate(parsing: "#\"a" + String(repeating: "\\u0301", count: 256) + "\" == 1")
    }
  }

  private static func marks(_ count: Int) -> String {
    String(String(repeating: "\u{316}\u{301}", count: count).unicodeScalars.prefix(count))
  }

  @Test(
    "an untyped column stores an integer for an integer, and a double for a double from 2^53 on",
    arguments: [
      ("7", .integer(7)), ("1e3", .integer(1_000)), ("9007199254740993", .integer((1 << 53) + 1)),
      ("1e+16", .double(1e16)), ("9007199254740992.0", .double(0x1p53)), ("0.5", .double(0.5)),
    ] as [(String, Value)])
  func untyped(text: String, value: Value) {
    let attribute = Attribute(name: "any", type: .integer, isUntyped: true)
    #expect(Value(.number(text), of: attribute) == value)
  }

  private static let units: [Double] = [1e1, 1e2, 1e4, 1e5, 1e6, 1e7]

  @Test("a fraction has the digits of its description")
  func generated() {
    var random = SeededRandom()
    for _ in 0..<100_000 {
      let unit = Self.units[Int.random(in: 0..<Self.units.count, using: &random)]
      let most = Int64(1) << Int64.random(in: 1...52, using: &random)
      let fraction = Double(Int64.random(in: -most...most, using: &random)) / unit
      for double in [fraction, fraction.nextUp] where double.rounded() != double {
        #expect(Self.json(double) == double.description, "seed \(random.seed)")
      }
    }
  }
}
