// The version of this package, in this one place. A test compares it with Public/package.json,
// Public/jsr.json and the changelog.

import LiveFetchCVersion

/// The version of the program and of the library.
public enum LiveFetchVersion {
  /// The version in three numbers; with `-dev` it is the next release before it is made.
  public static let number = "0.2.0-dev"

  /// The commit; nil if the environment of the build did not name it in `LIVEFETCH_COMMIT`.
  public static let commit: String? = {
    let text = String(cString: livefetch_commit())
    return text.isEmpty ? nil : text
  }()

  /// `0.2.0 (0123abc)`, or the number alone.
  public static var description: String { commit.map { "\(number) (\($0.prefix(12)))" } ?? number }
}
