// Calculations whose last digit matters: decimals in decimal digits, integers as integers.

import FetchModel
import TestSupport
import Testing

@testable import SQLiteStore

@Suite("Predicates: exact calculations", .mayBlock)
struct PredicateArithmeticTests {
  private static let sql = """
    CREATE TABLE shop(id INTEGER PRIMARY KEY);
    CREATE TABLE item(id INTEGER PRIMARY KEY, price DECIMAL(12,4), tax DECIMAL, ratio REAL,
      count INTEGER, large INTEGER, shop_id INTEGER REFERENCES shop);
    INSERT INTO shop VALUES (1);
    INSERT INTO item VALUES (1, 0.1, 0.2, 0.1, 3, 9007199254740993, 1),
      (2, 1.15, 0.01, 1.15, 100, -9007199254740993, 1),
      (3, NULL, 2, NULL, NULL, 9223372036854775807, NULL);
    """

  @Test(
    "decimals have no binary fractions",
    arguments: [
      ("price + tax == 0.3", "1"), ("tax + price <= 0.3", "1"), ("price + tax > 0.3", "2"),
      ("price + 0.2 == 0.3", "1"), ("price * 3 == 0.3", "1"), ("price * count == 115", "2"),
      ("floor(price * 100) == 115", "2"), ("trunc(price * count) == 115", "2"),
      ("price - tax == -0.1", "1"), ("(price + tax) * 10 - 3 == 0", "1"),
      ("-price == -0.1", "1"), ("price / 3 * 3 == 0.1", "1"), ("1 / price == 10", "1"),
      ("price / 0 == nil", "1 2 3"), ("price + tax == nil", "3"), ("price + nil == nil", "1 2 3"),
      ("TERNARY(id == 1, price, tax) + 0.2 == 0.3", "1"), ("sum({price, tax}) == 0.3", "1"),
      ("max({price, tax}) + 0.1 == 0.3", "1"), ("price ** 2 > 0.0099", "1 2"),
      // Arithmetic with a double gives a double.
      ("ratio + 0.2 == 0.3", ""), ("ratio * 100 == 115", ""), ("price + ratio + 0.1 == 0.3", ""),
      ("price + tax IN {0.3, 7}", "1"), ("price + tax BETWEEN {0.3, 0.3}", "1"),
      ("SUBQUERY(shop.item, $i, $i.price + $i.tax == 0.3).@count == 1 AND id == 1", "1"),
      ("shop.item.@sum.price == 1.25", "1 2"), ("shop.item.@sum.tax + 0.09 == 0.3", "1 2"),
      ("average({price, tax}) == 0.15", "1"), ("shop.item.@avg.tax == 0.105", "1 2"),
      ("SUBQUERY(shop.item, $i, $i.id == 1).@avg.tax == 0.2", "1 2"),
    ])
  func decimals(text: String, ids: String) throws {
    let fixture = try PredicateFixture(Self.sql)
    #expect(try fixture.ids(text, entity: "item") == ids)
    let all = Set(["1", "2", "3"])
    let found = Set(try fixture.ids(text, entity: "item").split(separator: " ").map(String.init))
    let others = try fixture.ids("NOT (\(text))", entity: "item").split(separator: " ")
    #expect(all.subtracting(found) == Set(others.map(String.init)))
  }

  @Test(
    "integers keep their digits, and become doubles if the result exceeds 64 bits",
    arguments: [
      ("floor(large) == 9007199254740993", "1"), ("ceiling(large) == 9007199254740993", "1"),
      ("trunc(large) == -9007199254740993", "2"), ("floor(large) == 9007199254740992", ""),
      ("3 ** 34 == 16677181699666569", "1 2 3"), ("count ** 2 == 9", "1"),
      ("3 ** 34 == 16677181699666568", ""), ("2 ** 64 == 18446744073709551616", "1 2 3"),
      ("2 ** -1 == 0.5", "1 2 3"), ("(-3) ** 3 == -27", "1 2 3"), ("0 ** 0 == 1", "1 2 3"),
      ("raise:toPower:(large, 1) == 9007199254740993", "1"),
      ("floor(count) / 2 == 1", "1"), ("ceiling(count) / 2 == 1", "1"),
      ("trunc(count) / 2 == 1", "1"), ("trunc(0 - count) / 2 == -1", "1"),
      ("count ** 1 / 2 == 1", "1"), ("raise:toPower:(count, 1) / 2 == 1", "1"),
      ("7 / trunc(count) == 2", "1"), ("trunc(7) / 2 == 3", "1 2 3"),
      ("floor(ratio * 30) / 2 == 1.5", "1"), ("count ** -1 * 6 / 4 == 0.5", "1"),
      ("floor(count + 0.5) / 2 == 1.5", "1"), ("divide:by:(floor(count), 2) == 1", "1"),
      ("large + 1 == 9223372036854775808.0", "3"), ("large * 1 == 9223372036854775807", "3"),
      ("bitwiseAnd:with:(count + 0.9, 7) == 3", "1"),
      ("bitwiseOr:with:(0 - 1.5, 0) == -1", "1 2 3"), ("onesComplement(2.9) == -3", "1 2 3"),
    ])
  func integers(text: String, ids: String) throws {
    #expect(try PredicateFixture(Self.sql).ids(text, entity: "item") == ids)
  }

  @Test(
    "a value that is not a number is nil in calculations on a numeric column, and aggregates skip it",
    arguments: [
      ("count + 1 == nil", "2 3"), ("1 - count == nil", "2 3"), ("count * 2 == 0", ""),
      ("-count == 0", ""), ("ratio / 2 == 0", ""), ("ratio + ratio == nil", "2 3"),
      ("modulus:by:(count, 2) == 0", "1"), ("bitwiseAnd:with:(count, 1) == nil", "2 3"),
      ("onesComplement:(count) == -1", ""), ("leftshift:by:(count, 1) == 8", "1"),
      ("price + 1 == nil", "2 3"), ("price + ratio == nil", "2 3"),
      ("TERNARY(id == 2, count, 5) + 1 == 6", "1 3"), ("max({count, 3}) - 1 == 3", "1"),
      ("shop.item.@max.count + 1 == nil", "1 2 3"), ("CAST(count, 'NSDate') == nil", "2 3"),
      ("shop.item.@avg.count == 4", "1 2 3"), ("shop.item.@avg.ratio == 1.5", "1 2 3"),
      ("shop.item.@avg.price == 0.1", "1 2 3"), ("shop.item.@sum.count + 1 == 5", "1 2 3"),
    ])
  func noNumbers(text: String, ids: String) throws {
    let fixture = try PredicateFixture(
      """
      CREATE TABLE shop(id INTEGER PRIMARY KEY);
      CREATE TABLE item(id INTEGER PRIMARY KEY, price DECIMAL, ratio REAL, count INTEGER,
        shop_id INTEGER REFERENCES shop);
      INSERT INTO shop VALUES (1);
      INSERT INTO item VALUES (1, 0.1, 1.5, 4, 1), (2, 'dear', 'half', 'many', 1),
        (3, x'00', x'', x'31', 1);
      """)
    #expect(try fixture.ids(text, entity: "item") == ids)
  }

  @Test("a long sum of decimals becomes one SQL call")
  func longSum() throws {
    let fixture = try PredicateFixture(Self.sql)
    let sum = "price" + String(repeating: " + tax", count: 63)
    #expect(try fixture.ids("\(sum) == 12.7", entity: "item") == "1")
    let wide = (0..<63).map {
      "(\(Array(repeating: "tax", count: $0 % 8 + 1).joined(separator: " + ")))"
    }
    // 281 operands in 63 levels.
    let count = (0..<63).map { $0 % 8 + 1 }.reduce(0, +)
    #expect(
      try fixture.ids("\(wide.joined(separator: " + ")) == 0.2 * \(count)", entity: "item") == "1")
  }

  @Test(
    "decimal digits",
    arguments: [
      ("0.1", "+", "0.2", "0.3"), ("1", "/", "3", "0.33333333333333333333333333333333333333"),
      ("2", "/", "3", "0.66666666666666666666666666666666666667"), ("1", "/", "8", "0.125"),
      ("-1", "/", "-0.25", "4"), ("100", "/", "4", "25"), ("0", "/", "7", "0"),
      ("99999999999999999999", "+", "1", "100000000000000000000"),
      ("1e30", "-", "1", "999999999999999999999999999999"), ("0.1", "-", "0.1", "0"),
      ("1.25", "*", "-8", "-10"),
      (
        "12345678901234567890", "*", "98765432109876543210",
        "1219326311370217952237463801111263526900"
      ), ("-5", "+", "3", "-2"), ("3", "-", "5", "-2"),
      ("1e300", "+", "1e-300", "1e300"),
      ("1000", "/", "7", "142.85714285714285714285714285714285714"),
    ])
  func digits(left: String, operation: String, right: String, result: String) throws {
    let operation = try #require(ArithmeticOperator(rawValue: operation))
    let (left, right) = (try #require(ExactDecimal(left)), try #require(ExactDecimal(right)))
    let expected = try #require(ExactDecimal(result))
    #expect(left.calculated(operation, right)?.exact == expected.exact)
  }
}
