// The bearer token of a remote store: a fixed one, or one that the program renews.

import Synchronization

/// The token that requests of one store carry. Requests that need a new token at the same time share
/// one renewal.
final class Credential: Sendable {
  typealias Provider = @Sendable () async throws -> String

  private struct State {
    /// nil until the first renewal.
    var token: String?
    var renewal: Task<String, any Error>?
  }

  /// nil for a fixed token.
  private let provider: Provider?
  // Protects the state; held for no call of the provider.
  private let state: Mutex<State>

  init(token: String) {
    provider = nil
    state = Mutex(State(token: token))
  }

  init(provider: @escaping Provider) {
    self.provider = provider
    state = Mutex(State())
  }

  /// Returns the token to send.
  ///
  /// - Parameter refused: a token that the server has answered with 401.
  /// - Returns: A token; `refused` again if there is no other one.
  /// - Throws: `unreachable` if the program has no token now: the request may be made again later.
  func token(replacing refused: String? = nil) async throws(ObjectStoreError) -> String {
    guard let renewal = renewal(replacing: refused) else {
      return state.withLock { $0.token } ?? ""
    }
    do {
      let token = try await Self.token(of: renewal)
      guard Self.isValid(token) else {
        throw ObjectStoreError.notUnderstood("the token contains a control character")
      }
      return token
    } catch let error as ObjectStoreError {
      throw error
    } catch {
      if Task.isCancelled { throw .cancelled }
      var unavailability = ServiceUnavailable("there is no credential: \(error)")
      unavailability.isUnsent = true
      throw .unreachable(unavailability)
    }
  }

  /// True if a header can hold the token.
  static func isValid(_ token: String) -> Bool {
    token.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
  }

  /// Waits for a renewal until the task is cancelled: the program may take its time, for example to let
  /// a person sign in.
  private static func token(of renewal: Task<String, any Error>) async throws -> String {
    let result = await SingleShotContinuation.value(cancelled: .failure(CancellationError())) {
      await renewal.result
    }
    return try result.get()
  }

  /// The renewal to wait for; nil if the known token is to be sent.
  private func renewal(replacing refused: String?) -> Task<String, any Error>? {
    guard let provider else { return nil }
    return state.withLock { state in
      if let token = state.token, token != refused { return nil }
      if let renewal = state.renewal { return renewal }
      let renewal = Task { [weak self] in
        let result: Result<String, any Error>
        do { result = .success(try await provider()) } catch { result = .failure(error) }
        self?.complete(result)
        return try result.get()
      }
      state.renewal = renewal
      return renewal
    }
  }

  private func complete(_ result: Result<String, any Error>) {
    state.withLock { state in
      state.renewal = nil
      if case .success(let token) = result, Self.isValid(token) { state.token = token }
    }
  }
}
