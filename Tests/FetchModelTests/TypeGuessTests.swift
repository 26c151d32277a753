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
