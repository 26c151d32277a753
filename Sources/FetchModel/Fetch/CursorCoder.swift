// The text of a position in an order, which clients send back in `after`.
//
// It is base64url of: the signature of the order, the length of the section's part of the key, the offset of
// the id in the key (each 4 bytes, big-endian), and the key. A cursor of another order is refused. Clients may send
// anything, so every byte is validated: a decoded key is one that this order's encoder could have written.
// The empty key is the position before all objects.

import Bytes

/// Encodes and decodes the cursors of one order.
public struct CursorCoder: Sendable {
  private let terms: [OrderTerm]
  private let sectionTerms: Int
  private let signature: UInt32

  /// - Parameter definition: the result whose order is used; its predicate is irrelevant.
  public init(of definition: ResultDefinition, in model: Model) {
    terms = (definition.section.map { [$0] } ?? []) + definition.order
    sectionTerms = definition.section == nil ? 0 : 1
    signature = Self.signature(definition, model)
  }

  /// The cursor of the position at `key`.
  public func encode(_ key: OrderKey) -> String {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(12 + key.bytes.count)
    for word in [signature, key.sectionLength, key.idOffset] {
      withUnsafeBytes(of: word.bigEndian) { bytes.append(contentsOf: $0) }
    }
    bytes.append(contentsOf: key.bytes)
    var text: [UInt8] = []
    text.append(base64: bytes, .urlSafe)
    return String(decoding: text, as: UTF8.self)
  }

  /// The cursor of an empty window: its start position. nil if `offset` is positive, because the keys of
  /// skipped objects are not read.
  public func encodeEmptyWindow(after: OrderKey?, offset: Int) -> String? {
    offset > 0 ? nil : encode(after ?? .beginning)
  }

  /// The position of `text`; nil if it is not a cursor of this order. A cursor may be as long as the
  /// values of an object: only the request that contains it limits its length.
  public func decode(_ text: String) -> OrderKey? {
    guard let bytes = [UInt8](base64: text, .urlSafe), bytes.count >= 12,
      word(bytes, 0) == signature
    else { return nil }
    if bytes.count == 12 { return bytes[4...].allSatisfy { $0 == 0 } ? .beginning : nil }
    let key = Array(bytes[12...])
    guard let offsets = offsets(key), offsets.section == word(bytes, 4),
      offsets.id == word(bytes, 8)
    else { return nil }
    return OrderKey(bytes: key, sectionLength: offsets.section, idOffset: offsets.id)
  }

  private func word(_ bytes: [UInt8], _ start: Int) -> UInt32 {
    bytes[start..<(start + 4)].reduce(0) { $0 << 8 | UInt32($1) }
  }

  /// The end of the section and the start of the id; nil unless every component is valid for its
  /// term.
  private func offsets(_ key: [UInt8]) -> (section: UInt32, id: UInt32)? {
    var decoder = OrderKeyDecoder(bytes: key)
    var section: UInt32 = 0
    for (index, term) in terms.enumerated() {
      for _ in 0..<(index < sectionTerms ? term.sectionComponentCount : 1) {
        guard decodeCanonicalComponent(&decoder, key, term.direction, term.nils) else { return nil }
      }
      if index + 1 == sectionTerms { section = UInt32(decoder.offset) }
    }
    let id = decoder.offset
    // The id is an integer or a text.
    guard !decoder.isAtEnd, key[id] == 0x10 || key[id] == 0x20,
      decodeCanonicalComponent(&decoder, key, .ascending, .first), decoder.isAtEnd
    else { return nil }
    return (section, UInt32(id))
  }

  /// Advances `decoder` by one component. Returns false unless it is as the encoder writes it.
  private func decodeCanonicalComponent(
    _ decoder: inout OrderKeyDecoder, _ key: [UInt8], _ direction: Direction, _ nils: NilPlace
  ) -> Bool {
    let start = decoder.offset
    guard let component = decoder.decode() else { return false }
    var encoder = OrderKeyEncoder()
    switch component {
    case .null: encoder.appendNil(nils)
    case .integer(let integer): encoder.append(integer, direction)
    case .double(let double):
      // A key contains only PostgreSQL's NaN, which has one bit pattern.
      guard !double.isNaN || double.bitPattern == Double.nan.bitPattern else { return false }
      encoder.append(double, direction)
    case .text(let utf8): utf8.withUnsafeBufferPointer { encoder.append(text: $0, direction) }
    case .binary(let bytes):
      bytes.withUnsafeBufferPointer { encoder.append(binary: $0, direction) }
    }
    return encoder.bytes[...] == key[start..<decoder.offset]
  }

  /// FNV-1a over names rather than indexes or hash values, so that it is the same in every process.
  private static func signature(_ definition: ResultDefinition, _ model: Model) -> UInt32 {
    var hash = FNV1a32()
    hash.combine(model.entities[definition.entity].name.utf8)
    for term in definition.section.map({ [$0] }) ?? [] { combine(term, model, into: &hash) }
    hash.combine(CollectionOfOne(0x1E))
    for term in definition.order { combine(term, model, into: &hash) }
    return hash.value
  }

  private static func combine(_ term: OrderTerm, _ model: Model, into hash: inout FNV1a32) {
    hash.combine(CollectionOfOne(0x1F))
    hash.combine(model.text(of: term.path).utf8)
    hash.combine([0x1F, term.direction == .ascending ? 1 : 2, term.nils == .first ? 1 : 2])
    hash.combine(CollectionOfOne(UInt8(truncatingIfNeeded: term.options.rawValue)))
    hash.combine(term.derivation.rawValue.utf8)
  }
}

extension OrderTerm {
  /// The number of key components of the term as a section: with string options the folded text and
  /// the exact text, otherwise one. As a sort term it is always one.
  public var sectionComponentCount: Int { options.isEmpty ? 1 : 2 }
}
