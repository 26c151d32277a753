// Compiles a pattern's syntax tree into a program.

struct PatternCompiler {
  private(set) var program: [RegularExpression.Instruction] = []
  private(set) var sets: [ScalarSet] = []
  private var steps = 0

  mutating func compile(_ node: PatternNode) throws(PatternError) {
    steps += 1
    guard program.count < RegularExpression.largestProgram, steps < 20_000 else {
      throw PatternError(position: 0, reason: "a pattern that is too large")
    }
    switch node {
    case .sequence(let nodes): for node in nodes { try compile(node) }
    case .character(let set):
      program.append(.take(sets.count))
      sets.append(set)
    case .folded(let letters):
      guard program.count + letters.count < RegularExpression.largestProgram else {
        throw PatternError(position: 0, reason: "a pattern that is too large")
      }
      for (index, letter) in letters.enumerated() {
        program.append(.fold(letter, left: letters.count - index))
      }
    case .unit(let unit): try compile(PatternNode.parts(of: unit))
    case .assertion(let assertion): program.append(.require(assertion))
    case .alternatives(let nodes): try compile(alternatives: nodes)
    case .repetition(let node, let least, let most, let greediness):
      // After a possessive repetition, none of the characters that it takes may follow.
      let taken = greediness == .possessive ? node.firsts : nil
      try compile(node, least: least, most: most, taken.map { .assertion(.notBefore($0)) })
    }
  }

  private mutating func compile(alternatives nodes: [PatternNode]) throws(PatternError) {
    var exits: [Int] = []
    for (index, node) in nodes.enumerated() {
      guard index < nodes.count - 1 else {
        try compile(node)
        break
      }
      let fork = reserve()
      try compile(node)
      exits.append(reserve())
      program[fork] = .split(fork + 1, program.count)
    }
    for exit in exits { program[exit] = .jump(program.count) }
  }

  /// Appends a placeholder instruction and returns its index.
  private mutating func reserve() -> Int {
    program.append(.match)
    return program.count - 1
  }

  /// - Parameter end: the condition for ending before `most` repetitions.
  private mutating func compile(
    _ node: PatternNode, least: Int, most: Int?, _ end: PatternNode?
  ) throws(PatternError) {
    for _ in 0..<least { try compile(node) }
    guard let most else {
      let fork = reserve()
      try compile(node)
      program.append(.jump(fork))
      program[fork] = .split(fork + 1, program.count)
      if let end { try compile(end) }
      return
    }
    guard most > least else { return }
    var forks: [Int] = []
    for _ in least..<most {
      forks.append(reserve())
      try compile(node)
    }
    let way = end == nil ? nil : reserve()
    for fork in forks { program[fork] = .split(fork + 1, program.count) }
    if let end { try compile(end) }
    if let way { program[way] = .jump(program.count) }
  }
}
