// A problem → lines for a person: what is wrong, where in the predicate, what may be meant.

import ArgumentParser
import FetchModel
import Foundation

/// A problem as the API has it, of a server or of this process.
struct ProblemReport {
  let status: Int
  let json: JSON
  /// The predicate that was given, to point into.
  let predicate: String?

  init(status: Int, json: JSON, predicate: String? = nil) {
    self.status = status
    self.json = json
    self.predicate = predicate
  }

  init(_ problem: Problem, predicate: String? = nil) {
    let json = (try? JSON(parsing: problem.json)) ?? .object([])
    self.init(status: problem.status, json: json, predicate: predicate)
  }

  /// Says it on standard error.
  func failure() -> ExitCode {
    var lines = [json["detail"]?.string ?? "the server refused (\(status))"]
    if let predicate, let offset = json["offset"]?.integer {
      let found = json["found"]?.string ?? ""
      lines += PredicateCaret(predicate, offset: Int(clamping: offset), found: found).lines
    }
    if let hint = json["hint"]?.string, !lines[0].contains(hint) {
      lines.append(hint.contains(" ") ? hint : "did you mean `\(hint)`?")
    }
    if case .array(let errors)? = json["errors"] { lines += errors.map(Self.line) }
    return refuse(lines.joined(separator: "\n  "), exitStatus)
  }

  private static func line(_ error: JSON) -> String {
    let change = error["change"]?.integer.map { "change \($0): " } ?? ""
    let hint = error["hint"]?.string.map { " (\($0))" } ?? ""
    return change + (error["detail"]?.string ?? error["code"]?.string ?? "refused") + hint
  }

  private var exitStatus: ExitStatus {
    switch status {
    case 409, 410, 412, 413, 422: .unusableStore
    case 400..<500: .usage
    case 507: .failed
    default: .cannotListen
    }
  }
}

/// Where in a predicate something is wrong: the text, and a line that points into it.
struct PredicateCaret {
  let lines: [String]

  /// - Parameter offset: in bytes of UTF-8.
  init(_ predicate: String, offset: Int, found: String) {
    let bytes = Array(predicate.utf8)
    let place = min(max(0, offset), bytes.count)
    // A predicate of several lines shows the one that is meant.
    let start = bytes[..<place].lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
    let end = bytes[place...].firstIndex(of: 0x0A) ?? bytes.count
    let text = String(decoding: bytes[start..<end], as: UTF8.self)
    let before = String(decoding: bytes[start..<place], as: UTF8.self)
    let word = found.trimmingCharacters(in: CharacterSet(charactersIn: "`'\""))
    let rest = String(decoding: bytes[place..<end], as: UTF8.self)
    let length = max(1, rest.hasPrefix(word) ? word.terminalWidth : 1)
    let gap = String(repeating: " ", count: before.terminalWidth)
    lines = [text, gap + "^" + String(repeating: "~", count: length - 1)]
  }
}
