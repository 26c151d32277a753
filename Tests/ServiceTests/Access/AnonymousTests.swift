// A server that serves requests without a credential under its access rules, and others with one.

import FetchModel
import LiveFetchHTTPServer
import Service
import TestSupport
import Testing

@Suite("Callers without a credential under access rules", .mayBlock)
struct AnonymousTests {
  private static let sql = """
    CREATE TABLE article(id INTEGER PRIMARY KEY, title TEXT, published INTEGER, author TEXT);
    INSERT INTO article VALUES (1,'a',1,'ann'),(2,'b',0,'ann');
    """

  private static let rules = """
    {"entities":{"article":{"access":{
      "read":"published == 1 OR ($user.id != nil AND author == $user.id)",
      "insert":"$user.id != nil AND author == $user.id"}}}}
    """

  private func served(_ signer: JWTTests.Signer, rules: String?) async throws -> ServedFile {
    var configuration = ServiceConfiguration()
    configuration.jwt = JWTVerifier(keys: try await JWTKey.keys(of: Array(signer.file.utf8)))
    configuration.servesAnonymous = true
    configuration.explains = true
    configuration.access = try rules.map { try AccessDeclaration(parsing: Array($0.utf8)) }
    return try ServedFile(Self.sql, configuration: configuration)
  }

  private func ids(
    _ file: ServedFile, _ headers: [(name: String, value: String)] = []
  ) throws -> [Int64] {
    try file.ask("/v1/objects/article?as=ids", headers: headers).items.compactMap(\.integer)
  }

  @Test("Everyone reads what is published, and an author inserts with a credential")
  func publicRead() async throws {
    let signer = try await JWTTests.hs256()
    let file = try await served(signer, rules: Self.rules)
    let ann = ScopeMatrixTests.bearer(
      try signer.token(#"{"sub":"ann","scope":"read write"}"#))
    #expect(try ids(file) == [1])
    #expect(try ids(file, ann) == [1, 2])
    #expect(try file.ask("/v1/objects/article/2").status == 404)
    let body = #"{"title":"c","published":0,"author":"ann"}"#
    #expect(try file.ask("POST", "/v1/objects/article", body: body).status == 403)
    let saved = try file.ask("POST", "/v1/objects/article", body: body, headers: ann)
    #expect(saved.status == 201, "\(saved.text)")
    #expect(try ids(file) == [1])
    #expect(try ids(file, ann) == [1, 2, 3])
  }

  @Test("A credential that is wrong, expired, empty or of another scheme is 401")
  func wrongCredential() async throws {
    let signer = try await JWTTests.hs256()
    let file = try await served(signer, rules: Self.rules)
    let expired = try signer.token(#"{"sub":"ann","scope":"read","exp":1}"#)
    for value in ["Bearer garbage", "Bearer \(expired)", "Basic YTpi", "Bearer", ""] {
      let answer = try file.ask("/v1/objects/article", headers: [("Authorization", value)])
      #expect(answer.status == 401, "\(value)")
    }
  }

  @Test(
    "A route for which `admin` is needed is 401 without a credential",
    arguments: ["/metrics", "/v1/changes", "/v1/objects/article?explain=true"])
  func administration(target: String) async throws {
    let file = try await served(try await JWTTests.hs256(), rules: Self.rules)
    let answer = try file.ask(target)
    #expect(answer.status == 401)
    #expect(answer.code == "unauthorized")
  }

  @Test("Without access rules a request without a credential is 401")
  func withoutRules() async throws {
    let file = try await served(try await JWTTests.hs256(), rules: nil)
    #expect(try file.ask("/v1/objects/article").status == 401)
  }

  @Test("An open server with rules says why its anonymous caller may not read all changes")
  func openServer() throws {
    var configuration = ServiceConfiguration()
    configuration.access = try AccessDeclaration(parsing: Array(Self.rules.utf8))
    let answer = try ServedFile(Self.sql, configuration: configuration).ask("/v1/changes")
    #expect(answer.status == 403)
    #expect(
      answer.text.contains("a caller without a credential is under them"), "\(answer.text)")
  }

  @Test("An anonymous caller may wait as long as the server serves anonymous callers")
  func waiting() {
    let serving = Authenticator(serverToken: "secret", servesAnonymous: true)
    #expect(serving.isCurrent(.visitor))
    #expect(!serving.isCurrent(.anonymous))
    #expect(!Authenticator(serverToken: "secret").isCurrent(.visitor))
  }
}
