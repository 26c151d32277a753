// The HTTP client's whole responses, from servers that answer correctly or not.

import Testing

@testable import HTTPClient

@Suite("Whole responses")
struct ResponseTests {
  private static let hello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

  private func get(_ server: ScriptedServer) async throws(TransferError) -> ClientResponse {
    try await ClientRequest("GET", server.url).response()
  }

  @Test("Header values come without the blanks around them, bodies without their framing")
  func frames() async throws {
    let server = try ScriptedServer(answers: [
      [
        "HTTP/1.1 200 OK\r\nContent-Length:\t5 \t\r\nA: b\t c \r\nWide: \u{A0}x\u{A0}\r\n\r\nhello",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Made\r\nTransfer-Encoding: chunked \r\n\r\n"
          + "2 ;x=y\r\nhe\r\n3\r\nllo\r\n0\r\nTrailer: 1\r\n\r\n",
        "HTTP/1.1 204 None\r\n\r\n",
        "HTTP/1.1 200 OK\r\n\r\nhello until the end",
      ]
    ])
    let first = try await get(server)
    #expect(first.body == Array("hello".utf8))
    #expect(first.headers == ["content-length": "5", "a": "b\t c", "wide": "\u{A0}x\u{A0}"])
    let second = try await get(server)
    #expect(second.status == 201 && second.body == Array("hello".utf8))
    #expect(second.headers["trailer"] == nil)
    let third = try await get(server)
    #expect(third.status == 204 && third.body.isEmpty)
    let fourth = try await get(server)
    #expect(fourth.body == Array("hello until the end".utf8))
  }

  @Test("A response of as many bytes as its request allows arrives whole")
  func longestResponse() async throws {
    var request = ClientRequest("GET", try ScriptedServer(answers: [[Self.hello]]).url)
    request.maxResponseBytes = 5
    let response = try await request.response()
    #expect(response.body == Array("hello".utf8))
  }

  @Test("A kept connection that the server has closed is replaced")
  func keptConnection() async throws {
    let server = try ScriptedServer(answers: [[Self.hello], [Self.hello]])
    for _ in 0..<2 {
      let response = try await get(server)
      #expect(response.body == Array("hello".utf8))
    }
  }

  @Test(
    "Anything else than a response is refused, and the request is not repeated",
    arguments: [
      (
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello",
        "the server closed the connection in the middle of a response"
      ),
      ("HTTP/1.1 200 OK\r\nConte", "the server closed the connection in the middle of a response"),
      ("SSH-2.0-OpenSSH\r\n\r\n", "the response is not HTTP"),
      ("HTTP/1.1 OK\r\n\r\n", "the response is not HTTP"),
      ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", nil),
      ("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", nil),
    ] as [(String, String?)])
  func faults(answer: String, reason: String?) async throws {
    let server = try ScriptedServer(answers: [[Self.hello, answer], [Self.hello]])
    _ = try await get(server)
    do throws(TransferError) {
      let response = try await get(server)
      Issue.record("\(response.status)")
    } catch {
      guard case .failed(let text) = error else { throw error }
      #expect(text == reason ?? text)
    }
  }

  @Test("Headers without an end are refused")
  func endlessHeaders() async throws {
    let server = try ScriptedServer([
      { connection in
        connection.readRequest()
        let lines = Array(String(repeating: "a: b\r\n", count: 10_000).utf8)
        connection.send("HTTP/1.1 200 OK\r\n")
        while connection.send(lines) {}
      }
    ])
    do throws(TransferError) {
      _ = try await get(server)
      Issue.record("it was read")
    } catch {
      guard case .failed = error else { throw error }
    }
  }

  @Test("The method, the headers and the body are sent as they are given, and nothing else")
  func requests() async throws {
    let server = try ScriptedServer([
      { connection in
        let request = connection.readRequest() ?? ""
        connection.send(
          "HTTP/1.1 200 OK\r\nContent-Length: \(request.utf8.count)\r\n\r\n\(request)")
      }
    ])
    let request = ClientRequest(
      "PATCH", server.url + "a/../b?c=%20", headers: [("X-A", "b; c"), ("X-Empty", "")])
    let response = try await request.response()
    let host = server.url.dropFirst("http://".count).dropLast()
    #expect(
      String(decoding: response.body, as: UTF8.self)
        == "PATCH /a/../b?c=%20 HTTP/1.1\r\nHost: \(host)\r\nX-A: b; c\r\nX-Empty:\r\n\r\n")
  }

  @Test("A body that is empty, text or zero bytes arrives whole", arguments: [0, 1, 70_000])
  func bodies(count: Int) async throws {
    let body = [UInt8](repeating: 0, count: count)
    let server = try ScriptedServer([
      { connection in
        let head = connection.readRequest(bodySize: count)
        let length = head.contains("Content-Length: \(count)\r\n") ? 204 : 400
        connection.send("HTTP/1.1 \(length) X\r\nContent-Length: 0\r\n\r\n")
      }
    ])
    let response = try await ClientRequest("POST", server.url, body: body).response()
    #expect(response.status == 204)
  }

  @Test(
    "A request that could not be sent as it is given is refused before a connection is made",
    arguments: [
      (
        ClientRequest("GET", "http://127.0.0.1:1/", headers: [("A", "b\r\nC: d")]),
        "the header A holds a control character"
      ),
      (
        ClientRequest("GET", "http://127.0.0.1:1/", headers: [("A:", "b")]),
        "a header has an invalid name"
      ),
      (ClientRequest("GET /", "http://127.0.0.1:1/"), "'GET /' is not a method"),
      (ClientRequest("GET", "file:///etc/passwd"), "an address begins with http:// or https://"),
      (
        ClientRequest("GET", "http://a b/"),
        "the address holds a blank or a control character"
      ),
    ])
  func refusals(request: ClientRequest, reason: String) async throws {
    await #expect(throws: TransferError.notConnected(reason)) { try await request.response() }
  }

  @Test("A refused connection and a host without an address have their reasons")
  func unreachable() async throws {
    await #expect(throws: TransferError.notConnected("Connection refused")) {
      try await ClientRequest("GET", "http://127.0.0.1:1/").response()
    }
    var request = ClientRequest("GET", "http://nowhere.invalid/")
    request.limits.connect = 120
    await #expect(throws: TransferError.notConnected("there is no such host")) {
      try await request.response()
    }
  }
}
