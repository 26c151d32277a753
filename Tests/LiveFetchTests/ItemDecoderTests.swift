// Values decoded from a JSON tree, compared with Foundation's decoder of texts.

import Foundation
import Testing

@testable import LiveFetch

private enum Size: String, Codable { case small, large }

private struct Point: Codable, Equatable { var x: Double, y: Float }

private class Base: Codable {
  var name = ""
}

private final class Derived: Base {
  var count = 0
  private enum CodingKeys: CodingKey { case count }

  required init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    count = try container.decode(Int.self, forKey: .count)
    try super.init(from: container.superDecoder())
  }
}

private struct Sample: Codable, Equatable {
  var id: Int64
  var small: Int8?
  var huge: UInt64?
  var isOpen: Bool?
  var name: String?
  var size: Size?
  var point: Point?
  var points: [Point]?
  var counts: [String: Int]?
  var numbers: [Int: [Int?]]?
  var link: URL?
  var price: Decimal?
}

@Suite("Values decoded from a JSON tree")
struct ItemDecoderTests {
  @Test(
    "equal those that Foundation decodes from the text, or both are refused",
    arguments: [
      #"{"id":1}"#, #"{"id":1.0}"#, #"{"id":1e3}"#, #"{"id":1.5}"#, #"{"id":"1"}"#,
      #"{"id":9223372036854775807}"#, #"{"id":9223372036854775808}"#, #"{"id":null}"#, "{}",
      "[]", "7", "null", #"{"id":1,"small":127}"#, #"{"id":1,"small":128}"#,
      #"{"id":1,"huge":18446744073709551615}"#, #"{"id":1,"huge":-1}"#,
      #"{"id":1,"isOpen":true}"#, #"{"id":1,"isOpen":1}"#, #"{"id":1,"name":null}"#,
      #"{"id":1,"name":"ä\n"}"#, #"{"id":1,"name":2}"#, #"{"id":1,"size":"large"}"#,
      #"{"id":1,"size":"huge"}"#, #"{"id":1,"point":{"x":1,"y":2.5}}"#,
      #"{"id":1,"point":{"x":"Infinity","y":"-Infinity"}}"#, #"{"id":1,"point":{"x":1}}"#,
      #"{"id":1,"point":{"x":1e999,"y":1}}"#, #"{"id":1,"point":{"x":1,"y":"much"}}"#,
      #"{"id":1,"points":[{"y":1,"x":2},{"x":3,"y":4}]}"#, #"{"id":1,"points":[{"y":1},3]}"#,
      #"{"id":1,"points":[]}"#, #"{"counts":{"b":2,"a":1,"c":3},"id":1}"#,
      #"{"id":1,"numbers":{"7":[1,null,3]}}"#, #"{"id":1,"numbers":{"x":[]}}"#,
      #"{"id":1,"link":"https://example.org/a?b=c"}"#, #"{"id":1,"link":""}"#,
      #"{"id":1,"price":12.345678901234567}"#, #"{"id":1,"price":-3e2}"#,
      #"{"unknown":[{}],"id":1}"#,
    ])
  func parity(text: String) throws {
    let decoder = JSONDecoder()
    decoder.nonConformingFloatDecodingStrategy = .convertFromString(
      positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
    let expected = try? decoder.decode(Sample.self, from: Data(text.utf8))
    let found = try? ItemCoding.decode(Sample.self, from: JSON(parsing: Array(text.utf8)))
    #expect(found == expected)
  }

  @Test("have the API's dates and data")
  func datesAndData() throws {
    let date: JSON = .string("2026-01-02T03:04:05.25Z")
    #expect(try ItemCoding.decode(Date.self, from: date).timeIntervalSince1970 == 1_767_323_045.25)
    #expect(try ItemCoding.decode(Data.self, from: .string("AQID")) == Data([1, 2, 3]))
    #expect(try ItemCoding.decode([Date?].self, from: .array([.null, date])).count == 2)
    #expect(try ItemCoding.decode(Double.self, from: .string("NaN")).isNaN)
  }

  @Test("may be classes with superclasses")
  func superclasses() throws {
    let json = try JSON(parsing: Array(#"{"count":3,"super":{"name":"a"}}"#.utf8))
    let value = try ItemCoding.decode(Derived.self, from: json)
    #expect(value.count == 3)
    #expect(value.name == "a")
  }

  @Test(
    "name the property and the reason if they cannot be read",
    arguments: [
      (#"{}"#, "`id` was not fetched"),
      (#"{"id":"1"}"#, "`id`: expected a number, found a string"),
      (#"{"id":null}"#, "`id`: expected a number, found null"),
      (#"{"id":1,"small":300}"#, "`small`: 300 is no Int8"),
      (
        #"{"id":1,"points":[{"x":1,"y":1},{"x":true,"y":1}]}"#,
        "`points.1.x`: expected a number, found a boolean"
      ),
    ])
  func reasons(text: String, reason: String) throws {
    let json = try JSON(parsing: Array(text.utf8))
    let error = #expect(throws: UnreadableValue.self) {
      try ItemCoding.decode(Sample.self, from: json)
    }
    #expect(error?.reason == reason)
  }
}
