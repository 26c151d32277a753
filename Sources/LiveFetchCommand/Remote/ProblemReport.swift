// A problem → readable lines: the error, its place in the predicate, the nearest valid name.

import ArgumentParser
import FetchModel
import Foundation

/// A problem in the API's JSON, from a server or from this process.
struct ProblemReport {
  let status: Int
  let json: JSON
  /// The predicate as it was given; the report shows the place of the error in it.
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

  /// Prints the problem on standard error and returns the exit status.
  func failure() -> ExitCode {
    var lines = [json["detail"]?.string ?? "the server refused (\(status))"]
    if let predicate, let offset = json["offset"]?.integer {
      lines.append(
        Self.excerpt(predicate, at: Int(clamping: offset), found: json["found"]?.string ?? ""))
    }
    if let hint = json["hint"]?.string, !lines[0].contains(hint) {
      lines.append(hint.contains(" ") ? hint : "did you mean `\(hint)`?")
    }
    let errors = json["errors"]?.elements ?? []
    if errors.count == 1, errors[0]["detail"]?.string == lines[0] {
      lines[0] = Self.line(errors[0])
    } else {
      // `errors` is a member of the JSON, which is not shown.
      lines[0] = lines[0].replacing("; `errors` lists them.", with: ":")
        .replacing("`errors` lists the first", with: "the first")
      lines += errors.map(Self.line)
    }
    return refuse(lines.joined(separator: "\n  "), exitStatus)
  }

  /// - Parameter found: the wrong text at that place, in back quotes.
  private static func excerpt(_ predicate: String, at offset: Int, found: String) -> String {
    CaretExcerpt.lines(
      of: predicate, at: offset, found: found,
      width: Terminal.errors.isTerminal ? Terminal.errors.size.columns - 2 : 400
    ).replacingOccurrences(of: "\n", with: "\n  ")
  }

  private static func line(_ error: JSON) -> String {
    let change = error["change"]?.integer.map { "change \($0): " } ?? ""
    let hint = error["hint"]?.string.map { " (\($0))" } ?? ""
    return change + (error["detail"]?.string ?? error["code"]?.string ?? "refused") + hint
  }

  private var exitStatus: ExitStatus {
    switch status {
    case 409, 410, 412, 413, 422: .unusableStore
    // The same request may succeed later.
    case 408, 425, 429: .unavailable
    case 400..<500: .usage
    case 507: .failed
    default: .unavailable
    }
  }
}
