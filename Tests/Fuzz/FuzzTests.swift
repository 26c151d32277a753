// A short form of `make fuzz` for the tests of the package: no sanitizer, and no record of which code an
// input reaches.

#if SWIFT_PACKAGE
  import Foundation
  import TestSupport
  import Testing

  /// Reads inputs of the corpus that were changed at random. `LIVEFETCH_FUZZ_SEED` repeats a sequence,
  /// `LIVEFETCH_FUZZ_SECONDS` is how long it lasts. The seed is printed first, because a trap ends the
  /// process.
  @Suite("The readers of clients' text do not trap, and read back what they wrote", .mayBlock)
  struct FuzzTests {
    @Test("Changed inputs of the corpus keep the readers' promises")
    func changedInputs() throws {
      let environment = ProcessInfo.processInfo.environment
      let seed = environment["LIVEFETCH_FUZZ_SEED"].flatMap { UInt64($0) }
      let seconds = environment["LIVEFETCH_FUZZ_SECONDS"].flatMap { Double($0) } ?? 4
      var inputs = try FuzzInputs(SeededRandom(seed: seed ?? .random(in: .min ... .max)))
      let line = "LIVEFETCH_FUZZ_SEED=\(inputs.random.seed)\n"
      FileHandle.standardError.write(Data(line.utf8))
      let end = ContinuousClock.now + .seconds(seconds)
      var count = 0
      while ContinuousClock.now < end {
        let input = inputs.next()
        input.withUnsafeBufferPointer { _ = fuzzOneInput($0.baseAddress, $0.count) }
        count += 1
      }
      #expect(count > 0)
    }
  }

  /// Inputs of the corpus with random changes.
  struct FuzzInputs: SeededCaseGenerator {
    var random: SeededRandom
    private let corpus: [[UInt8]]
    private let words: [[UInt8]]

    init(_ random: SeededRandom) throws {
      self.random = random
      let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      let files = try FileManager.default.contentsOfDirectory(
        at: folder.appendingPathComponent("corpus"), includingPropertiesForKeys: nil)
      corpus = try files.sorted { $0.path < $1.path }.map { [UInt8](try Data(contentsOf: $0)) }
      let list = folder.appendingPathComponent("words.dict")
      words = try String(contentsOf: list, encoding: .utf8).split(separator: "\n")
        .filter { $0.hasPrefix("\"") }.map { Array($0.dropFirst().dropLast().utf8) }
    }

    mutating func next() -> [UInt8] {
      var bytes = pick(corpus)
      for _ in 1...number(1...6) {
        let start = number(0...bytes.count)
        let end = min(bytes.count, start + number(0...20))
        switch number(0...5) {
        case 0: bytes.replaceSubrange(start..<end, with: [UInt8(number(0...255))])
        case 1: bytes.removeSubrange(start..<end)
        case 2: bytes.insert(contentsOf: bytes[start..<end], at: start)
        case 3:
          let other = pick(corpus)
          bytes.insert(contentsOf: other[number(0...other.count)...].prefix(30), at: start)
        default: bytes.insert(contentsOf: pick(words), at: start)
        }
      }
      return Array(bytes.prefix(4_096))
    }
  }
#endif
