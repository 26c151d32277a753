// The lines of the audit file when it cannot be written for a time.

import Foundation
import TestSupport
import Testing

@testable import Service

@Suite("The audit file", .mayBlock)
struct AuditLogTests {
  @Test("has the lines that could not be written, in their order, once it can be written again")
  func laterLines() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("audit")
    try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/dev/full")
    let failures = Counter()
    let log = try AuditLog(path: path) { _ in failures.add() }
    #expect(log.fault == nil)
    log.append(Array(#"{"n":1}"#.utf8))
    log.append(Array(#"{"n":2}"#.utf8))
    #expect(log.fault?.code == "audit-failed")
    #expect(failures.value == 1)
    try FileManager.default.removeItem(atPath: path)
    try log.reopen()
    #expect(log.fault == nil)
    log.append(Array(#"{"n":3}"#.utf8))
    #expect(
      try String(contentsOfFile: path, encoding: .utf8) == """
        {"n":1}
        {"n":2}
        {"n":3}

        """)
    #expect(failures.value == 1)
  }

  @Test("has no character in a line that ends it, or that is not seen")
  func invisible() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("audit")
    let log = try AuditLog(path: path) { _ in }
    log.append(Array("{\"user\":\"a\u{2028}b\u{85}c\u{202E}é\"}".utf8))
    #expect(
      try String(contentsOfFile: path, encoding: .utf8) == """
        {"user":"a\\u2028b\\u0085c\\u202Eé"}

        """)
  }

  @Test("loses only the lines beyond a mebibyte of those that could not be written")
  func manyLines() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("audit")
    try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/dev/full")
    let log = try AuditLog(path: path) { _ in }
    let line = [UInt8](repeating: UInt8(ascii: "a"), count: 99_999)
    for _ in 0..<12 { log.append(line) }
    try FileManager.default.removeItem(atPath: path)
    try log.reopen()
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)).count == 1_000_000)
  }
}
