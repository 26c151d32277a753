// `token` and `token-file` → the source of a server's bearer token, and the token.

import FetchModel
import Foundation

/// The source of the bearer token.
enum TokenSource: Equatable {
  case none
  case given(String)
  case file(String)

  /// The token; nil if requests need none. Ends the command if the file cannot be used.
  func token() throws -> String? {
    switch self {
    case .none: return nil
    case .given(let token): return token
    case .file(let path):
      let token = String(decoding: try contents(ofFile: path), as: UTF8.self)
        .trimmingCharacters(in: .whitespacesAndNewlines)
      guard !token.isEmpty else { throw failure("\(path): holds no token", .usage) }
      guard Self.isUsable(token) else {
        throw failure("\(path): a token has no blanks and no control characters", .usage)
      }
      return token
    }
  }

  var isFile: Bool {
    if case .file = self { return true }
    return false
  }

  /// True for a token that can be sent in a header as it is.
  static func isUsable(_ token: String) -> Bool {
    token.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F }
  }
}

extension Settings {
  /// If `token` and `token-file` are both given, a flag takes precedence over the environment, and
  /// the environment over the configuration file.
  ///
  /// - Throws: an error if both come from the same place.
  func tokenSource() throws(SettingError) -> TokenSource {
    guard let file = self[.tokenFile]?.origin else { return try givenToken() }
    guard let token = self[.token]?.origin else { return fileToken }
    guard token.rank != file.rank else {
      throw SettingError(
        "\(token.name(of: .token)) and \(file.name(of: .tokenFile)) exclude each other")
    }
    return try token.rank > file.rank ? givenToken() : fileToken
  }

  private var fileToken: TokenSource { text(.tokenFile).map { .file($0) } ?? .none }

  private func givenToken() throws(SettingError) -> TokenSource {
    guard let entry = self[.token], let token = text(.token) else { return .none }
    guard TokenSource.isUsable(token) else {
      throw SettingError(
        "\(entry.origin.name(of: .token)): a token has no blanks and no control characters")
    }
    return .given(token)
  }
}

extension Settings {
  /// Ends the command if the file of a credential does not exist. The message does not have the file's
  /// name: it is the credential if that was given by mistake.
  ///
  /// - Parameter content: What the file holds: `the key`.
  func checkFile(of setting: Setting, holding content: String) throws {
    guard let entry = self[setting], let path = text(setting), access(path, F_OK) != 0,
      errno != EACCES
    else { return }
    let name = entry.origin.name(of: setting)
    let flag = entry.origin == .flag ? "" : " (--\(setting.name))"
    throw failure(
      "\(name)\(flag) names no file; it takes a file's name, not \(content) itself", .noInput)
  }
}

extension SettingOrigin {
  /// Higher for a source that overrides others.
  fileprivate var rank: Int {
    switch self {
    case .flag: 3
    case .environment: 2
    case .file: 1
    case .defaultValue: 0
    }
  }
}
