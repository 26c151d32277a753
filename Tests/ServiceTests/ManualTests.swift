// The README and the manual: their commands are run, their examples evaluated, their links followed.

import Crypto
import FetchModel
import Foundation
import SQLiteStore
import TestSupport
import Testing

@testable import LiveFetchCommand

@Suite("The README and the manual", .mayBlock, .serialized)
struct ManualTests {
  private struct Example {
    let entity: String
    let text: String
    let given: JSON?
    let count: Int64
  }

  /// A file with the sample cities, made once.
  private static let sample = Result {
    let directory = try TemporaryDirectory()
    try Sample.world.create(at: directory.file("sample.sqlite"))
    return directory
  }

  static func sampleFile() throws -> String { try sample.get().file("sample.sqlite") }

  /// The rows of the table: `| … | `example` with `[arguments]` | count |`.
  private static func examples() throws -> [Example] {
    let text = try ManualPage("Public/docs/predicates.md").text
    let section = try #require(text.components(separatedBy: "## Every operator and function").last)
    let row = /^\| .+ \| `(Country: )?(.+?)`(?: with `(.+)`)? \| ([0-9]+) \|$/
    return try section.split(separator: "\n").prefix { !$0.hasPrefix("#") }
      .compactMap { line -> Example? in
        guard let match = line.wholeMatch(of: row) else { return nil }
        return Example(
          entity: match.1 == nil ? "City" : "Country",
          text: String(match.2).replacing("\\|", with: "|"),
          given: try match.3.map { try JSON(parsing: Array($0.utf8)) },
          count: Int64(match.4) ?? -1)
      }
  }

  private static func request(_ example: Example) -> FetchRequest {
    var request = FetchRequest(entity: example.entity)
    request.predicate = example.text
    request.shape = .count
    switch example.given {
    case .array(let values)?: request.arguments = values.map { .json($0) }
    case .object(let members)?:
      for member in members { request.variables[member.name] = .json(member.value) }
    default: break
    }
    return request
  }

  @Test("Every example of a predicate finds as many objects as the table says")
  func predicateExamples() throws {
    let path = try Self.sampleFile()
    var options = SQLiteStoreOptions()
    options.isReadOnly = true
    options.queryTimeout = 600
    let store = try SQLiteStore(path: path, options: options)
    defer { store.close() }
    let resolver = FetchResolver(model: store.model, maxItems: 10)
    let examples = try Self.examples()
    #expect(examples.count >= 80)
    for example in examples {
      let json = try JSON(
        parsing: store.snapshot(of: resolver.resolve(Self.request(example)), queryClass: .full).json
      )
      #expect(json["total"]?.integer == example.count, "\(example.text)")
    }
  }

  @Test("The table of predicates has every operator and function")
  func predicateNames() throws {
    let text = try ManualPage("Public/docs/predicates.md").text
    let names =
      ComparisonPredicate.Operator.allCases.map(\.rawValue) + [
        "AND", "OR", "NOT", "ANY", "SOME", "ALL", "NONE", "[c]", "[d]", "[cd]", "[n]", "SELF",
        "@count", "@sum", "@avg", "@min", "@max", "@distinctUnionOfObjects", "SUBQUERY", "[SIZE]",
        "TERNARY", "CAST", "FUNCTION", "sum", "count", "min", "max", "average", "add:to:",
        "from:subtract:", "multiply:by:", "divide:by:", "modulus:by:", "sqrt", "log", "ln",
        "raise:toPower:", "exp", "floor", "ceiling", "abs", "trunc", "uppercase", "lowercase",
        "canonical", "length", "now", "bitwiseAnd:with:", "bitwiseOr:with:", "bitwiseXor:with:",
        "leftshift:by:", "rightshift:by:", "onesComplement:", "TRUEPREDICATE", "FALSEPREDICATE",
        "+", "-", "*", "/", "**", "#word", "%@", "%K", "%ld", "$name",
      ]
    for name in names { #expect(text.contains("`\(name)`"), "\(name)") }
  }

  // MARK: Commands and examples

  /// The pages with console blocks, and the least number of commands in them.
  static let consolePages = [
    ("README.md", 6), ("Public/docs/predicates.md", 1), ("Public/docs/api.md", 4),
    ("Public/docs/protocol.md", 6), ("Public/docs/cli.md", 9), ("Public/docs/access.md", 8),
    ("Public/docs/errors.md", 2), ("Public/docs/metrics.md", 2), ("Public/docs/tutorial.md", 25),
    ("Public/docs/howto.md", 15), ("Public/docs/operations.md", 3), ("Public/docs/sqlite.md", 6),
    ("Public/docs/models.md", 10), ("Public/docs/upgrade.md", 5),
  ]

  @Test(
    "Every console block shows what the program really prints",
    arguments: consolePages)
  func consoleBlocks(page: String, leastCommands: Int) throws {
    let session = try ConsoleSession(sample: Self.sampleFile())
    try session.run(ManualPage(page))
    #expect(session.commandCount >= leastCommands)
    #expect(session.differences == [])
  }

  @Test("Every JSON block is JSON, unless it leaves something out")
  func jsonBlocks() throws {
    for page in try ManualPage.all() {
      for block in page.blocks where block.language == "json" {
        guard !block.text.contains("…") else { continue }
        #expect(throws: Never.self, "\(page.name): \(block.text)") {
          try JSON(parsing: Array(block.text.utf8))
        }
      }
    }
  }

  @Test("The model in the manual is a model")
  func modelExample() throws {
    let block = try #require(
      ManualPage("Public/docs/models.md").blocks.first { $0.language == "json" })
    let model = try ModelFile(parsing: Array(block.text.utf8))
    #expect(model.entities.map(\.name) == ["Human", "Hero", "Team"])
  }

  // MARK: Form

  @Test("The README has at most 150 lines")
  func readmeLength() throws {
    // The last line ends with a line break.
    #expect(try ManualPage("README.md").lines.count <= 151)
  }

  @Test("Every link leads to a file, and to a heading where it names one")
  func links() throws {
    for page in try ManualPage.all() {
      for link in page.links {
        let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
        let path = String(parts[0]).removingPercentEncoding ?? ""
        let target =
          path.isEmpty
          ? page.url : page.url.deletingLastPathComponent().appendingPathComponent(path)
        let place = "\(page.name): \(link)"
        #expect(FileManager.default.fileExists(atPath: target.standardizedFileURL.path), "\(place)")
        guard parts.count == 2, target.pathExtension == "md" else { continue }
        let relative = target.standardizedFileURL.path.dropFirst(ManualPage.root.path.count)
        #expect(try ManualPage(String(relative)).anchors.contains(String(parts[1])), "\(place)")
      }
    }
  }

  @Test("The index names every page of the manual")
  func index() throws {
    let pages = try FileManager.default.contentsOfDirectory(
      atPath: ManualPage.root.appendingPathComponent("Public/docs").path
    ).filter { $0.hasSuffix(".md") && $0 != "index.md" }
    #expect(pages.count >= 11)
    let markdown = try ManualPage("Public/docs/index.md").text
    let html = try ManualPage("Public/docs/index.html").text
    for page in pages {
      #expect(markdown.contains("](\(page))"), "\(page)")
      let rendered = page.replacingOccurrences(of: ".md", with: ".html")
      #expect(html.contains("href=\"/docs/\(rendered)\""), "\(page)")
    }
  }

  @Test("Every page is rendered from its present source, with an anchor for each heading")
  func renderedPages() throws {
    let sources = try ManualPage.all().filter { $0.url.path.contains("/Public/docs/") }
    #expect(sources.count >= 12)
    let index = try String(
      contentsOf: ManualPage.root.appendingPathComponent("Public/docs/search.json"),
      encoding: .utf8)
    for source in sources {
      let name = source.url.deletingPathExtension().lastPathComponent
      let html = try ManualPage("Public/docs/\(name).html").text
      let digest = SHA256.hash(data: Data(source.text.utf8))
        .map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
      #expect(html.contains("content=\"\(digest)\""), "\(name): run `make docs`")
      #expect(index.contains("[\"\(name)\", "), "\(name)")
      #expect(!html.contains("src=\"http"), "\(name)")
    }
  }

  /// A section is found by its name and text, in which each word must be.
  @Test(
    "A search finds the section by the reader's words",
    arguments: [
      ("license", "operations", "install"), ("install", "operations", "install"),
      ("uninstall", "operations", "install"), ("arm64", "operations", "install"),
      ("null", "predicates", "nil"), ("regex", "predicates", "matches"),
      ("nightly import", "howto", "import-a-csv-file-every-night"),
      ("sizing", "operations", "size-and-tune"), ("hardware", "operations", "size-and-tune"),
      ("tuning", "operations", "tuning-when-to-change-a-setting"),
      ("windows", "operations", "tuning-when-to-change-a-setting"),
      ("logrotate", "operations", "rotate-logs"), ("k8s", "operations", "health-and-metrics"),
      ("kubernetes", "operations", "health-and-metrics"),
      ("high availability", "operations", "high-availability-and-several-tenants"),
      ("multi-tenant", "operations", "high-availability-and-several-tenants"),
      ("production", "security", "checklist"), ("firewall", "security", "checklist"),
      ("reverse proxy", "operations", "behind-a-proxy"),
      ("let's encrypt", "operations", "nginx-haproxy-and-caddy"), ("corrupt", "cli", "check"),
    ])
  func search(words: String, page: String, anchor: String) throws {
    let index = try Data(
      contentsOf: ManualPage.root.appendingPathComponent("Public/docs/search.json"))
    let sections = try JSONDecoder().decode([[String]].self, from: index)
    let section = try #require(sections.first { $0[0] == page && $0[2] == anchor })
    let text = [section[1], section[3], section[4]].joined(separator: " ").lowercased()
    for word in words.split(separator: " ") { #expect(text.contains(word)) }
  }

  /// The server's Content-Security-Policy refuses them when a picture is opened by itself.
  @Test("No picture of the manual has a style sheet or a style attribute")
  func pictureStyles() throws {
    let folder = ManualPage.root.appendingPathComponent("Public/docs")
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
      .filter { $0.hasSuffix(".svg") }
    #expect(names.count >= 3)
    for name in names {
      let picture = try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
      #expect(!picture.contains("<style") && !picture.contains("style="), "\(name)")
      #expect(!picture.contains("class="), "\(name)")
    }
  }

  @Test("Every link of a rendered page leads to a page, and to a heading where it names one")
  func renderedLinks() throws {
    for source in try ManualPage.all() where source.url.path.contains("/Public/docs/") {
      let name = source.url.deletingPathExtension().lastPathComponent
      for match in try ManualPage("Public/docs/\(name).html").text
        .matches(of: /href="(?:\/docs\/([^"#]*))?#([^"]*)"/)
      {
        let target = match.1.map { $0.isEmpty ? "index.html" : String($0) } ?? name + ".html"
        let anchored = match.2 == "content" || match.2.isEmpty
        let page = try ManualPage("Public/docs/\(target)").text
        #expect(anchored || page.contains("id=\"\(match.2)\""), "\(name): \(match.0)")
      }
    }
  }

  @Test("A server with --public serves the manual as HTML and Markdown")
  func servedManual() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("store.sqlite")
    try FileManager.default.copyItem(atPath: Self.sampleFile(), toPath: path)
    let server = try RunningProgram([
      "serve", path, "--port", "0", "--public",
      ManualPage.root.appendingPathComponent("Public").path,
    ])
    defer {
      server.process.terminate()
      _ = server.end()
      withExtendedLifetime(directory) {}
    }
    let address = server.line.dropFirst("LiveFetch listening on ".count)
    let pages = ["/docs/", "/docs/predicates.md", "/docs/none.md", "/docs/predicates.html"]
    let answers = try pages.map { try Curl.get(address + $0) }
    #expect(answers.map(\.status) == [200, 200, 404, 200])
    #expect(answers[0]["Content-Type"] == "text/html; charset=utf-8")
    #expect(answers[1]["Content-Type"] == "text/markdown; charset=utf-8")
    let page = try ManualPage("Public/docs/predicates.md").text
    #expect(String(decoding: answers[1].bytes, as: UTF8.self) == page)
  }
}
