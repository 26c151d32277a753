import Foundation
import FoundationNetworking
import HTTPServer
import Testing

/// What clients nest is parsed on the threads that serve connections, whose stacks are small.
@Suite("Nesting over a socket")
struct NestingTests {
  @Test func deeplyNestedPredicatesDoNotEndTheProcess() async throws {
    let file = try ServedFile(readingWorld)
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
    let url = try #require(URL(string: address + "/v1/fetch"))
    var request = URLRequest(url: url)
    request.httpMethod = "POST"
    request.setValue("application/json", forHTTPHeaderField: "Content-Type")
    request.httpBody = Data(#"{"entity":"city","as":"ids","where":"\#(predicate)"}"#.utf8)
    return (try await URLSession.shared.data(for: request).1 as? HTTPURLResponse)?.statusCode
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
}
