// Attributes with other names in the next version, and the ids of deleted objects.

import FetchModel
import TestSupport
import Testing

extension MigrationTests {
  /// One entity with text attributes, each with its previous name.
  private static func names(_ attributes: [(name: String, was: String?)]) throws -> ModelFile {
    let text = attributes.map { name, was in
      #"{"name":"\#(name)","type":"String"\#(was.map { #","renamingIdentifier":"\#($0)""# } ?? "")}"#
    }
    return try ModelFile(
      parsing: Array(
        #"{"entities":[{"name":"T","attributes":[\#(text.joined(separator: ","))]}]}"#.utf8))
  }

  @Test(arguments: [true, false])
  func aChainOfRenamesKeepsItsValues(throughEach: Bool) throws {
    let file = try SampleModel.served(Self.names([("a", nil)]))
    _ = try file.insert("T", #"{"a":"x"}"#)
    file.stop()
    let versions = [[("b", "a")], [("c", "a")], [("d", "c")]].map {
      $0.map { ($0.0, $0.1 as String?) }
    }
    for version in throughEach ? versions : [versions[1]] {
      _ = try file.migrate(to: Self.names(version))
    }
    let again = try ServedFile("", adopting: file)
    #expect(
      try again.ask("/v1/objects/T/1").text == #"{"id":1,"\#(throughEach ? "d" : "c")":"x"}"#)
  }

  @Test func namesMayBeSwappedAndReused() throws {
    let file = try SampleModel.served(Self.names([("a", nil), ("b", nil)]))
    _ = try file.insert("T", #"{"a":"x","b":"y"}"#)
    file.stop()
    _ = try file.migrate(to: Self.names([("a", "b"), ("b", "a")]))
    // The attribute `a` was renamed to `b` before, and is renamed to `c` now.
    _ = try file.migrate(to: Self.names([("a", nil), ("b", nil), ("c", "a")]))
    let again = try ServedFile("", adopting: file)
    #expect(try again.ask("/v1/objects/T/1").text == #"{"id":1,"a":"y","b":null,"c":"x"}"#)
  }

  @Test func idsAreNeverReusedEvenIfAllObjectsAreDeleted() throws {
    let file = try SampleModel.served(Self.names([("a", nil)]))
    for _ in 0..<3 { _ = try file.insert("T", "{}") }
    _ = try file.ask("DELETE", "/v1/objects/T?where=TRUEPREDICATE")
    file.stop()
    _ = try file.migrate(to: Self.names([("a", nil), ("b", nil)]))
    let again = try ServedFile("", adopting: file)
    #expect(try again.insert("T", "{}") == 4)
  }
}
