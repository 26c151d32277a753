// Page cursors: encoding, decoding, and refusal of foreign ones.

import FetchModel
import TestSupport
import Testing

@Suite(.mayBlock) struct CursorTests {
  static let section = OrderTerm(
    path: PropertyPath(root: 0, target: .attribute(0)), options: .caseInsensitive)
  static let number = OrderTerm(
    path: PropertyPath(root: 0, target: .attribute(5)), direction: .descending)
  static let definition = ResultDefinition(
    entity: 0, predicate: .everything, section: section, order: [number])

  func key(_ folded: String, _ exact: String, _ number: Int64?, _ id: ObjectID) -> OrderKey {
    var encoder = OrderKeyEncoder()
    for var text in [folded, exact] { text.withUTF8 { encoder.append(text: $0, .ascending) } }
    let sectionLength = encoder.bytes.count
    if let number { encoder.append(number, .descending) } else { encoder.appendNil(.last) }
    let idOffset = encoder.bytes.count
    encoder.append(id)
    return OrderKey(
      bytes: encoder.bytes, sectionLength: UInt32(sectionLength), idOffset: UInt32(idOffset))
  }

  @Test("A cursor reads back as the place it was made of")
  func roundTrip() {
    let cursor = CursorCoder(of: Self.definition, in: SectionInfoTests.model)
    let keys = [
      key("a", "A", 5, .integer(7)), key("", "", nil, .text("a,b")),
      key("ß\0", "x", .min, .integer(.max)),
    ]
    for key in keys {
      let decoded = cursor.decode(cursor.encode(key))
      #expect(decoded == key)
      #expect(decoded?.sectionLength == key.sectionLength)
      #expect(decoded?.idOffset == key.idOffset)
    }
  }

  @Test("A cursor's text is the same in every process")
  func stability() {
    let cursor = CursorCoder(of: Self.definition, in: SectionInfoTests.model)
    #expect(
      cursor.encode(key("a", "A", 5, .integer(7)))
        == "q-aeVAAAAAgAAAATIGEAASBBAAHvP-v__________xDAHAAAAAAAAAAA")
  }

  @Test("A cursor of another order is refused")
  func otherOrder() {
    let cursor = CursorCoder(of: Self.definition, in: SectionInfoTests.model)
    let other = CursorCoder(
      of: ResultDefinition(entity: 0, predicate: .everything, order: [Self.section, Self.number]),
      in: SectionInfoTests.model)
    #expect(other.decode(cursor.encode(key("a", "A", 5, .integer(7)))) == nil)
  }

  @Test("A forged cursor is refused or stands for a well-formed place, and never traps")
  func forgery() {
    let cursor = CursorCoder(of: Self.definition, in: SectionInfoTests.model)
    let text = cursor.encode(key("a", "A", 5, .integer(7)))
    let genuine = [UInt8](base64: text, .urlSafe) ?? []
    #expect(genuine.count > 12)
    var random = SeededRandom(seed: 99)
    var accepted = 0
    for _ in 0..<5_000 {
      var forged = genuine
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        forged[Int.random(in: forged.indices, using: &random)] = .random(
          in: 0...255, using: &random)
      }
      if Bool.random(using: &random) {
        forged = Array(forged.prefix(Int.random(in: 0...forged.count, using: &random)))
      }
      var text: [UInt8] = []
      text.append(base64: forged, .urlSafe)
      let string = String(decoding: text, as: UTF8.self)
      guard let decoded = cursor.decode(string) else { continue }
      accepted += 1
      #expect(cursor.encode(decoded) == string)
    }
    #expect(accepted > 0)
    for text in ["", "=", "A", "AAAA", "ÄÄÄÄ", String(repeating: "A", count: 100_000)] {
      #expect(cursor.decode(text) == nil)
    }
  }
}
