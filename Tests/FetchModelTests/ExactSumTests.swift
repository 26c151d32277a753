// Infinities, NaN and sums beyond 64 bits.

import FetchModel
import Testing

@Suite("Exact sums")
struct ExactSumTests {
  private static func total(_ doubles: [Double]) -> (total: ExactSum.Total?, count: Int64) {
    ExactSum.with { sum in
      for double in doubles { sum.add(double) }
      return (sum.finalTotal(), sum.count)
    }
  }

  @Test("a sum is infinite if one of its numbers is, and has no value if infinities cancel")
  func infinities() {
    #expect(Self.total([1, .infinity]).total == .double(.infinity))
    #expect(Self.total([-.infinity, 1]).total == .double(-.infinity))
    #expect(Self.total([.infinity, -.infinity, 1]).total == nil)
  }

  @Test("NaN adds nothing but counts")
  func notANumber() {
    let sum = Self.total([1, .nan])
    #expect(sum.total == .double(1))
    #expect(sum.count == 2)
  }

  @Test("a sum of integers is an integer if 64 bits hold it, otherwise the nearest double")
  func integers() {
    func total(_ integers: [Int64]) -> ExactSum.Total? {
      ExactSum.with { sum in
        for integer in integers { sum.add(integer) }
        return sum.finalTotal()
      }
    }
    #expect(total([Int64.max, 1, -1]) == .integer(9_223_372_036_854_775_807))
    #expect(total([Int64.max, 1]) == .double(9_223_372_036_854_775_808))
  }
}
