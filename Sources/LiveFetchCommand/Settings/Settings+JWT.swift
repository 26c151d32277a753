// `jwt-key`, `jwks-url` and the rules for claims → the verifier of JWTs.

import Dispatch
import Foundation
import HTTPClient
import LiveFetchHTTPServer
import Service
import Synchronization

extension Settings {
  /// Refuses JWTs in a program without them, rules for JWTs if none are accepted, and a JWKS address
  /// with a password, or without TLS, where keys could be changed in transit.
  func checkJWT() throws(SettingError) {
    for setting in [Setting.jwtKey, .jwksURL] where !JWTKey.isSupported {
      guard let entry = self[setting] else { continue }
      throw SettingError(
        "\(entry.origin.name(of: setting)): \(JWTKeyError.unsupported); `swift build -c release` "
          + "builds it with JWTs")
    }
    for setting in [Setting.jwtIssuer, .jwtAudience] {
      guard let entry = self[setting], self[.jwtKey] == nil, self[.jwksURL] == nil else { continue }
      throw SettingError("\(entry.origin.name(of: setting)) needs --jwt-key or --jwks-url")
    }
    guard let entry = self[.jwksURL], let text = text(.jwksURL) else { return }
    let url = URLComponents(string: text)
    // The message does not repeat the address, and neither may other messages show a password.
    guard url?.user == nil, url?.password == nil else {
      throw SettingError(
        "\(entry.origin.name(of: .jwksURL)) takes an address without a user and a password")
    }
    // An IPv6 address is in brackets.
    let host = (url?.host ?? "").trimmingCharacters(in: CharacterSet(charactersIn: "[]"))
    let isSafe =
      switch url?.scheme?.lowercased() {
      case "https": true
      case "http": HostNames.isLoopback(host)
      default: false
      }
    guard isSafe, !host.isEmpty else {
      throw SettingError(
        "\(entry.origin.name(of: .jwksURL)) takes an https address; http on loopback alone")
    }
  }

  /// The content of the key's file; nil without one. Ends the command if it cannot be read.
  func jwtKey() throws -> Data? {
    try text(.jwtKey).map { Data(try contents(ofFile: $0)) }
  }

  /// Returns nil if JWTs are not accepted. Ends the command if the key cannot be used.
  ///
  /// - Parameter key: The content of the key's file.
  func jwtVerifier(key: Data?) throws -> JWTVerifier? {
    let url = text(.jwksURL)
    guard key != nil || url != nil else { return nil }
    let rules = JWTRules(
      issuer: text(.jwtIssuer), audience: text(.jwtAudience),
      rolesClaim: text(.jwtRolesClaim) ?? "roles")
    return JWTVerifier(
      rules: rules, keys: try key.map(keys) ?? [], source: url.map(Self.source))
  }

  private func keys(in data: Data) throws -> [JWTKey] {
    let bytes = [UInt8](data)
    switch Self.wait({ () async throws(JWTKeyError) in try await JWTKey.keys(of: bytes) }) {
    case .success(let keys): return keys
    case .failure(let error): throw failure("\(text(.jwtKey) ?? ""): \(error)", .usage)
    }
  }

  /// Blocks the command's thread, which does not belong to the cooperative pool.
  private static func wait<Value: Sendable>(
    _ body: @escaping @Sendable () async throws(JWTKeyError) -> Value
  ) -> Result<Value, JWTKeyError> {
    let done = DispatchSemaphore(value: 0)
    // Protects the result, which is set once.
    let result = Mutex<Result<Value, JWTKeyError>?>(nil)
    Task.detached {
      let value: Result<Value, JWTKeyError>
      do throws(JWTKeyError) {
        value = .success(try await body())
      } catch {
        value = .failure(error)
      }
      result.withLock { $0 = value }
      done.signal()
    }
    done.wait()
    return result.withLock { $0 } ?? .failure(.unreadable)
  }

  /// The largest JWKS that is read, in bytes.
  private static let maxJWKSBytes = 1 << 20

  private static func source(_ url: String) -> JWTVerifier.Source {
    let limits = TransferTimeLimits(connect: 5, response: 5, idle: 5)
    var request = ClientRequest(
      "GET", url, headers: [("Accept", "application/json")], limits: limits)
    request.maxResponseBytes = maxJWKSBytes
    return JWTVerifier.Source { [request] in
      let response: ClientResponse
      do throws(TransferError) {
        response = try await request.response()
      } catch {
        throw FetchFailure(description: error.reason(within: limits))
      }
      guard response.status == 200 else {
        throw FetchFailure(description: "the answer has the status \(response.status)")
      }
      return response.body
    } onFailure: { reason, hasKeys in
      let rest = hasKeys ? "the keys from before stay" : "there are no keys from it yet"
      printError("\(url): \(reason); \(rest)")
    }
  }
}

/// The reason why a JWKS could not be fetched.
private struct FetchFailure: Error, CustomStringConvertible {
  let description: String
}
