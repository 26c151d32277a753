// The results that an offline store keeps: which of them, and for how long.

import Testing

@testable import LiveFetch

@Suite("The results of an offline store")
struct OfflineResultsTests {
  private let storage = MemoryStorage()

  private func request(_ number: Int) -> JSON {
    .object([
      .init(name: "entity", value: .string("City")),
      .init(name: "limit", value: .number("\(number)")),
      .init(name: "digest", value: .boolean(true)),
    ])
  }

  private func keep(_ numbers: Range<Int>, in results: OfflineResults) throws {
    let text =
      #"{"token":"k-1-0","count":0,"sections":[{"name":"","value":null,"indexTitle":"","items":[]}]}"#
    let answer = try JSON(parsing: Array(text.utf8))
    for number in numbers { results.keep(answer, of: request(number)) }
  }

  private func kept(_ numbers: Range<Int>, in results: OfflineResults) -> [Int] {
    numbers.filter { results.snapshot(of: request($0), onlyUnconfirmed: false) != nil }
  }

  @Test("are those of the 50 fetches that were followed last, in memory and in the storage")
  func limit() throws {
    let results = OfflineResults(storage)
    try keep(0..<60, in: results)
    results.write()
    #expect(kept(0..<60, in: results) == Array(10..<60))
    #expect(storage.keys().count == 51)
    #expect(results.isConfirmed(request(0)))
  }

  @Test("include those of fetches that are still followed")
  func followed() throws {
    let results = OfflineResults(storage)
    results.beginFollowing(request(0))
    try keep(0..<60, in: results)
    results.write()
    #expect(kept(0..<60, in: results) == [0] + Array(11..<60))
    results.endFollowing(request(0))
    try keep(60..<110, in: results)
    results.write()
    #expect(kept(0..<110, in: results) == Array(60..<110))
  }

  @Test("are not removed by fetches that have no result")
  func unanswered() throws {
    let before = OfflineResults(storage)
    try keep(0..<3, in: before)
    before.write()
    let results = OfflineResults(storage)
    #expect(kept(3..<100, in: results) == [])
    results.write()
    #expect(kept(0..<3, in: OfflineResults(storage)) == [0, 1, 2])
  }
}
