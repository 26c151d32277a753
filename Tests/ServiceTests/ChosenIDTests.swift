// Ids that clients choose, and what the store makes of them.

import FetchModel
import TestSupport
import Testing

@Suite("Ids that clients choose", .mayBlock)
struct ChosenIDTests {
  @Test("PUT under an id that the store would write in another way is 404 and inserts nothing")
  func otherTexts() throws {
    let file = try ServedFile("CREATE TABLE thing(x REAL PRIMARY KEY NOT NULL, n INTEGER);")
    for id in ["2.50", "25e-1", "+2.5"] {
      let refused = try file.ask("PUT", "/v1/objects/thing/\(id)", body: #"{"n":1}"#)
      #expect(refused.status == 404, "\(id): \(refused.text)")
    }
    #expect(try file.ask("/v1/objects/thing?as=count").json["total"]?.integer == 0)
    let inserted = try file.ask("PUT", "/v1/objects/thing/2.5", body: #"{"n":1}"#)
    #expect(inserted.status == 201, "\(inserted.text)")
    #expect(try file.ask("/v1/objects/thing/2.5").text == #"{"id":"2.5","n":1}"#)
  }

  @Test("after the largest id an insert without one is refused, one with an id not", .onlyForFiles)
  func largestID() throws {
    let file = try SampleModel.served(
      text: #"{"entities":[{"name":"Tag","attributes":[{"name":"name","type":"String"}]}]}"#)
    let path = "/v1/objects/Tag"
    let largest = try file.ask("PUT", "\(path)/9223372036854775807", body: #"{"name":"a"}"#)
    #expect(largest.status == 201, "\(largest.text)")
    for _ in 0..<2 {
      let refused = try file.ask("POST", path, body: #"{"name":"b"}"#)
      #expect(refused.status == 422, "\(refused.text)")
      let errors = try refused.errors()
      #expect(errors.map { $0["code"]?.string } == ["refused"])
      #expect(errors.map { $0["property"]?.string } == ["id"])
    }
    #expect(try file.ask("PUT", "\(path)/7", body: #"{"name":"c"}"#).status == 201)
    #expect(try file.ask("\(path)?as=count").json["total"]?.integer == 2)
  }

  @Test("a save that uses the largest id and then needs another one is refused", .onlyForFiles)
  func largestIDInTheSameSave() throws {
    let file = try SampleModel.served(
      text: #"{"entities":[{"name":"Tag","attributes":[{"name":"name","type":"String"}]}]}"#)
    let refused = try file.ask(
      "POST", "/v1/save",
      body: """
        {"changes":[{"insert":"Tag","values":{"id":9223372036854775807}},
        {"insert":"Tag","values":{"name":"b"}}]}
        """)
    #expect(refused.status == 422, "\(refused.text)")
    #expect(try refused.errors().map { $0["change"]?.integer } == [1])
    #expect(try file.insert("Tag", #"{"name":"c"}"#) == 1)
  }
}
