// The caches that callers fill: their bounds by bytes, and what they give beyond them.

import FetchModel
import LiveFetchHTTPServer
import SQLiteStore
import TestSupport
import Testing

@testable import Service

@Suite("Caches of callers are bounded by bytes, and give the right answer beyond it", .mayBlock)
struct CacheBoundTests {
  @Test func verifiedTokensGoAndAreVerifiedAgain() async throws {
    let signer = try await JWTTests.hs256()
    let keys = try await JWTKey.keys(of: Array(signer.file.utf8))
    let verifier = JWTVerifier(keys: keys)
    let authenticator = Authenticator(serverToken: nil, jwt: verifier) { JWTTests.now }
    let filler = String(repeating: "x", count: 5_000)
    // Each is more than 6,000 bytes in base64.
    let tokens = try (0..<1_500).map {
      try signer.token(#"{"sub":"user\#($0)","filler":"\#(filler)","exp":1900000060}"#)
    }
    let bytes = tokens.reduce(0) { $0 + $1.utf8.count }
    #expect(bytes > JWTVerifier.maxVerifiedBytes)
    var removals = 0
    for (number, token) in tokens.enumerated() {
      let before = verifier.kept.count
      guard case .caller(let caller) = authenticator.authenticate(authorization: "Bearer \(token)")
      else {
        Issue.record("token \(number) is refused")
        return
      }
      #expect(caller.userID == "user\(number)")
      let after = verifier.kept
      #expect(after.bytes <= JWTVerifier.maxVerifiedBytes)
      if after.count <= before { removals += 1 }
    }
    #expect(removals == 1)
    for number in [0, 1, 700, 1_499] {
      let result = authenticator.authenticate(authorization: "Bearer \(tokens[number])")
      guard case .caller(let caller) = result else {
        Issue.record("token \(number) is refused")
        return
      }
      #expect(caller.userID == "user\(number)")
    }
    // A text that differs in its signature only was never verified.
    #expect(
      authenticator.authenticate(authorization: "Bearer \(tokens[0])A") == .refused(.noFittingKey))
  }

  @Test func refusedTokensAreNotKept() async throws {
    let signer = try await JWTTests.hs256()
    let keys = try await JWTKey.keys(of: Array(signer.file.utf8))
    let verifier = JWTVerifier(keys: keys)
    let authenticator = Authenticator(serverToken: nil, jwt: verifier) { JWTTests.now }
    for number in 0..<100 {
      let token = try signer.token(#"{"sub":"user\#(number)","exp":1}"#)
      #expect(authenticator.authenticate(authorization: "Bearer \(token)") == .refused(.expired))
    }
    #expect(verifier.kept.count == 0)
  }

  @Test("A token that was verified while the keys were fetched is not kept")
  func tokenOfAFormerKey() async throws {
    let signer = try await JWTTests.hs256()
    let keys = try await JWTKey.keys(of: Array(signer.file.utf8))
    let fetched = try await JWTTests.eddsa(id: "1")
    let verifier = JWTVerifier(keys: keys, source: .init { Array(fetched.file.utf8) })
    let text = try signer.token(#"{"sub":"ann","exp":1900000060}"#)
    guard
      case .caller(let caller) = verifier.verify(
        text, SHA256Digest(of: text.utf8), at: JWTTests.now)
    else {
      Issue.record("the token is refused")
      return
    }
    #expect(verifier.kept.count == 1)
    await withCheckedContinuation { continuation in
      verifier.whenFetched { continuation.resume() }
    }
    #expect(verifier.kept.count == 0)
    // Its verification began before the fetch.
    verifier.keep(caller, SHA256Digest(of: text.utf8), bytes: text.utf8.count, verifiedAfter: nil)
    #expect(verifier.kept.count == 0)
    #expect(verifier.kept.bytes == 0)
  }

  @Test(.onlyForFiles) func accessRulesOfCallersGoAndAreResolvedAgain() throws {
    let file = try ServedFile(AccessFixture.sql)
    let declaration = try AccessDeclaration(
      parsing: Array(
        #"{"entities":{"note":{"access":{"read":"title IN $user.claims.titles"}}}}"#.utf8))
    let rules = try AccessRules(declaration, model: file.store.model)
    let cache = CallerAccessCache(rules)
    let filler = String(repeating: "x", count: 1_000)
    let caller = { (number: Int) in
      let titles = (0..<100).map { JSON.string("title \(number) \($0) \(filler)") }
      return AccessCaller(
        id: "\(number)", claims: .object([.init(name: "titles", value: .array(titles))]))
    }
    let note = try #require(file.store.model.entityIndex(named: "note"))
    var removals = 0
    for number in 0..<800 {
      let before = cache.size.count
      let access = cache.access(of: caller(number))
      if number % 50 == 0 {
        #expect(access.rule(.read, note) == rules.access(of: caller(number)).rule(.read, note))
      }
      #expect(cache.size.bytes <= CallerAccessCache.maxBytes)
      if cache.size.count <= before { removals += 1 }
    }
    #expect(removals >= 1)
    for number in [0, 1, 400, 799] {
      #expect(
        cache.access(of: caller(number)).rule(.read, note)
          == rules.access(of: caller(number)).rule(.read, note))
      #expect(
        cache.access(of: caller(number)).rule(.read, note)
          != rules.access(of: caller(number + 1)).rule(.read, note))
    }
  }
}
