// Deeply nested predicates and expressions over a socket.

import Foundation
import HTTPClient
import LiveFetchHTTPServer
import TestSupport
import Testing

/// Nested input of clients is parsed on the threads that serve connections, whose stacks are small.
@Suite("Nesting over a socket", .mayBlock)
struct NestingTests {
  @Test func deeplyNestedPredicatesDoNotEndTheProcess() async throws {
    let file = try ServedFile(readingFixture)
    var configuration = HTTPServerConfiguration()
    configuration.port = 0
    let server = try HTTPServer(configuration, handler: file.service)
    defer { server.stop(grace: 0.5) }
    let address = "http://127.0.0.1:\(server.port)"
    for predicate in [40, 150, 160, 161, 2000].flatMap(Self.nested) {
      let status = try await Self.status(of: predicate, address)
      let place = Comment(rawValue: String(predicate.prefix(40)))
      #expect([200, 400].contains(status), place)
    }
  }

  private static func status(of predicate: String, _ address: String) async throws -> Int? {
    let body = #"{"entity":"city","as":"ids","where":"\#(predicate)"}"#
    let request = ClientRequest(
      "POST", address + "/v1/fetch", headers: [("Content-Type", "application/json")],
      body: Array(body.utf8))
    return try await request.response().status
  }

  private static func nested(_ depth: Int) -> [String] {
    func wrapped(_ open: String, _ inner: String, _ close: String, _ tail: String = "") -> String {
      String(repeating: open, count: depth) + inner + String(repeating: close, count: depth) + tail
    }
    return [
      wrapped("(", "TRUEPREDICATE", ")"), wrapped("(", "population", ")", " > 1"),
      wrapped("NOT ", "id == 1", ""), wrapped("NOT (", "id == 1", ")"),
      wrapped("-", "1", "", " == 1"), wrapped("abs(", "1", ")", " == 1"),
      wrapped("TERNARY(", "TRUEPREDICATE", ",1,2)", " == 1"),
      wrapped("FUNCTION(", "1", ",'abs:')", " == 1"),
      wrapped("SUBQUERY(tag, $x, ", "TRUEPREDICATE", ").@count > 0"),
      wrapped("id == 1 AND (id == 2 OR (", "id == 1", "))"), wrapped("{", "1", "}", " == 1"),
      wrapped("1 + (", "1", ")", " == 1"), wrapped("2 ** ", "1", "", " == 1"),
      wrapped("ANY (", "tag.word", ")", " == 'a'"),
    ]
  }

  /// Each operator and function nested in itself, on either side, at growing depth: it runs or is refused.
  @Test func nestedExpressionsRunOrAreTooComplex() async throws {
    let file = try ServedFile(readingFixture)
    var configuration = HTTPServerConfiguration()
    configuration.port = 0
    let server = try HTTPServer(configuration, handler: file.service)
    defer { server.stop(grace: 0.5) }
    let address = "http://127.0.0.1:\(server.port)"
    var ran = 0
    for depth in [5, 14, 32, 63] {
      for (open, close) in Self.surroundings {
        let text =
          String(repeating: open, count: depth) + "population"
          + String(repeating: close, count: depth)
        for predicate in [text + " > 1", "1 < " + text] {
          let status = try await Self.status(of: predicate, address)
          #expect([200, 400].contains(status), "\(depth) x \(open)…\(close)")
          if depth == 5, status == 200 { ran += 1 }
        }
      }
      for (open, inner, close) in Self.conditions {
        let predicate =
          String(repeating: open, count: depth) + inner + String(repeating: close, count: depth)
        let status = try await Self.status(of: predicate, address)
        #expect([200, 400].contains(status), "\(depth) x \(open)…\(close)")
      }
    }
    // Shallow input is not refused.
    #expect(ran == 2 * Self.surroundings.count)
  }

  private static let surroundings: [(String, String)] =
    ["+", "-", "*", "/", "**"].flatMap { [("(1 \($0) ", ")"), ("(", " \($0) 2)")] }
    + [
      "abs", "sqrt", "exp", "ln", "log", "floor", "ceiling", "trunc", "onesComplement",
    ].map { ("\($0)(", ")") }
    + [
      "add:to", "modulus:by", "bitwiseAnd:with", "bitwiseXor:with", "leftshift:by", "raise:toPower",
    ]
    .flatMap { [("\($0):(1, ", ")"), ("\($0):(", ", 1)")] }
    + [
      ("max({1, ", "})"), ("min({", ", 1})"), ("sum({1, ", "})"), ("average({", ", 2})"),
      ("TERNARY(id > 0, ", ", 1)"), ("TERNARY(id > 0, 1, ", ")"),
      ("CAST(CAST(", ", 'NSDate'), 'NSNumber')"),
    ]

  private static let conditions: [(String, String, String)] = [
    ("TERNARY(", "id > 1", ", 1, 2) == 1"), ("NOT (id > 1 OR ", "id == 2", ")"),
    ("(id IN {1, 2} AND (", "name ==[cd] 'x'", "))"),
    ("SUBQUERY(tag, $x, ", "id > 1", ").@count > 0"),
    ("TERNARY(id > 0, founded, ", "founded", ") > CAST(0, 'NSDate')"),
  ]
}
