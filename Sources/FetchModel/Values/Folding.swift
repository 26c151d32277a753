// Text without the differences that string options ignore. The results equal Foundation's for the
// root locale, in composed form. ASCII takes a fast path; other scalars use tables that are built
// on first use. The text is composed as a whole only if it contains marks or jamo that may combine
// with the preceding scalar.
//
// As in Foundation, `d` removes every mark after a Latin, Greek or Cyrillic letter, and these
// scripts' own marks after any other letter. Marks of other scripts are parts of their letters (が
// is not か).

import Bytes
import Foundation
import Patterns

/// Folds UTF-8. Two texts are equal under some options exactly if they fold to the same bytes.
public enum Folding {
  /// Returns `text` without the differences that `options` ignore. O(length).
  public static func fold(_ text: String, _ options: StringOptions) -> String {
    var text = text
    return text.withUTF8 { String(decoding: fold($0, options), as: UTF8.self) }
  }

  /// Folds bytes. They should be valid UTF-8; invalid bytes are copied.
  public static func fold(
    _ utf8: UnsafeBufferPointer<UInt8>, _ options: StringOptions,
    isCancelled: () -> Bool = { false }
  ) -> [UInt8] {
    withoutActuallyEscaping(isCancelled) { isCancelled in
      var interruption = Interruption(isCancelled)
      return fold(utf8, options, &interruption)
    }
  }

  private static func fold(
    _ utf8: UnsafeBufferPointer<UInt8>, _ options: StringOptions, _ interruption: inout Interruption
  ) -> [UInt8] {
    guard let table = FoldingTable.table(for: options) else { return Array(utf8) }
    var folded: [UInt8] = []
    folded.reserveCapacity(utf8.count)
    let lowers = options.contains(.caseInsensitive)
    var isCombining = false
    var base = FoldingTable.Base.none
    var place = 0
    while place < utf8.count, !interruption.ends() {
      let byte = utf8[place]
      if byte < 0x80 {
        base = .european
        folded.append(lowers && byte &- 0x41 < 26 ? byte | 0x20 : byte)
        place &+= 1
      } else {
        let length = scalarLength(byte, utf8.count - place)
        let scalar = UnsafeBufferPointer(rebasing: utf8[place..<place + length])
        isCombining = table.append(scalar, after: &base, to: &folded) || isCombining
        place += length
      }
    }
    return isCombining ? composed(folded, &interruption) : folded
  }

  /// Bytes that are composed at once, at least: a long text is composed piece by piece.
  private static let composedAtOnce = 1 << 16

  /// Canonical composition, so that a letter and its mark are the letter with the mark.
  private static func composed(
    _ utf8: [UInt8], _ interruption: inout Interruption
  ) -> [UInt8] {
    guard utf8.count > composedAtOnce else { return composed(utf8[...]) ?? utf8 }
    var result: [UInt8] = []
    result.reserveCapacity(utf8.count)
    var start = 0
    while start < utf8.count, !interruption.ends(after: composedAtOnce) {
      let end = utf8.withUnsafeBufferPointer { border(in: $0, after: start + composedAtOnce) }
      guard let piece = composed(utf8[start..<end]) else { return utf8 }
      result += piece
      start = end
    }
    return result
  }

  /// Returns nil for bytes that are not UTF-8.
  private static func composed(_ utf8: ArraySlice<UInt8>) -> [UInt8]? {
    guard let text = String(validating: utf8, as: UTF8.self) else { return nil }
    return Array(text.precomposedText.utf8)
  }

  /// The first offset from `start` on at which no scalar before it composes with a scalar after
  /// it.
  private static func border(in utf8: UnsafeBufferPointer<UInt8>, after start: Int) -> Int {
    var place = min(start, utf8.count)
    while place < utf8.count {
      if utf8[place] < 0x80 { return place }
      if utf8[place] >= 0xC0 {
        var scalars = ScalarReader(utf8: UnsafeBufferPointer(rebasing: utf8[place...]))
        if let scalar = scalars.next(), !FoldingTable.isCombining(scalar) { return place }
      }
      place += 1
    }
    return place
  }

  /// True if a character of `utf8` folds to several characters when case is ignored.
  static func expands(
    _ utf8: UnsafeBufferPointer<UInt8>, isCancelled: () -> Bool = { false }
  ) -> Bool {
    guard utf8.contains(where: { $0 >= 0x80 }) else { return false }
    return withoutActuallyEscaping(isCancelled) { isCancelled in
      var interruption = Interruption(isCancelled)
      return expands(utf8, &interruption)
    }
  }

  private static func expands(
    _ utf8: UnsafeBufferPointer<UInt8>, _ interruption: inout Interruption
  ) -> Bool {
    var scalars = ScalarReader(utf8: utf8)
    while let scalar = scalars.next(), !interruption.ends() {
      if CaseFolding.simpleFold(scalar) == nil { return true }
    }
    return false
  }

  /// Returns the length that a leading byte announces, at most the number of remaining bytes.
  private static func scalarLength(_ byte: UInt8, _ rest: Int) -> Int {
    let length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1
    return min(length, rest)
  }
}

/// The folding of each scalar of the scripts with cases or diacritics, for one set of options.
private struct FoldingTable: Sendable {
  /// The character before a mark: none at the start, a Latin, Greek or Cyrillic letter, or another.
  enum Base { case none, european, other }

  private enum Kind { case european, other, europeanMark, otherMark }

  /// Later scalars have no diacritics, and the standard library knows their case.
  private static let end = 0x2200

  private let lowers: Bool
  private let drops: Bool
  /// The offset of each scalar's bytes; the next offset ends them.
  private let offsets: [UInt32]
  private let bytes: [UInt8]
  /// True for each scalar that may combine with the preceding one.
  private let areCombining: [Bool]
  private let kinds: [Kind]

  private static let caseInsensitive = FoldingTable([.caseInsensitive])
  private static let diacriticInsensitive = FoldingTable([.diacriticInsensitive])
  private static let both = FoldingTable([.caseInsensitive, .diacriticInsensitive])

  static func table(for options: StringOptions) -> FoldingTable? {
    switch (options.contains(.caseInsensitive), options.contains(.diacriticInsensitive)) {
    case (true, true): both
    case (true, false): caseInsensitive
    case (false, true): diacriticInsensitive
    case (false, false): nil
    }
  }

  private init(_ options: StringOptions) {
    lowers = options.contains(.caseInsensitive)
    drops = options.contains(.diacriticInsensitive)
    var compareOptions: String.CompareOptions = lowers ? [.caseInsensitive] : []
    if drops { compareOptions.insert(.diacriticInsensitive) }
    var offsets: [UInt32] = []
    var bytes: [UInt8] = []
    var areCombining = [Bool](repeating: false, count: Self.end)
    var kinds = [Kind](repeating: .other, count: Self.end)
    for code in 0..<UInt32(Self.end) {
      offsets.append(UInt32(bytes.count))
      guard let scalar = Unicode.Scalar(code) else { continue }
      areCombining[Int(code)] = Self.isCombining(scalar)
      kinds[Int(code)] = Self.kind(scalar)
      var folded = String(Character(scalar))
      // A mark without a letter is unchanged.
      if kinds[Int(code)] != .otherMark || lowers {
        folded = folded.folding(options: compareOptions, locale: nil)
      }
      // Foundation does not know the case of these forms of Cyrillic letters.
      if lowers, (0x1C80...0x1C88).contains(code) {
        folded = scalar.properties.uppercaseMapping.lowercased()
      }
      bytes += Array(folded.precomposedText.utf8)
    }
    offsets.append(UInt32(bytes.count))
    self.areCombining = areCombining
    self.kinds = kinds
    self.offsets = offsets
    self.bytes = bytes
  }

  private static func kind(_ scalar: Unicode.Scalar) -> Kind {
    switch scalar.value {
    case 0x0300...0x036F, 0x0483...0x0489: return .europeanMark
    // Up to Cyrillic, the extensions of Latin and Greek, and other codes of the same letters.
    case 0..<0x0510, 0x1E00...0x1FFF, 0x2126, 0x212A, 0x212B: return .european
    default: break
    }
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark: return .otherMark
    default: return .other
    }
  }

  /// True if a scalar of this kind is removed after `base`. Otherwise it may become the new base.
  private func drops(_ kind: Kind, after base: inout Base) -> Bool {
    switch kind {
    case .european: base = .european
    case .other: base = .other
    case .europeanMark: return drops && base != .none
    case .otherMark: return drops && base == .european
    }
    return false
  }

  /// True if the scalar composes with a preceding one, or is itself not in composed form.
  fileprivate static func isCombining(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x1100...0x11FF, 0x2329, 0x232A, 0x2ADC, 0xF900...0xFB4E, 0x1D15E...0x1D1C0,
      0x2F800...0x2FA1D:
      return true
    default: break
    }
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .spacingMark: return true
    default: return false
    }
  }

  /// Appends the folding of one scalar. Returns true if the whole text has to be composed.
  func append(
    _ utf8: UnsafeBufferPointer<UInt8>, after base: inout Base, to folded: inout [UInt8]
  ) -> Bool {
    var decoder = UTF8()
    var iterator = utf8.makeIterator()
    guard case .scalarValue(let scalar) = decoder.decode(&iterator) else {
      base = .none
      folded.append(contentsOf: utf8)
      return false
    }
    let code = Int(scalar.value)
    if code < Self.end {
      if drops(kinds[code], after: &base) { return false }
      folded.append(contentsOf: bytes[Int(offsets[code])..<Int(offsets[code + 1])])
      return areCombining[code]
    }
    if drops, drops(Self.kind(scalar), after: &base) { return false }
    if lowers, scalar.properties.changesWhenCaseMapped {
      let upper = scalar.properties.uppercaseMapping.unicodeScalars
      for scalar in upper { folded.append(contentsOf: scalar.properties.lowercaseMapping.utf8) }
    } else {
      folded.append(contentsOf: utf8)
    }
    return Self.isCombining(scalar)
  }
}
