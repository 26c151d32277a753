// A watched fetch → a full-screen display that is redrawn after each change.

import ArgumentParser
import FetchModel
import Foundation
import Synchronization

/// Draws a fetch on the terminal's alternate screen until the process is interrupted.
struct FetchScreen {
  private static let enter = "\u{1B}[?1049h\u{1B}[?25l"
  private static let leave = "\u{1B}[?25h\u{1B}[?1049l"

  /// True while the alternate screen is shown.
  private static let isShown = Atomic(false)

  let source: any FetchSource
  let title: String
  private let terminal = Terminal.output

  init(source: any FetchSource, title: String) {
    self.source = source
    self.title = title
  }

  /// - Parameter first: The result at the source's token.
  func run(from first: FetchResult) throws {
    var shown = first
    TerminationSignal.exitOnSignal { Self.hide() }
    Self.isShown.store(true, ordering: .relaxed)
    terminal.write(Self.enter)
    draw(shown, RowChanges(), "waiting for changes")
    while true {
      do {
        guard let json = try source.nextResult() else { continue }
        let result = FetchResult(json, columnsIfEmpty: shown.columns)
        let changes = RowChanges(from: shown, to: result)
        guard !changes.isEmpty else { continue }
        draw(result, changes, changes.summary)
        shown = result
      } catch is ServerUnavailable {
        draw(shown, RowChanges(), "no answer; trying again")
      } catch {
        Self.hide()
        throw error
      }
    }
  }

  /// Shows the screen from before again, if this one is shown. It would erase a message on standard error.
  static func hide() {
    guard isShown.exchange(false, ordering: .relaxed) else { return }
    Terminal.output.write(leave)
  }

  private func draw(_ result: FetchResult, _ changes: RowChanges, _ word: String) {
    let size = terminal.size
    var marked = changes
    marked.isMarking = true
    var lines = FetchTable(result: result, terminal: terminal, changes: marked).lines()
    let gone = changes.deleted.prefix(3).map { row in
      terminal.paint("- " + row.cells.joined(separator: "  "), .struck)
    }
    let room = max(1, size.rows - 2 - gone.count)
    if lines.count > room {
      let hidden = lines.count - room + 1
      lines =
        lines.prefix(room - 1) + [
          terminal.paint("… \(hidden.withThousandsSeparators) more rows", .dim)
        ]
    }
    let head = "\(title)  \(result.count.withThousandsSeparators) objects  \(Self.clock())  \(word)"
    let top = terminal.paint(
      head.shortened(to: size.columns).padded(to: size.columns), .inverse)
    let body = ([top] + lines + gone).prefix(max(1, size.rows - 1)).map {
      Self.cut($0, to: size.columns) + "\u{1B}[K"
    }
    terminal.write("\u{1B}[H" + body.joined(separator: "\r\n") + "\u{1B}[J")
  }

  private static func clock() -> String {
    let now = Date()
    let format = DateFormatter()
    format.dateFormat = "HH:mm:ss"
    return format.string(from: now)
  }

  /// Returns `line` truncated to a number of columns. Colour codes have no width and are reset at
  /// the end.
  static func cut(_ line: String, to width: Int) -> String {
    // No character has more columns than bytes.
    guard line.utf8.count > width else { return line }
    var result = ""
    var used = 0
    var isEscape = false
    for character in line {
      if character == "\u{1B}" { isEscape = true }
      if isEscape {
        result.append(character)
        if character == "m" { isEscape = false }
        continue
      }
      used += character.columns
      if used <= width { result.append(character) }
    }
    return result
  }
}

extension RowChanges {
  var isEmpty: Bool { byID.isEmpty && deleted.isEmpty }

  /// `1 inserted, 2 changed, 1 moved, 1 deleted`
  var summary: String {
    let counts = [
      (byID.values.count { $0 == .inserted }, "inserted"),
      (byID.values.count { $0 == .updated }, "changed"),
      (byID.values.count { $0 == .up || $0 == .down }, "moved"), (deleted.count, "deleted"),
    ]
    return counts.filter { $0.0 > 0 }.map { "\($0.0.withThousandsSeparators) \($0.1)" }.joined(
      separator: ", ")
  }
}
