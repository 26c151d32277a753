// Running a program for all its states at once.

extension RegularExpression {
  /// Whether the whole of `text`, which is UTF-8, matches.
  ///
  /// Takes at most as many steps as the program has instructions for each character.
  ///
  /// - Parameter isOver: asked every thousand characters; where it says so, the answer is no.
  public func matches(
    _ text: UnsafeBufferPointer<UInt8>, isOver: () -> Bool = { false }
  ) -> Bool {
    var run = Run(expression: self)
    var scalars = ScalarReader(utf8: text)
    var previous: Unicode.Scalar?
    var next = scalars.next()
    run.begin(Surroundings(previous: nil, next: next, afterNext: scalars.peek()))
    var untilQuestion = 1_000
    while let scalar = next {
      untilQuestion &-= 1
      if untilQuestion == 0 {
        if isOver() { return false }
        untilQuestion = 1_000
      }
      previous = scalar
      next = scalars.next()
      run.step(
        over: scalar, Surroundings(previous: previous, next: next, afterNext: scalars.peek()))
      if run.isDead { return false }
    }
    return run.hasMatched
  }

  /// What stands around a place of the text.
  struct Surroundings {
    let previous: Unicode.Scalar?
    let next: Unicode.Scalar?
    let afterNext: Unicode.Scalar?

    func holds(_ assertion: Assertion) -> Bool {
      switch assertion {
      case .textStart: previous == nil
      case .textEnd: next == nil
      case .textEndOrFinalNewline: next == nil || (next == "\n" && afterNext == nil)
      case .lineStart: previous == nil || previous == "\n"
      case .lineEnd: next == nil || next == "\n"
      case .wordBorder: isWord(previous) != isWord(next)
      case .noWordBorder: isWord(previous) == isWord(next)
      }
    }

    private func isWord(_ scalar: Unicode.Scalar?) -> Bool {
      scalar.map(CharacterClass.Property.word.holds) ?? false
    }
  }

  /// The states that a text has led to so far.
  private struct Run {
    let expression: RegularExpression
    /// Instructions that wait for a character.
    private var waiting: [Int] = []
    private var following: [Int] = []
    /// For each instruction, the step in which it was last reached.
    private var reached: [Int]
    private var stepNumber = 0
    private var pending: [Int] = []
    private(set) var hasMatched = false

    init(expression: RegularExpression) {
      self.expression = expression
      reached = [Int](repeating: 0, count: expression.program.count)
    }

    var isDead: Bool { waiting.isEmpty && !hasMatched }

    mutating func begin(_ surroundings: Surroundings) {
      stepNumber = 1
      follow(0, surroundings)
      swap(&waiting, &following)
    }

    mutating func step(over scalar: Unicode.Scalar, _ surroundings: Surroundings) {
      stepNumber += 1
      hasMatched = false
      following.removeAll(keepingCapacity: true)
      for place in waiting {
        guard case .take(let index) = expression.program[place],
          expression.classes[index].contains(scalar)
        else { continue }
        follow(place + 1, surroundings)
      }
      swap(&waiting, &following)
    }

    /// Reaches every instruction that leads to a character without taking one.
    private mutating func follow(_ start: Int, _ surroundings: Surroundings) {
      pending.append(start)
      while let place = pending.popLast() {
        if reached[place] == stepNumber { continue }
        reached[place] = stepNumber
        switch expression.program[place] {
        case .take: following.append(place)
        case .jump(let target): pending.append(target)
        case .split(let first, let second):
          pending.append(second)
          pending.append(first)
        case .require(let assertion):
          if surroundings.holds(assertion) { pending.append(place + 1) }
        case .match: hasMatched = true
        }
      }
    }
  }
}

/// The scalars of a UTF-8 text, with a look at the next one. What is no UTF-8 reads as U+FFFD.
struct ScalarReader {
  private let utf8: UnsafeBufferPointer<UInt8>
  private var offset = 0

  init(utf8: UnsafeBufferPointer<UInt8>) { self.utf8 = utf8 }

  mutating func next() -> Unicode.Scalar? {
    guard let (scalar, length) = read() else { return nil }
    offset += length
    return scalar
  }

  func peek() -> Unicode.Scalar? { read()?.scalar }

  private func read() -> (scalar: Unicode.Scalar, length: Int)? {
    guard offset < utf8.count else { return nil }
    let first = utf8[offset]
    if first < 0x80 { return (Unicode.Scalar(first), 1) }
    let length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2
    guard first >= 0xC0, utf8.count - offset >= length else { return ("\u{FFFD}", 1) }
    var code = UInt32(first) & (0x7F >> UInt32(length))
    for byte in utf8[offset + 1..<offset + length] {
      guard byte & 0xC0 == 0x80 else { return ("\u{FFFD}", 1) }
      code = code << 6 | UInt32(byte & 0x3F)
    }
    return (Unicode.Scalar(code) ?? "\u{FFFD}", length)
  }
}
