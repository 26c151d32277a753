// The progress of a long command, on one line of standard error that is redrawn. Writes nothing if
// standard error is not a terminal.

import Foundation

/// A progress bar with rate and remaining time.
struct ProgressBar {
  private let label: String
  private let start = DispatchTime.now().uptimeNanoseconds
  private let terminal = Terminal.errors
  private var lastDraw: UInt64 = 0
  private var isDrawn = false

  init(_ label: String) { self.label = label }

  /// - Parameters:
  ///   - fraction: The completed fraction, 0...1; nil if the total is unknown.
  ///   - count: The number of processed units, and their name: `12,000 rows`.
  mutating func show(_ fraction: Double?, count: Int, unit: String) {
    guard terminal.isTerminal else { return }
    let now = DispatchTime.now().uptimeNanoseconds
    guard now &- lastDraw > 100_000_000 else { return }
    lastDraw = now
    isDrawn = true
    let seconds = max(0.001, Double(now &- start) / 1e9)
    draw(Self.line(label, fraction: fraction, count: count, unit: unit, seconds: seconds))
  }

  /// Shows `shop.sqlite  ██████░░░░  60 %  add City.name`: the step after `done` of `all`.
  mutating func show(step: String, done: Int, of all: Int) {
    guard terminal.isTerminal, all > 0 else { return }
    isDrawn = true
    draw(([label] + Self.bar(Double(done) / Double(all)) + [step]).joined(separator: "  "))
  }

  private func draw(_ line: String) {
    terminal.write("\r\(line.shortened(to: terminal.size.columns - 1))\u{1B}[K")
  }

  /// `City  ███████░░░  71 %  166,000 rows  212,000/s  0:01 left`
  static func line(
    _ label: String, fraction: Double?, count: Int, unit: String, seconds: Double
  ) -> String {
    var parts = [label]
    if let fraction { parts += bar(fraction) }
    parts += [
      "\(count.withThousandsSeparators) \(unit)",
      "\(Int(Double(count) / seconds).withThousandsSeparators)/s",
    ]
    if let fraction, fraction > 0.02 {
      parts.append("\(Self.clock(seconds / fraction - seconds)) left")
    }
    return parts.joined(separator: "  ")
  }

  private static func bar(_ fraction: Double) -> [String] {
    let done = Int((min(1, max(0, fraction)) * 20).rounded(.down))
    let bar = String(repeating: "█", count: done) + String(repeating: "░", count: 20 - done)
    return [bar, "\(Int(fraction * 100)) %".padded(to: 5, atRight: true)]
  }

  private static func clock(_ seconds: Double) -> String {
    let whole = Int(min(359_999, max(0, seconds.rounded(.up))))
    let rest = String(whole % 60)
    return "\(whole / 60):" + (rest.count < 2 ? "0" + rest : rest)
  }

  /// Erases the line.
  mutating func clear() {
    if isDrawn { terminal.write("\r\u{1B}[K") }
    isDrawn = false
  }
}

extension BinaryInteger {
  /// The digits with commas between groups of three.
  var withThousandsSeparators: String {
    let digits = String(magnitude)
    var result = ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index) % 3 == 0 { result.append(",") }
      result.append(digit)
    }
    return self < 0 ? "-" + result : result
  }
}
