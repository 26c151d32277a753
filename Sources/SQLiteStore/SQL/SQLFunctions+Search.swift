// BEGINSWITH, ENDSWITH, CONTAINS, LIKE and MATCHES as SQL functions: `livefetch_like(text, pattern,
// options)` answers 1 or 0, never NULL. What is searched for is prepared once a statement where it
// is a constant.

import CSQLite
import FetchModel

private enum Search: Int, CaseIterable {
  case begins, ends, contains, like, matches
}

func registerSearchFunctions(on handle: OpaquePointer) {
  for search in Search.allCases {
    register("livefetch_\(search)", 3, tag: search.rawValue, on: handle) { context, _, values in
      let options = StringOptions(
        rawValue: UInt8(truncatingIfNeeded: sqlite3_value_int(values?[2])))
      guard let search = Search(rawValue: functionTag(context)), let text = utf8(values?[0]),
        let searched = Searched.cached(context, values?[1], search, options)
      else {
        sqlite3_result_int(context, 0)
        return
      }
      sqlite3_result_int(context, searched.matches(text) ? 1 : 0)
    }
  }
}

/// What is searched for, folded and compiled.
private final class Searched {
  private enum Kind {
    case begins([UInt8])
    case ends([UInt8])
    case contains(ByteSearch)
    case like(LikePattern)
    case matches(RegularExpression)
    case nothing
  }

  private let kind: Kind
  private let options: StringOptions

  private init(_ text: UnsafeBufferPointer<UInt8>, _ search: Search, _ options: StringOptions) {
    // MATCHES compares case character by character.
    self.options = search == .matches ? options.diacritics : options
    let folded = Folding.fold(text, self.options)
    switch search {
    case .begins: kind = folded.isEmpty ? .nothing : .begins(folded)
    case .ends: kind = folded.isEmpty ? .nothing : .ends(folded)
    case .contains: kind = folded.isEmpty ? .nothing : .contains(ByteSearch(folded))
    case .like: kind = .like(LikePattern(String(decoding: folded, as: UTF8.self)))
    case .matches:
      let expression = try? RegularExpression(String(decoding: folded, as: UTF8.self), options)
      kind = expression.map { .matches($0) } ?? .nothing
    }
  }

  /// The one made before for this argument, or a new one that SQLite keeps if the argument is
  /// constant. nil if the argument is no text.
  static func cached(
    _ context: OpaquePointer?, _ value: OpaquePointer?, _ search: Search, _ options: StringOptions
  ) -> Searched? {
    if let kept = sqlite3_get_auxdata(context, 1) {
      return Unmanaged<Searched>.fromOpaque(kept).takeUnretainedValue()
    }
    guard let text = utf8(value) else { return nil }
    let searched = Searched(text, search, options)
    // SQLite may drop it at once, so it gets a reference of its own.
    sqlite3_set_auxdata(context, 1, Unmanaged.passRetained(searched).toOpaque()) { kept in
      if let kept { Unmanaged<Searched>.fromOpaque(kept).release() }
    }
    return searched
  }

  func matches(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
    if options.folding.isEmpty { return matches(unfolded: text) }
    return Folding.fold(text, options).withUnsafeBufferPointer { matches(unfolded: $0) }
  }

  private func matches(unfolded text: UnsafeBufferPointer<UInt8>) -> Bool {
    switch kind {
    case .begins(let prefix): text.starts(with: prefix)
    case .ends(let suffix):
      text.count >= suffix.count && text.suffix(suffix.count).elementsEqual(suffix)
    case .contains(let part): part.isFound(in: text)
    case .like(let pattern): pattern.matches(text)
    case .matches(let expression): expression.matches(text)
    case .nothing: false
    }
  }
}
