import Foundation
import FoundationNetworking
import HTTPServer
import Testing

/// What clients nest is parsed on the threads that serve connections, whose stacks are small.
@Suite("Nesting over a socket")
struct NestingTests {
  @Test(arguments: [150, 160, 161, 2000])
  func deeplyNestedPredicatesDoNotEndTheProcess(depth: Int) throws {
    let file = try ServedFile(readingWorld)
    var configuration = HTTPServerConfiguration()
    configuration.port = 0
    let server = try HTTPServer(configuration, handler: file.service)
    defer { server.stop(grace: 0.5) }
    let address = "http://127.0.0.1:\(server.port)"
    for predicate in Self.nested(depth) {
      let text = predicate.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
      let url = try #require(URL(string: "\(address)/v1/objects/city?as=ids&where=\(text)"))
      _ = try? Data(contentsOf: url)
    }
    let health = try #require(URL(string: address + "/health/live"))
    #expect(try Data(contentsOf: health) == Data(#"{"status":"ok"}"#.utf8))
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
