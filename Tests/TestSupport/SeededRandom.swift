// Random numbers for generated test cases: the same seed gives the same sequence on every machine.

/// Random numbers that a printed seed reproduces (SplitMix64).
public struct SeededRandom: RandomNumberGenerator, Sendable {
  /// The number to print with a failure.
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

/// Makes test cases from a sequence of random numbers.
public protocol SeededCaseGenerator {
  var random: SeededRandom { get set }
}

extension SeededCaseGenerator {
  /// A random number within `range`.
  public mutating func number(_ range: ClosedRange<Int>) -> Int {
    .random(in: range, using: &random)
  }

  /// True with the probability 1 / `count`.
  public mutating func oneIn(_ count: Int) -> Bool { number(1...count) == 1 }

  /// A random element of `choices`, which must not be empty.
  public mutating func pick<Choice>(_ choices: [Choice]) -> Choice {
    choices[number(0...choices.count - 1)]
  }
}

extension SeededRandom: SeededCaseGenerator {
  public var random: SeededRandom {
    get { self }
    set { self = newValue }
  }
}
