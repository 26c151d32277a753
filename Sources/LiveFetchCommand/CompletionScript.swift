// A command and a shell → the completion script, in which each `--no-FLAG` has its own description.

import ArgumentParser
import Foundation

/// Replaces the description of `--no-FLAG`, for which ArgumentParser repeats that of `--FLAG`. Scripts for
/// bash contain no descriptions and stay as they are.
struct CompletionScript {
  let text: String

  init(of command: (some ParsableCommand).Type, for shell: CompletionShell) {
    let flags = Setting.all.filter { $0.kind == .flag }.map(\.name)
    text = command.completionScript(for: shell)
      .split(separator: "\n", omittingEmptySubsequences: false)
      .map { Self.line($0, flags, shell) }.joined(separator: "\n")
  }

  private static func line(
    _ line: Substring, _ flags: [String], _ shell: CompletionShell
  ) -> String {
    for name in flags {
      // zsh: '--no-read-only[Fetches only.]'     fish: -l 'no-read-only' -d 'Fetches only.'
      let isZsh = shell == .zsh
      let start = isZsh ? "'--no-\(name)[" : " -l 'no-\(name)' -d '"
      guard let place = line.range(of: start)?.lowerBound else { continue }
      return line[..<place] + start + "Not --\(name)." + (isZsh ? "]'" : "'")
    }
    return String(line)
  }
}
