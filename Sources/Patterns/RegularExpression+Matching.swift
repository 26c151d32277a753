// Runs a program on a text, simulating all its possible states at the same time.

import Bytes

extension RegularExpression {
  /// True if the whole of `text`, which is UTF-8, matches.
  ///
  /// Takes at most two steps per character and instruction of the program.
  ///
  /// - Parameter isCancelled: called about every 30,000 steps; if it returns true, the result is false.
  public func matches(
    _ text: UnsafeBufferPointer<UInt8>, isCancelled: () -> Bool = { false }
  ) -> Bool {
    run(over: text, isCancelled: isCancelled).hasMatched
  }

  /// Like `matches`; also returns the number of instructions that were executed.
  func run(
    over text: UnsafeBufferPointer<UInt8>, isCancelled: () -> Bool = { false }
  ) -> (hasMatched: Bool, steps: Int) {
    withoutActuallyEscaping(isCancelled) { isCancelled in
      var interruption = Interruption(isCancelled)
      return run(over: text, &interruption)
    }
  }

  private func run(
    over text: UnsafeBufferPointer<UInt8>, _ interruption: inout Interruption
  ) -> (hasMatched: Bool, steps: Int) {
    var run = Run(expression: self)
    var place = MatchContext(text, needs)
    run.begin(at: place)
    var counted = 0
    while let scalar = place.next {
      if interruption.ends(after: run.steps - counted + 1) { return (false, run.steps) }
      counted = run.steps
      place.advance()
      run.step(over: scalar, to: place)
      if run.isDead { return (false, run.steps) }
    }
    return (run.hasMatched, run.steps)
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
    private(set) var steps = 0

    init(expression: RegularExpression) {
      self.expression = expression
      reached = [Int](repeating: 0, count: expression.program.count)
    }

    var isDead: Bool { waiting.isEmpty && !hasMatched }

    mutating func begin(at place: MatchContext) {
      stepNumber = 1
      follow(0, place)
      swap(&waiting, &following)
    }

    mutating func step(over scalar: Unicode.Scalar, to place: MatchContext) {
      stepNumber += 1
      hasMatched = false
      following.removeAll(keepingCapacity: true)
      let needsFolding = expression.needs.contains(.folding)
      let folded = needsFolding ? CaseFolding.simpleFold(scalar) : nil
      steps += waiting.count
      for instruction in waiting {
        switch expression.program[instruction] {
        case .take(let index):
          if expression.sets[index].contains(scalar) { follow(instruction + 1, place) }
        case .fold(let letter, let left):
          if let folded {
            if folded == letter { follow(instruction + 1, place) }
          } else if let count = count(of: CaseFolding.fold(scalar), from: instruction, left) {
            follow(instruction + count, place)
          }
        default: break
        }
      }
      swap(&waiting, &following)
    }

    /// The number of letters if the run that continues at `instruction` has them next, otherwise
    /// nil.
    private func count(
      of letters: [Unicode.Scalar], from instruction: Int, _ left: Int
    ) -> Int? {
      guard letters.count <= left else { return nil }
      for (index, wanted) in letters.enumerated() {
        guard case .fold(wanted, _) = expression.program[instruction + index] else { return nil }
      }
      return letters.count
    }

    /// Reaches every instruction that leads to a character without taking one.
    private mutating func follow(_ start: Int, _ place: MatchContext) {
      pending.append(start)
      while let instruction = pending.popLast() {
        steps += 1
        if reached[instruction] == stepNumber { continue }
        reached[instruction] = stepNumber
        switch expression.program[instruction] {
        case .take, .fold: following.append(instruction)
        case .jump(let target): pending.append(target)
        case .split(let first, let second):
          pending.append(second)
          pending.append(first)
        case .require(let assertion):
          if place.holds(assertion) { pending.append(instruction + 1) }
        case .match: hasMatched = true
        }
      }
    }
  }
}
