// The output of commands: help, completions, tables, colours, progress bars.

import FetchModel
import Foundation
import TestSupport
import Testing

@testable import LiveFetchCommand

@Suite("Output on a terminal", .mayBlock)
struct TerminalTests {
  @Test("Completions are made for bash, zsh and fish", arguments: ["bash", "zsh", "fish"])
  func completions(shell: String) throws {
    let script = try Folder().run("--generate-completion-script", shell)
    #expect(script.status == 0)
    let words = [
      "serve", "demo", "fetch", "save", "import", "export", "copy", "backup", "restore", "check",
      "status", "model", "diff", "migrate", "alter", "detach", "key", "revoke", "access", "config",
      "query-timeout",
    ]
    for word in words { #expect(script.output.contains(word), "\(word)") }
  }

  @Test("A flag's negation is not described like the flag")
  func negations() throws {
    let zsh = try Folder().run("--generate-completion-script", "zsh").output
    #expect(zsh.contains(#"'--read-only[Fetches only\: no saves"#))
    #expect(zsh.contains("'--no-read-only[Not --read-only.]'\n"))
    #expect(zsh.contains("'--no-backup[Make no copy.]'"))
    let fish = try Folder().run("--generate-completion-script", "fish").output
    #expect(fish.contains("-l 'read-only' -d 'Fetches only: no saves"))
    #expect(fish.contains("-l 'no-read-only' -d 'Not --read-only.'\n"))
    for script in [zsh, fish] {
      #expect(script.components(separatedBy: "Start on any address").count == 4)
    }
  }

  @Test(
    "An output that cannot be written is status 74 in every command",
    arguments: [
      ["fetch", "w.sqlite", "City"], ["fetch", "w.sqlite", "City", "--format", "json"],
      ["export", "w.sqlite", "City"], ["status", "w.sqlite"], ["check", "w.sqlite"], ["config"],
      ["model", "export", "w.sqlite"], ["model", "show", "w.sqlite"],
    ])
  func fullOutput(arguments: [String]) throws {
    let folder = try smallFolder()
    let run = try folder.run(arguments, redirected: ">/dev/full")
    #expect(run.status == 74)
    #expect(run.errors == "livefetch: standard output: No space left on device\n")
  }

  @Test(
    "A full disk for standard error does not end a command", arguments: ["2>/dev/full", "2>&-"])
  func fullErrors(redirection: String) throws {
    let folder = try Folder()
    let run = try folder.run(["fetch", "nosuch.sqlite", "City"], redirected: redirection)
    #expect(run.status == 66)
  }

  @Test("A line is cut by its columns: wide letters have two, colours and combining marks none")
  func cutLines() {
    let wide = String(repeating: "語", count: 35)
    #expect(FetchScreen.cut(wide, to: 60) == String(repeating: "語", count: 30))
    #expect(FetchScreen.cut(wide, to: 61) == String(repeating: "語", count: 30))
    #expect(FetchScreen.cut(wide, to: 70) == wide)
    #expect(FetchScreen.cut("\u{1B}[9m- 語語語\u{1B}[0m", to: 6) == "\u{1B}[9m- 語語\u{1B}[0m")
    #expect(FetchScreen.cut("e\u{301}e\u{301}e\u{301}", to: 2) == "e\u{301}e\u{301}")
  }

  @Test("No colours and no progress bars if the output is not a terminal")
  func plain() throws {
    let folder = try smallFolder()
    let fetch = try folder.run("fetch", "w.sqlite", "City", "--section", "country")
    #expect(!fetch.output.contains("\u{1B}"))
    let load = try folder.run("import", "w.sqlite", "-", "--into", "City", input: "name\nX\n")
    #expect(load.errors == "")
  }

  @Test("Stored control characters are shown as symbols, and do not control the terminal")
  func controlCharacters() throws {
    let folder = try Folder()
    try folder.sql(
      "CREATE TABLE T(id INTEGER PRIMARY KEY, a, n INTEGER); "
        + "INSERT INTO T(a) VALUES (char(27) || '[2Jx' || char(7, 155, 8238, 10) || 'y')",
      on: "w.sqlite")
    let table = try folder.run("fetch", "w.sqlite", "T", "--select", "a")
    #expect(table.output == "id  a\n 1  ␛[2Jx␇\u{FFFD}\u{FFFD} y\n")
    let sections = try folder.run("fetch", "w.sqlite", "T", "--section", "a", "--select", "n")
    #expect(sections.output.contains("␛[2Jx␇\u{FFFD}\u{FFFD} y (1)"))
    let load = try folder.run(
      "import", "w.sqlite", "-", "--into", "T", input: "n\n\u{1B}[2J\n")
    #expect(load.errors.contains("not '␛[2J'"))
    let csv = try folder.run("fetch", "w.sqlite", "T", "--select", "a", "--format", "csv")
    #expect(csv.output.contains("\u{1B}[2Jx"))
  }

  @Test(
    "A table's columns are aligned, counting wide letters and marks by their width")
  func widths() {
    var table = TextTable(columns: ["a", "b"])
    table.add(["東京", "1"])
    table.add(["e\u{301}", "22"])
    #expect(table.text() == "a     b\n東京  1\ne\u{301}     22")
    #expect("Reykjavík".shortened(to: 5) == "Reyk…")
    #expect("東京都".shortened(to: 4) == "東…")
  }

  @Test("A non-blocking output is written completely, however slow its reader is")
  func nonBlocking() throws {
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    let (reader, writer) = (ends[0], ends[1])
    defer { close(reader) }
    try #require(fcntl(writer, F_SETFL, O_NONBLOCK) == 0)
    Thread.detachNewThread {
      Terminal(writer).write([UInt8](repeating: 0x61, count: 1_000_000))
      close(writer)
    }
    // The pipe is full.
    var waiting: Int32 = 0
    while waiting < 65_536, ioctl(reader, UInt(FIONREAD), &waiting) == 0 { usleep(1_000) }
    var count = 0
    var bytes = [UInt8](repeating: 0, count: 65_536)
    while case let read = read(reader, &bytes, bytes.count), read > 0 { count += read }
    #expect(count == 1_000_000)
  }

  @Test(
    "An export to a file shows progress on a terminal, unless it is quiet",
    arguments: [false, true]
  )
  func quietExport(isQuiet: Bool) throws {
    let folder = try smallFolder()
    let (terminal, other, path) = try Self.openTerminal()
    // The open descriptor of the other end keeps the output after the program's end.
    defer { for descriptor in [terminal, other] { close(descriptor) } }
    let run = try folder.run(
      ["export", "w.sqlite", "City", "--output", "c.csv"] + (isQuiet ? ["--quiet"] : []),
      redirected: "2>\(path)")
    #expect(run.status == 0)
    #expect(run.output == (isQuiet ? "" : "City: 3 written to c.csv\n"))
    var bytes = [UInt8](repeating: 0, count: 4_096)
    let count = max(0, read(terminal, &bytes, bytes.count))
    let shown = String(decoding: bytes.prefix(count), as: UTF8.self)
    #expect(shown.contains("export  3 objects") == !isQuiet, "\(shown)")
    #expect(!isQuiet || shown == "")
  }

  @Test("A watch that fails prints its message on the screen from before")
  func failedWatch() throws {
    let folder = try smallFolder()
    let (terminal, other, path) = try Self.openTerminal()
    defer { for descriptor in [terminal, other] { close(descriptor) } }
    let watch = try folder.start(
      ["fetch", "w.sqlite", "City", "--watch"], output: "run.out", limits: "exec >\(path) 2>&1")
    var shown = ""
    func isShown(_ text: String) -> Bool {
      var bytes = [UInt8](repeating: 0, count: 65_536)
      let count = max(0, read(terminal, &bytes, bytes.count))
      shown += String(decoding: bytes.prefix(count), as: UTF8.self)
      return shown.contains(text)
    }
    #expect(eventually(within: .seconds(120)) { isShown("waiting for changes") }, "\(shown)")
    try folder.sql("DROP TABLE City", on: "w.sqlite")
    #expect(eventually(within: .seconds(120)) { isShown("tables have changed") }, "\(shown)")
    let end = try #require(shown.components(separatedBy: "\u{1B}[?1049l").last)
    #expect(end.hasPrefix("livefetch: w.sqlite: its tables have changed"), "\(shown)")
    #expect(eventually(within: .seconds(120)) { !watch.isRunning })
  }

  /// `openpty`, which Glibc's module leaves out.
  private typealias OpenCall =
    @convention(c) (
      UnsafeMutablePointer<Int32>, UnsafeMutablePointer<Int32>, UnsafeMutablePointer<CChar>?,
      UnsafeRawPointer?, UnsafeRawPointer?
    ) -> Int32

  /// Returns the two ends of a new terminal, and the path of the one for a program. Reads of the first
  /// end do not block.
  private static func openTerminal() throws -> (terminal: Int32, other: Int32, path: String) {
    let call = unsafeBitCast(try #require(dlsym(nil, "openpty")), to: OpenCall.self)
    var (terminal, other): (Int32, Int32) = (-1, -1)
    var path = [CChar](repeating: 0, count: 1_024)
    try #require(call(&terminal, &other, &path, nil, nil) == 0)
    try #require(fcntl(terminal, F_SETFL, O_NONBLOCK) == 0)
    return (terminal, other, path.withUnsafeBufferPointer { String(cString: $0.baseAddress!) })
  }

  @Test("Commands have help, and so has the command help")
  func help() throws {
    for (arguments, usage) in [
      (["help", "help"], "livefetch help"),
      (["help", "model", "import"], "livefetch model import"),
      (["key", "create", "--help"], "livefetch key create"),
      (["model", "--help"], "livefetch model import"),
    ] {
      let help = try Folder().run(arguments)
      #expect(help.status == 0)
      #expect(help.output.contains(usage), "\(help.output)")
    }
    for topics in [["nosuch"], ["model", "nosuch"]] {
      let unknown = try Folder().run(["help"] + topics)
      #expect(unknown.status == 64)
      #expect(unknown.errors.contains("There is no command 'nosuch' to help with."))
    }
  }

  @Test("A progress bar shows the fraction, the rate and the remaining time")
  func bar() {
    #expect(
      ProgressBar.line(
        "City", fraction: 0.5, count: 100_000, unit: "rows", seconds: 2)
        == "City  ██████████░░░░░░░░░░   50 %  100,000 rows  50,000/s  0:02 left")
    #expect(
      ProgressBar.line("City", fraction: nil, count: 9, unit: "rows", seconds: 3)
        == "City  9 rows  3/s")
    #expect((-1_234_567).withThousandsSeparators == "-1,234,567")
  }

  @Test(
    "Sizes have a unit that leaves at most three digits before the point",
    arguments: [
      (999, "999 bytes"), (1_000, "1.0 kB"), (999_949, "999.9 kB"), (999_999, "1.0 MB"),
      (18_312_000, "18.3 MB"), (1_500_000_000_000, "1.5 TB"),
    ])
  func sizes(bytes: Int, text: String) {
    #expect(bytes.asBytes == text)
  }

  private func result(_ rows: [(Int, String)]) -> FetchResult {
    let items = rows.map { id, name in
      JSON.object([
        .init(name: "id", value: .number("\(id)")), .init(name: "name", value: .string(name)),
      ])
    }
    let section = JSON.object([
      .init(name: "name", value: .string("")), .init(name: "items", value: .array(items)),
    ])
    return FetchResult(.object([.init(name: "sections", value: .array([section]))]))
  }

  @Test("Inserted, changed, moved and deleted rows are marked, with the fewest moves")
  func changes() {
    let old = result([(1, "a"), (2, "b"), (3, "c"), (4, "d")])
    let new = result([(4, "d"), (1, "a"), (3, "x"), (5, "e")])
    let changes = RowChanges(from: old, to: new)
    #expect(changes.byID == ["4": .up, "3": .updated, "5": .inserted])
    #expect(changes.cells == ["3": ["name"]])
    #expect(changes.deleted.map(\.id) == ["2"])
    #expect(changes.summary == "1 inserted, 1 changed, 1 moved, 1 deleted")
    let table = FetchTable(result: new, terminal: .output, changes: changes)
    #expect(table.lines() == ["  id  name", "↑  4  d", "   1  a", "~  3  x", "+  5  e"])
    #expect(RowChanges(from: old, to: old).isEmpty)
  }
}
