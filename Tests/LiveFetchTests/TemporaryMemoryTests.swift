import Foundation
import LiveFetch
import Testing

@Suite struct TemporaryMemoryTests {
  static func rss() -> Int {
    let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
    return (Int(text.split(separator: " ")[1]) ?? 0) * 4
  }

  @Test(.enabled(if: ProcessInfo.processInfo.environment["MEM"] != nil))
  func memory() async throws {
    let env = ProcessInfo.processInfo.environment
    let store = RemoteStore(URL(string: env["MEM"]!)!)
    let body = try JSON(parsing: Array(#"{"changes":[{"update":"player","id":1,"values":{"score":5}}]}"#.utf8))
    let fetch = try JSON(parsing: Array(#"{"entity":"player"}"#.utf8))
    for round in 0..<12 {
      for _ in 0..<500 {
        if env["MEMFETCH"] != nil { _ = try await store.fetch(fetch) } else { _ = try await store.save(body) }
      }
      print("MEM", round, Self.rss())
    }
  }
}
