// `--as USER --role ROLE --claims JSON`: the caller whose access rules a fetch of a file obeys.

import ArgumentParser
import FetchModel

/// The caller for whom a file is read.
struct CallerArguments: ParsableArguments {
  @Option(
    name: .customLong("as"),
    help: ArgumentHelp("Obey the access rules for the user with this id.", valueName: "user"))
  var user: String?

  @Option(help: "A role of the user; may be repeated.")
  var role: [String] = []

  @Option(
    help: ArgumentHelp(
      "The claims of the user's JWT: a JSON object, whose 'name' is the user's name.",
      valueName: "json"))
  var claims: String?

  @Option(
    help: "A JSON file of access rules, in place of those of the model.",
    completion: .file(extensions: ["json"]))
  var access: String?

  var isGiven: Bool { user != nil || !role.isEmpty || claims != nil || access != nil }

  func validate() throws {
    if user == nil, isGiven { throw ValidationError("--role, --claims and --access need --as.") }
    _ = try claimsObject()
  }

  /// Returns the claims; null without any.
  private func claimsObject() throws -> JSON {
    guard let claims else { return .null }
    guard let json = try? JSON(request: Array(claims.utf8)), case .object = json else {
      throw ValidationError("--claims takes a JSON object, as in '{\"team\":4}'.")
    }
    return json
  }

  /// Returns what the caller may do; nil unless one is given.
  ///
  /// - Parameter path: The store, for messages.
  func access(to model: Model, _ path: String) throws -> CallerAccess? {
    guard let user else { return nil }
    let given = try access.map { try AccessDeclaration(atPath: $0) }
    guard let declaration = given ?? model.file.flatMap({ AccessDeclaration($0) }) else {
      throw failure(
        "\(path): the model has no access rules; give a file of them with --access", .usage)
    }
    let claims = try claimsObject()
    return try declaration.checked(model, file: access ?? path)
      .access(
        of: AccessCaller(id: user, name: claims["name"]?.string, roles: role, claims: claims))
  }
}
