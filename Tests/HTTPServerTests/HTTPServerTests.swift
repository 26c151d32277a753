import Testing

@testable import HTTPServer

@Suite struct RequestAndAnswer {
  @Test func `a request is answered and the connection kept`() async throws {
    try await withServer { server in
      let client = try RawClient(server.port)
      #expect(client.get("/a%2Fb?x=%20+1&&")?.text == "GET /a%2Fb?x=%20+1&& 0")
      #expect(client.get("/second")?.text == "GET /second 0")
    }
  }
}
