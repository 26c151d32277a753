// `livefetch save STORE [FILE]`

import ArgumentParser
import FetchModel
import Foundation
import PostgresStore
import SQLiteStore
import Service

struct SaveCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "save",
    abstract: "Save changes in one transaction.",
    discussion: """
      Takes the JSON of `POST /v1/save`: an object with an array 'changes', or that array alone. \
      STORE is a server's address, a PostgreSQL database, or a file that is not being served: a served \
      file's changes go through its server. A save to a database adds the schema livefetch to it, as \
      serving does.

      EXAMPLES
        livefetch save shop.sqlite changes.json
        echo '[{"update":"City","id":1850147,"values":{"population":9733277}}]' |
          livefetch save http://127.0.0.1:8080

      EXIT STATUS
        65 if the save was refused; then nothing is saved.
      """)

  @OptionGroup var target: StoreArgument

  @Argument(help: "The changes; standard input by default, or for '-'.", completion: .file())
  var file = "-"

  @Flag(help: "Print the response as JSON.")
  var json = false

  func run() throws {
    try target.check()
    let body = try readBody()
    let answer =
      target.isAddress
      ? try target.remote().json("POST", "/v1/save", body: body.bytes) : try saveLocal(body)
    if json { print(answer.text) } else { Self.report(answer) }
  }

  private func readBody() throws -> JSON {
    let source = try ByteSource(path: file)
    var bytes: [UInt8] = []
    do throws(ReadError) {
      while try source.read(into: &bytes) {}
    } catch {
      throw failure("\(source.name): \(error.detail)", error.status)
    }
    do throws(JSONError) {
      let json = try JSON(parsing: bytes)
      guard case .array = json else { return json }
      return .object([.init(name: "changes", value: json)])
    } catch {
      throw failure(
        "\(source.name): expected \(error.expected) at byte \(error.offset)", .unusableStore)
    }
  }

  /// Returns what a server would answer.
  private func saveLocal(_ body: JSON) throws -> JSON {
    do throws(SaveError) {
      let (result, isTracked) =
        if let database = target.database {
          (try PostgresStore.save(body, to: database.text), true)
        } else {
          try SQLiteStore.save(body, to: target.store)
        }
      return Self.answer(result, isTracked ? result.token.description : nil)
    } catch {
      throw Self.explain(error, target)
    }
  }

  private static func explain(_ error: SaveError, _ target: StoreArgument) -> ExitCode {
    guard case .store(let error) = error else {
      return ProblemReport(Problem(error)).failure()
    }
    let path = target.name
    if target.database == nil, let server = SQLiteStore.server(of: path) {
      let address = server.address ?? "its address"
      return failure(
        "\(path): is being served by process \(server.process); save through it: "
          + "livefetch save \(address)", .unusableStore)
    }
    return failure("\(path): \(error.message)", error.exitStatus)
  }

  private static func report(_ answer: JSON) {
    let counts = ["inserted", "updated", "deleted"].map { "\(answer[$0]?.integer ?? 0) \($0)" }
    print(counts.joined(separator: ", "))
    if case .object(let ids)? = answer["ids"] {
      for id in ids { print("  \(id.name) is \(id.value.cellText)") }
    }
    if let token = answer["token"]?.string { print("  token \(token)") }
  }

  private static func answer(_ result: SaveResult, _ token: String?) -> JSON {
    func id(_ id: ObjectID) -> JSON {
      switch id {
      case .integer(let integer): .number(String(integer))
      case .text(let text): .string(text)
      }
    }
    let ids = result.ids.map { JSON.Member(name: $0.name, value: id($0.id)) }
    return .object([
      .init(name: "token", value: token.map { .string($0) } ?? .null),
      .init(name: "ids", value: .object(ids)),
      .init(name: "inserted", value: .number(String(result.inserted))),
      .init(name: "updated", value: .number(String(result.updated))),
      .init(name: "deleted", value: .number(String(result.deleted))),
    ])
  }
}
