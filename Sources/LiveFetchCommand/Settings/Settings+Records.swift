// `log-requests`, `audit` and `limit` → the log of requests, the audit file and the quotas.

import ArgumentParser
import FetchModel
import Foundation
import Logging
import Service

extension Settings {
  /// Returns nil if requests are not logged.
  var requestLogger: Logger? {
    guard isOn(.logRequests) else { return nil }
    return Logger(label: "livefetch.requests") { [logFormat] _ in LineLogHandler(logFormat) }
  }

  /// Logs the answers of status 500.
  var errorLogger: Logger {
    Logger(label: "livefetch") { [logFormat] _ in LineLogHandler(logFormat) }
  }

  private var logFormat: LogFormat { text(.logFormat).flatMap(LogFormat.init) ?? .text }

  /// Opens the audit file; nil without one. Ends the command if it cannot be written.
  func auditLog() throws -> AuditLog? {
    guard let path = text(.audit) else { return nil }
    do throws(AuditLog.Failure) {
      return try AuditLog(
        path: path,
        onFailure: { failure in
          printError(
            "\(path): \(failure.reason); a save is missing in it, and the server is not ready")
        },
        onReplacement: {
          printError(
            "\(path): was removed or renamed; further saves are recorded in the file of that name")
        })
    } catch {
      throw failure("\(path): \(error.reason)", .failed)
    }
  }

  /// Opens the audit file again, for example after it was renamed.
  func reopen(_ audit: AuditLog) {
    let path = text(.audit) ?? ""
    do throws(AuditLog.Failure) {
      try audit.reopen()
    } catch {
      printError("\(path): \(error.reason); it is tried again before the next save is recorded")
    }
  }

  /// Returns nil without limits.
  func quotas() throws(SettingError) -> Quotas? {
    guard let name = self[.limit]?.origin.name(of: .limit) else { return nil }
    var limits = QuotaLimits()
    var seen: Set<String> = []
    for text in texts(.limit) {
      let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        .map(String.init)
      guard parts.count == 2 else { throw SettingError("\(name) takes NAME=VALUE, not '\(text)'") }
      guard QuotaLimits.names.contains(parts[0]) else {
        let hint = nearestName(to: parts[0], among: QuotaLimits.names)
        throw SettingError(
          "\(name): there is no limit '\(parts[0])'"
            + (hint.map { "; did you mean '\($0)'?" }
              ?? "; the limits are \(QuotaLimits.names.joined(separator: ", "))"))
      }
      guard seen.insert(parts[0]).inserted else {
        throw SettingError("\(name): '\(parts[0])' is given more than once")
      }
      guard limits.set(parts[0], to: parts[1]) else {
        let number = QuotaLimits.isCount(parts[0]) ? "a whole number" : "a number"
        throw SettingError("\(name): '\(parts[0])' takes \(number) above zero, not '\(parts[1])'")
      }
    }
    return Quotas(limits)
  }
}

extension AuditLog.Failure {
  fileprivate var reason: String { "cannot be written: \(String(cString: strerror(code)))" }
}
