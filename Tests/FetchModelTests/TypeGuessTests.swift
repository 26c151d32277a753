// Types of an imported file's fields.

import Testing

@testable import FetchModel

@Suite("Types of imported fields")
struct TypeGuessTests {
  private static func type(_ samples: String...) -> AttributeType {
    var guess = TypeGuess()
    for var sample in samples { sample.withUTF8 { guess.add(.text($0)) } }
    return guess.type
  }

  @Test("decimal numbers are numbers")
  func decimal() {
    #expect(Self.type("1", "-20") == .integer)
    #expect(Self.type("1", "2.5", "1e3") == .double)
    #expect(Self.type("9007199254740993", "1") == .integer)
    // A double would lose the last digit.
    #expect(Self.type("9007199254740993", "2.5") == .string)
  }

  @Test(
    "numbers of which a double keeps every digit are numbers",
    arguments: [
      "1.50", "0.5", "-0.25", "0e0", "0.10000000000000001", "0.1000000000000000055511151231257827",
      "123456789012345.67", "1e-320", "5.960464477539063e-08", "5.684341886080802e-14",
    ])
  func keptDigits(_ number: String) {
    #expect(Self.type(number) == .double)
  }

  @Test(
    "numbers of more digits than a double has, and with leading zeros, stay text",
    arguments: [
      "12345678901234567890.5", "0.1234567890123456789", "1234567890123456.7", "1.23456789e-320",
      "1e-350", "07.5", "-07.5", "00.5", "-00.5", "-007",
    ])
  func lostDigits(_ number: String) {
    #expect(Self.type(number) == .string)
  }

  @Test("JSON's numbers of more digits than a double has are text")
  func digitsOfJSON() {
    func type(_ number: String) -> AttributeType {
      var guess = TypeGuess()
      guess.add(.json(.number(number)))
      return guess.type
    }
    #expect(type("12345678901234567890.5") == .string)
    #expect(type("0.10000000000000001") == .double)
    #expect(type("1e400") == .double)
  }

  @Test("codes stay text", arguments: ["007", "0xe1", "0xBEEF", "0x1.8", "-0x1p3", "inf", "nan"])
  func codes(_ code: String) {
    #expect(Self.type(code) == .string)
  }

  @Test("a hexadecimal field is no number of a column either")
  func hexadecimal() {
    var text = "0xe1"
    #expect(text.withUTF8 { $0.importedDouble } == nil)
    text = " 225.5 "
    #expect(text.withUTF8 { $0.importedDouble } == 225.5)
  }
}
