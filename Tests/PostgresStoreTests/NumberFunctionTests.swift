// The SQL functions of numbers at the borders of their domains.

import Testing

@testable import PostgresStore

@Suite("PostgreSQL: functions of numbers", .mayBlock)
struct NumberFunctionTests {
  private static func expect(_ results: KeyValuePairs<String, String?>) throws {
    try withDatabase { connection, _ in
      try PostgresFunctions.install(connection)
      for (call, expected) in results {
        let result = try connection.execute("SELECT (livefetch.livefetch_\(call))::text")
        let isNull = result.first?.isNull(0, 0) == true
        #expect((isNull ? nil : result.first?.text(0, 0)) == expected, "\(call)")
      }
    }
  }

  @Test("a shift counts whole places, and a shift of NULL or by NULL is NULL")
  func shifts() throws {
    try Self.expect([
      "left(5, -0.5)": "5", "right(8, 0.5)": "8", "left(1, 63.5)": "-9223372036854775808",
      "left(1, 64)": "0", "left(-5, -64)": "-1", "left(-0.5, -64)": "0", "right(-5, 1)": "-3",
      "left(NULL, 64)": nil, "left(-5, NULL)": nil,
    ])
  }

  @Test("a function of NaN is NULL")
  func notANumber() throws {
    try Self.expect([
      "sqrt('NaN')": nil, "ln('NaN')": nil, "log('NaN')": nil, "exp('NaN')": nil,
      "abs('NaN'::float8)": nil, "abs('NaN'::numeric)": nil, "floor('NaN'::float8)": nil,
      "trunc('NaN'::numeric)": nil, "whole('NaN')": nil, "sqrt('Infinity')": "Infinity",
    ])
  }

  @Test("a power is the one of C, also of zero and of infinities")
  func powers() throws {
    try Self.expect([
      "power(0::float8, '-Infinity')": "Infinity", "power('-Infinity', 3.5::float8)": "Infinity",
      "power('-Infinity', -3.5::float8)": "0", "power('-Infinity', 3::float8)": "-Infinity",
      "power(-1::float8, 'Infinity')": "1",
      "power(-2::float8, 1000000000000001)": "-Infinity", "power(-2::float8, 3)": "-8",
      "power(0.5, 2.0)": "0.25", "power(4.0, 0.5)": "2", "power(-1::numeric, 3)": "-1",
      "power(2::numeric, 62)": "4611686018427387904", "exp(-745.1)": "5e-324", "exp(-746)": "0",
      "exp(710)": "Infinity", "power(-7::float8, -1e308)": "0",
      "power(-7::float8, 1e308)": "Infinity", "power(0.5::float8, 1e308)": "0",
      "power(0.5::float8, -1e308)": "Infinity",
      "power(-1::float8, 1e308)": "1", "power(0.9::float8, 5e-324)": "1",
    ])
  }

  @Test("a sum of a very large number and a very small one is the large one")
  func sums() throws {
    try Self.expect([
      "plus(1e308, 5e-324)": "1e+308", "plus(-5e-324, -1e308)": "-1e+308",
      "plus(1.7976931348623157e308, 0.5)": "1.7976931348623157e+308",
      "plus(1e308, 1e308)": "Infinity", "plus('-Infinity', 0.5)": "-Infinity",
      "plus('Infinity', '-Infinity')": nil, "plus(NULL, 1e308)": nil, "plus(1e308, NULL)": nil,
    ])
  }
}
