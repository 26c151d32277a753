// The text that `livefetch demo` prints.

import Testing

@testable import LiveFetchCommand

@Suite("What `livefetch demo` prints")
struct DemoTests {
  @Test("The commands name an address of this machine, and the token if there is one")
  func greeting() {
    #expect(
      Demo.greeting(.heroes, at: "http://127.0.0.1:8080", needsToken: false) == """


        Open http://127.0.0.1:8080/ in two browser windows.

        Try it: curl http://127.0.0.1:8080/v1/model
        """)
    #expect(
      Demo.greeting(.todo, at: "https://[::]:9000", needsToken: false)
        .hasSuffix("Try it: curl https://[::1]:9000/v1/model"))
    let world = Demo.greeting(.world, at: "http://0.0.0.0:8080", needsToken: true)
    #expect(!world.contains("0.0.0.0"))
    let commands = world.split(separator: "\n").filter { $0.hasPrefix("  curl ") }
    #expect(commands.count == 3)
    #expect(
      commands.allSatisfy {
        $0.hasPrefix(#"  curl -H "Authorization: Bearer $LIVEFETCH_TOKEN" "#)
          && $0.contains("http://127.0.0.1:8080/v1/objects/City")
      })
  }
}
