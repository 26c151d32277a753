// The audit file when it is removed, renamed or replaced while the server runs.

import Foundation
import TestSupport
import Testing

@testable import Service

extension AuditLogTests {
  @Test("is made again at the next line if it was removed, and that is reported once")
  func removed() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("audit")
    let (failures, replacements) = (Counter(), Counter())
    let log = try AuditLog(
      path: path, onFailure: { _ in failures.add() }, onReplacement: { replacements.add() })
    log.append(Array(#"{"n":1}"#.utf8))
    #expect(replacements.value == 0)
    try FileManager.default.removeItem(atPath: path)
    log.append(Array(#"{"n":2}"#.utf8))
    log.append(Array(#"{"n":3}"#.utf8))
    #expect(
      try String(contentsOfFile: path, encoding: .utf8) == """
        {"n":2}
        {"n":3}

        """)
    let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
    #expect(mode as? Int == 0o600)
    #expect(log.fault == nil)
    #expect(failures.value == 0)
    #expect(replacements.value == 1)
  }

  @Test("has the later lines if it was renamed and another file has its name")
  func replaced() throws {
    let directory = try TemporaryDirectory()
    let (path, old) = (directory.file("audit"), directory.file("old"))
    let log = try AuditLog(path: path) { _ in }
    log.append(Array(#"{"n":1}"#.utf8))
    try FileManager.default.moveItem(atPath: path, toPath: old)
    try Data().write(to: URL(fileURLWithPath: path))
    log.append(Array(#"{"n":2}"#.utf8))
    #expect(try String(contentsOfFile: old, encoding: .utf8) == "{\"n\":1}\n")
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "{\"n\":2}\n")
  }

  @Test("that cannot be opened again makes the server not ready, and has its lines once it can be")
  func unopenable() throws {
    let directory = try TemporaryDirectory()
    let (path, old) = (directory.file("audit"), directory.file("old"))
    let (failures, replacements) = (Counter(), Counter())
    let log = try AuditLog(
      path: path, onFailure: { _ in failures.add() }, onReplacement: { replacements.add() })
    log.append(Array(#"{"n":1}"#.utf8))
    try FileManager.default.moveItem(atPath: path, toPath: old)
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    #expect(throws: AuditLog.Failure.self) { try log.reopen() }
    #expect(log.fault?.code == "audit-failed")
    log.append(Array(#"{"n":2}"#.utf8))
    log.append(Array(#"{"n":3}"#.utf8))
    #expect(failures.value == 1)
    #expect(log.fault?.code == "audit-failed")
    try FileManager.default.removeItem(atPath: path)
    #expect(log.fault == nil)
    #expect(replacements.value == 1)
    #expect(try String(contentsOfFile: old, encoding: .utf8) == "{\"n\":1}\n")
    #expect(
      try String(contentsOfFile: path, encoding: .utf8) == """
        {"n":2}
        {"n":3}

        """)
  }
}
