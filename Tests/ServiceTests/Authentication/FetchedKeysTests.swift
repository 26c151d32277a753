import FetchModel
import LiveFetchHTTPServer
import Service
import Synchronization
import TestSupport
import Testing

/// API.md, section 9: `--jwks-url`.
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

    var source: JWTVerifier.Source {
      JWTVerifier.Source {
        let file = self.state.withLock { state in
          state.count += 1
          return state.file
        }
        guard let file else { throw JWTKeyError.unreadable }
        return Array(file.utf8)
      }
    }
  }

  private func served(_ server: KeyServer) throws -> ServedFile {
    var configuration = ServiceConfiguration()
    configuration.jwt = JWTVerifier(source: server.source)
    return try ServedFile(contractWorld, configuration: configuration)
  }

  private func token(_ signer: JWTTests.Signer, _ id: String) throws -> [(
    name: String, value: String
  )] {
    let token = try signer.token(
      #"{"sub":"ann","scope":"read"}"#, header: #"{"alg":"EdDSA","kid":"\#(id)"}"#)
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
