// The `Prefer` header (RFC 7240), as far as it means something here.

/// What a client prefers about the answer to a change.
struct Preferences: Sendable {
  enum Return: Sendable { case minimal, representation }

  /// nil where the client did not say.
  private(set) var answer: Return?
  /// The most objects that a batch may touch.
  private(set) var maxAffected: Int?

  init(_ headers: [String]) {
    for header in headers {
      for element in header.split(whereSeparator: { $0 == "," || $0 == ";" }) {
        let parts = element.split(separator: "=", maxSplits: 1).map {
          $0.filter { $0 != " " && $0 != "\"" }.lowercased()
        }
        guard parts.count == 2 else { continue }
        switch (parts[0], parts[1]) {
        case ("return", "minimal"): answer = .minimal
        case ("return", "representation"): answer = .representation
        case ("max-affected", let count): maxAffected = Int(count).map { max(0, $0) }
        default: break
        }
      }
    }
  }

  /// The same for an answer that shows no object.
  var minimal: Preferences {
    var preferences = self
    preferences.answer = .minimal
    return preferences
  }

  /// `Preference-Applied`, where a preference about the answer was heeded.
  var applied: [(name: String, value: String)] {
    switch answer {
    case .minimal: [("Preference-Applied", "return=minimal")]
    case .representation: [("Preference-Applied", "return=representation")]
    case nil: []
    }
  }
}
