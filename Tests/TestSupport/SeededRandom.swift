// Random numbers for generated test cases: the same seed gives the same sequence on every machine.

/// A generator of random numbers that a seed reproduces (SplitMix64).
public struct SeededRandom: RandomNumberGenerator, Sendable {
  /// The seed. Print it with a failure, so that the case can be generated again.
  public let seed: UInt64
  private var state: UInt64

  /// Makes a generator.
  ///
  /// - Parameter seed: Determines the sequence. The default differs in each run.
  public init(seed: UInt64 = .random(in: .min ... .max)) {
    self.seed = seed
    state = seed
  }

  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var bits = state
    bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
    bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
    return bits ^ (bits >> 31)
  }
}

/// A type that generates test cases from random numbers.
public protocol SeededCaseGenerator {
  var random: SeededRandom { get set }
}

extension SeededCaseGenerator {
  /// Returns a random number in `range`.
  public mutating func number(_ range: ClosedRange<Int>) -> Int {
    .random(in: range, using: &random)
  }

  /// Returns true with the probability 1 / `count`.
  public mutating func oneIn(_ count: Int) -> Bool { number(1...count) == 1 }

  /// Returns a random element of `choices`, which must not be empty.
  public mutating func pick<Choice>(_ choices: [Choice]) -> Choice {
    choices[number(0...choices.count - 1)]
  }
}

/// For tests without a generator of their own.
extension SeededRandom: SeededCaseGenerator {
  public var random: SeededRandom {
    get { self }
    set { self = newValue }
  }
}
