// Committed saves → lines of JSON in a file.
//
// Promises: the line of a save is passed to the system before the save is answered; lines are appended
// whole, in the order in which saves are answered. While a line cannot be written the server is not
// ready; the save stays committed, and its line is written as soon as that is possible. No line goes to
// a file that was removed or renamed: the file at the path is opened first.

import FetchModel
import LiveFetchCLibrary
import Synchronization

/// The audit file of a server.
public final class AuditLog: Sendable {
  /// Why the file cannot be written.
  public struct Failure: Error, Sendable {
    /// The system's error number.
    public let code: Int32
  }

  private struct State {
    let path: String
    var descriptor: Int32
    /// True if the file at the path was opened because it was not the open one.
    var wasReplaced = false
    /// The lines that could not be written.
    var unwritten: [UInt8] = []
    /// True if the first of them was written in part: it is written again on a new line.
    var endsInsideLine = false

    /// False if the open file was removed or renamed, or if another one has its name.
    private var isInPlace: Bool {
      var opened = stat()
      var named = stat()
      // A folder that may not be searched does not show that the file was removed.
      guard stat(path, &named) == 0 else { return ![ENOENT, ENOTDIR].contains(errno) }
      return fstat(descriptor, &opened) == 0 && opened.st_dev == named.st_dev
        && opened.st_ino == named.st_ino
    }

    /// Opens the file at the path, and then closes the one that was open.
    mutating func openAgain() throws(Failure) {
      // A pipe without a reader must not stop saves.
      let newer = try AuditLog.open(path, O_NONBLOCK)
      _ = fcntl(newer, F_SETFL, O_APPEND)
      close(descriptor)
      descriptor = newer
      endsInsideLine = false
    }

    /// Tries to write the lines to the file at the path. Returns nil if it is open and no line is left.
    mutating func writeLines() -> Failure? {
      if !isInPlace {
        do throws(Failure) {
          try openAgain()
          wasReplaced = true
        } catch {
          return error
        }
      }
      guard !unwritten.isEmpty else { return nil }
      let bytes = (endsInsideLine ? [0x0A] : []) + unwritten
      let count = AuditLog.write(bytes, to: descriptor)
      let failure = Failure(code: errno)
      guard count > 0 else { return failure }
      endsInsideLine = bytes[count - 1] != 0x0A
      let end = bytes[..<count].lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
      unwritten = Array(bytes[end...])
      return unwritten.isEmpty ? nil : failure
    }
  }

  /// The maximum number of bytes of lines that could not be written; further lines are lost.
  private static let maxUnwritten = 1 << 20

  private let onFailure: @Sendable (Failure) -> Void
  private let onReplacement: @Sendable () -> Void
  // Protects the descriptor; held while a line is written.
  private let state: Mutex<State>

  /// Opens the file, which is created with mode 0600 if it does not exist.
  ///
  /// - Parameters:
  ///   - onFailure: Called for the first of several lines in a row that cannot be written.
  ///   - onReplacement: Called after the file was opened again, and perhaps created, because it was removed,
  ///     renamed or replaced.
  public init(
    path: String, onFailure: @escaping @Sendable (Failure) -> Void,
    onReplacement: @escaping @Sendable () -> Void = {}
  ) throws(Failure) {
    self.onFailure = onFailure
    self.onReplacement = onReplacement
    state = Mutex(State(path: path, descriptor: try Self.open(path)))
  }

  deinit { _ = state.withLock { close($0.descriptor) } }

  private static func open(_ path: String, _ flags: Int32 = 0) throws(Failure) -> Int32 {
    let descriptor = LiveFetchCLibrary.open(
      path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | flags, 0o600)
    guard descriptor >= 0 else { throw Failure(code: errno) }
    return descriptor
  }

  /// Calls `body`, then reports if the file was opened again.
  private func changing(_ body: (inout State) -> Failure?) -> Failure? {
    let (failure, wasReplaced): (Failure?, Bool) = state.withLock { state in
      state.wasReplaced = false
      let failure = body(&state)
      return (failure, state.wasReplaced)
    }
    if wasReplaced { onReplacement() }
    return failure
  }

  /// Opens the file at the path again. If that fails it is tried again before each line, unless the open
  /// file still has this path.
  public func reopen() throws(Failure) {
    let failure = changing { state -> Failure? in
      do throws(Failure) {
        try state.openAgain()
      } catch {
        return error
      }
      _ = state.writeLines()
      return nil
    }
    if let failure { throw failure }
  }

  /// Appends a line, after those that could not be written before. Characters that are not seen are
  /// escaped.
  func append(_ line: [UInt8]) {
    let line = line.escapingInvisible
    let failure = changing { state -> Failure? in
      let hadFailed = !state.unwritten.isEmpty
      if state.unwritten.count + line.count >= Self.maxUnwritten { _ = state.writeLines() }
      guard state.unwritten.isEmpty || state.unwritten.count + line.count < Self.maxUnwritten
      else { return nil }
      state.unwritten += line + [0x0A]
      let failure = state.writeLines()
      return hadFailed ? nil : failure
    }
    if let failure { onFailure(failure) }
  }

  /// Returns the number of bytes that were written.
  private static func write(_ bytes: [UInt8], to descriptor: Int32) -> Int {
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes {
        LiveFetchCLibrary.write(descriptor, $0.baseAddress, $0.count)
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return sent }
      sent += count
    }
    return sent
  }

  /// The reason why the server is not ready; nil if the file is open and every line is written, which it
  /// tries first.
  var fault: StoreFault? {
    guard changing({ $0.writeLines() }) != nil else { return nil }
    return StoreFault("audit-failed", "Saves cannot be written to the audit file.")
  }
}

// MARK: - A line

extension AuditLog {
  /// The maximum number of ids in a line; a save of more objects is recorded with its counts.
  private static let maxIDs = 1_000

  /// Appends the line of a committed save, unless it has changed no object.
  func append(_ outcome: SaveResult, of request: SaveRequest?, _ context: RequestContext) {
    guard outcome.inserted + outcome.updated + outcome.deleted > 0 else { return }
    let model = context.service.store.model
    var line: JSONNode = [
      "time": "\(Instant.now.iso8601Milliseconds)",
      "caller": "\(context.caller?.credential ?? "anonymous")",
    ]
    if let user = context.caller?.userID { line += ["user": "\(user)"] }
    line += [
      "address": "\(context.request.remoteAddress)", "token": "\(outcome.token)",
      "inserted": JSONNode(integerLiteral: outcome.inserted),
      "updated": JSONNode(integerLiteral: outcome.updated),
      "deleted": JSONNode(integerLiteral: outcome.deleted),
    ]
    let batches = Self.batches(request?.changes ?? [], model)
    if !batches.members.isEmpty { line += ["batch": batches] }
    if let id = context.exchange.requestID { line += ["request": "\(id)"] }
    if !outcome.objects.isEmpty, outcome.objects.count <= Self.maxIDs {
      line += ["objects": Self.objects(outcome, model)]
    }
    append(line.bytes)
  }

  /// `{"City":["updated","deleted"]}`: the changes with a condition.
  private static func batches(_ changes: [Change], _ model: Model) -> JSONNode {
    var actions: [Int: Set<String>] = [:]
    for change in changes {
      switch change.operation {
      case .updateAll: actions[change.entity, default: []].insert("updated")
      case .deleteAll: actions[change.entity, default: []].insert("deleted")
      default: break
      }
    }
    return JSONNode(
      members: actions.sorted { $0.key < $1.key }.map { entity, actions in
        (model.entities[entity].name, JSONNode(actions.sorted()))
      })
  }

  /// `{"City":{"updated":[2]}}`
  private static func objects(_ outcome: SaveResult, _ model: Model) -> JSONNode {
    let kinds: [(String, SaveResult.Object.Kind)] = [
      ("inserted", .inserted), ("updated", .updated), ("deleted", .deleted),
    ]
    let byEntity = Dictionary(grouping: outcome.objects, by: \.entity)
    return JSONNode(
      members: byEntity.sorted { $0.key < $1.key }.map { entity, objects in
        let lists = kinds.map { name, kind in
          (name, objects.filter { $0.kind == kind }.map { json($0.id) })
        }
        let present = lists.filter { !$0.1.isEmpty }.map { ($0.0, JSONNode($0.1)) }
        return (model.entities[entity].name, JSONNode(members: present))
      })
  }

  private static func json(_ id: ObjectID) -> JSON {
    switch id {
    case .integer(let number): .number(String(number))
    case .text(let text): .string(text)
    }
  }
}
