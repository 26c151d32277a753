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
