// Keys that a server fetches from an address, `--jwks-url`.

import FetchModel
import LiveFetchHTTPServer
import Service
import Synchronization
import TestSupport
import Testing

@Suite("Keys that are fetched", .mayBlock)
struct FetchedKeysTests {
  /// A server of keys.
  private final class KeyServer: Sendable {
    private struct State {
      var file: String?
      var count = 0
    }

    private let state: Mutex<State>

    init(_ file: String?) { state = Mutex(State(file: file)) }

    var count: Int { state.withLock { $0.count } }

    func serve(_ file: String?) { state.withLock { $0.file = file } }

    func source(every interval: Duration) -> JWTVerifier.Source {
      JWTVerifier.Source(every: interval) {
        let file = self.state.withLock { state in
          state.count += 1
          return state.file
        }
        guard let file else { throw JWTKeyError.unreadable }
        return Array(file.utf8)
      }
    }
  }

  private func served(
    _ server: KeyServer, every interval: Duration = .seconds(600)
  ) throws -> ServedFile {
    var configuration = ServiceConfiguration()
    configuration.jwt = JWTVerifier(source: server.source(every: interval))
    return try ServedFile(contractFixture, configuration: configuration)
  }

  private func token(
    _ signer: JWTTests.Signer, _ id: String, claims: String = ""
  ) throws -> [(name: String, value: String)] {
    let token = try signer.token(
      #"{"sub":"ann","scope":"read"\#(claims)}"#, header: #"{"alg":"EdDSA","kid":"\#(id)"}"#)
    return ScopeMatrixTests.bearer(token)
  }

  @Test("A request whose key is not there yet waits for it, and is answered with it")
  func fetched() async throws {
    let signer = try await JWTTests.eddsa(id: "1")
    let server = KeyServer(signer.file)
    let file = try served(server)
    #expect(try file.ask("/v1", headers: token(signer, "1")).status == 200)
    #expect(try file.ask("/v1").status == 401)
    #expect(server.count == 1)
  }

  /// A request that waits, and a stream that has sent its first event.
  private func waiting(
    _ file: ServedFile, _ bearer: [(name: String, value: String)]
  ) throws -> (poll: Pending, stream: EventReader) {
    let poll = file.begin("GET", "/v1/objects/city?since=now&wait=60", headers: bearer)
    let stream = file.begin(
      "GET", "/v1/objects/city", headers: bearer + [(name: "Accept", value: "text/event-stream")])
    #expect(stream.wait()?.status == 200)
    let reader = EventReader(try #require(stream.stream))
    #expect(reader.next()?.kind == "snapshot")
    return (poll, reader)
  }

  private func expectEnd(_ waiting: (poll: Pending, stream: EventReader)) {
    #expect(waiting.poll.wait()?.status == 401)
    let event = waiting.stream.next()
    #expect(event?.kind == "error")
    #expect(event?.json["code"]?.string == "unauthorized")
    #expect(waiting.stream.next() == nil)
  }

  @Test("A withdrawn key ends the requests and streams of its tokens; an empty set withdraws all")
  func withdrawn() async throws {
    let (first, second) = (try await JWTTests.eddsa(id: "1"), try await JWTTests.eddsa(id: "2"))
    let server = KeyServer("\(first.file.dropLast(2)),\(second.file.dropFirst(9))")
    let file = try served(server, every: .seconds(1))
    let gone = try waiting(file, token(first, "1"))
    let kept = try waiting(file, token(second, "2"))
    server.serve(second.file)
    expectEnd(gone)
    #expect(try file.ask("/v1", headers: token(first, "1")).status == 401)
    #expect(try file.ask("/v1", headers: token(second, "2")).status == 200)
    #expect(!kept.poll.isThere)
    server.serve(#"{"keys":[]}"#)
    expectEnd(kept)
    #expect(try file.ask("/v1", headers: token(second, "2")).status == 401)
  }

  @Test(
    "Keys that cannot be fetched or read again end nothing",
    arguments: [
      nil, "<html>Closed for maintenance</html>", "{}", #"{"keys":"none"}"#,
      #"{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}"#,
    ])
  func unreachable(text: String?) async throws {
    let signer = try await JWTTests.eddsa(id: "1")
    let server = KeyServer(signer.file)
    let file = try served(server, every: .seconds(1))
    let waiting = try waiting(file, token(signer, "1"))
    server.serve(text)
    let count = server.count
    #expect(eventually(within: .seconds(300)) { server.count >= count + 2 })
    #expect(!waiting.poll.isThere)
    #expect(try file.ask("/v1", headers: token(signer, "1")).status == 200)
  }

  @Test("Secrets in a set of keys are ignored, also short ones")
  func secrets() async throws {
    let signer = try await JWTTests.eddsa(id: "1")
    let secret = #"{"kty":"oct","k":"c2VjcmV0"},"#
    let file = try served(KeyServer(#"{"keys":["# + secret + signer.file.dropFirst(9)))
    #expect(try file.ask("/v1", headers: token(signer, "1")).status == 200)
  }

  @Test("A token that expires ends its requests and streams")
  func expiring() async throws {
    let signer = try await JWTTests.eddsa(id: "1")
    let file = try served(KeyServer(signer.file))
    // Clocks may differ by 30 seconds; what waits ends five seconds earlier.
    let end = Instant.now.secondsSince1970 - 20
    expectEnd(try waiting(file, token(signer, "1", claims: #","exp":\#(end)"#)))
    #expect(Instant.now.secondsSince1970 >= end + 25)
  }

  @Test("An unknown key causes one fetch in 30 seconds at most")
  func unknownKey() async throws {
    let signer = try await JWTTests.eddsa(id: "1")
    let server = KeyServer(signer.file)
    let file = try served(server)
    let pending = try (0..<20).map {
      file.begin("GET", "/v1", headers: try token(signer, "unknown \($0)"))
    }
    for answer in pending { #expect(answer.wait()?.status == 401) }
    #expect(server.count == 1)
    #expect(try file.ask("/v1", headers: token(signer, "1")).status == 200)
  }

  @Test("Without keys every request is refused, and a secret that a URL shows is none")
  func useless() async throws {
    let signer = try await JWTTests.hs256()
    let secret = JWTTests.Signer.encode(JWTTests.secret)
    for text in [nil, "x", "{}", #"{"keys":[{"kty":"oct","k":"\#(secret)"}]}"#] {
      let file = try served(KeyServer(text))
      let bearer = ScopeMatrixTests.bearer(try signer.token(#"{"scope":"read"}"#))
      #expect(try file.ask("/v1", headers: bearer).status == 401)
      #expect(try file.ask("/v1").status == 401)
    }
  }
}
