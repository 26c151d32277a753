// The syntax tree of a pattern, and the analysis of which parts match deterministically.

/// A part of a pattern.
indirect enum PatternNode {
  case sequence([PatternNode])
  case alternatives([PatternNode])
  case character(ScalarSet)
  /// Case-folded letters: matches any text whose folding they are.
  case folded([Unicode.Scalar])
  case unit(Unit)
  case repetition(PatternNode, least: Int, most: Int?, Greediness)
  case assertion(RegularExpression.Assertion)

  /// A construct that takes several characters as one.
  enum Unit {
    /// `.` that matches line ends: CR LF counts as one.
    case any
    /// `\R`
    case lineEnd
    /// `\X`: a grapheme cluster.
    case cluster
  }

  enum Greediness { case greedy, lazy, possessive }
}

extension PatternNode {
  /// The characters that this node certainly takes as a whole if one of them is next; nil if it
  /// takes more than one character or has a choice.
  var firsts: ScalarSet? {
    switch self {
    case .character(let set): set
    case .folded(let letters): letters.count == 1 ? ScalarSet(letters[0]).closedOverCase : nil
    case .unit(.any), .unit(.cluster): .all
    case .unit(.lineEnd): .lineEnds
    case .sequence(let nodes): nodes.count == 1 ? nodes[0].firsts : nil
    default: nil
    }
  }

  /// True if the text after a match does not change the match.
  private var isDecided: Bool {
    switch self {
    case .character, .folded, .unit, .assertion: true
    case .sequence(let nodes): nodes.allSatisfy(\.isDecided)
    case .alternatives: false
    case .repetition(let node, let least, let most, let greediness):
      greediness == .possessive || (least == most && node.isDecided)
    }
  }

  /// The equivalent of `(?>…)` without backtracking; nil if that needs backtracking.
  var atomic: PatternNode? {
    if isDecided { return self }
    switch self {
    case .sequence(let nodes):
      guard let last = nodes.last, nodes.dropLast().allSatisfy(\.isDecided),
        let end = last.atomic
      else { return nil }
      return .sequence(nodes.dropLast() + [end])
    case .repetition(let node, let least, _, .lazy) where node.isDecided:
      // The group never needs more than the minimum.
      return .repetition(node, least: least, most: least, .greedy)
    case .repetition(let node, let least, let most, _) where node.firsts != nil:
      return .repetition(node, least: least, most: most, .possessive)
    case .alternatives(let nodes):
      // Each alternative takes one character.
      return nodes.allSatisfy(\.isOneCharacter) ? self : nil
    default: return nil
    }
  }

  private var isOneCharacter: Bool {
    switch self {
    case .character: true
    case .folded(let letters): letters.count == 1
    case .sequence(let nodes): nodes.count == 1 && nodes[0].isOneCharacter
    default: false
    }
  }

  /// The parts of a unit.
  static func parts(of unit: Unit) -> PatternNode {
    switch unit {
    case .any: lineEnd(or: .all)
    case .lineEnd: lineEnd(or: .lineEnds)
    case .cluster:
      .sequence([
        .character(.all),
        .repetition(
          .sequence([.assertion(.noClusterBoundary), .character(.all)]), least: 0, most: nil,
          .greedy),
        .assertion(.clusterBoundary),
      ])
    }
  }

  /// One character of `set`, with CR LF as one.
  private static func lineEnd(or set: ScalarSet) -> PatternNode {
    let (cr, lf) = (ScalarSet("\r"), ScalarSet("\n"))
    return .alternatives([
      .character(set.subtracting(cr)),
      .sequence([
        .character(cr), .alternatives([.character(lf), .assertion(.notBefore(lf))]),
      ]),
    ])
  }
}
