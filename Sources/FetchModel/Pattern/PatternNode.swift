// What a pattern is made of, and which parts of it leave no choice.

/// A part of a pattern.
indirect enum PatternNode {
  case sequence([PatternNode])
  case alternatives([PatternNode])
  case character(ScalarSet)
  /// Letters whose case is overlooked, folded: whatever folds to them as a whole.
  case folded([Unicode.Scalar])
  case unit(Unit)
  case repetition(PatternNode, least: Int, most: Int?, Greed)
  case assertion(RegularExpression.Assertion)

  /// What takes more than one character as if it were one.
  enum Unit {
    /// `.` where it takes line ends: a CR with its LF is one.
    case any
    /// `\R`
    case lineEnd
    /// `\X`: a character as people see it.
    case cluster
  }

  enum Greed { case greedy, lazy, possessive }
}

extension PatternNode {
  /// The characters that it is sure to take as a whole wherever one of them stands next; nil where
  /// what it takes is longer than one of them, or a matter of choice.
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

  /// Whether it takes the same from a text whatever follows.
  private var isDecided: Bool {
    switch self {
    case .character, .folded, .unit, .assertion: true
    case .sequence(let nodes): nodes.allSatisfy(\.isDecided)
    case .alternatives: false
    case .repetition(let node, let least, let most, let greed):
      greed == .possessive || (least == most && node.isDecided)
    }
  }

  /// The same without ways back, as `(?>…)` has it; nil where that takes memory of earlier text.
  var atomic: PatternNode? {
    if isDecided { return self }
    switch self {
    case .sequence(let nodes):
      guard let last = nodes.last, nodes.dropLast().allSatisfy(\.isDecided),
        let end = last.atomic
      else { return nil }
      return .sequence(nodes.dropLast() + [end])
    case .repetition(let node, let least, _, .lazy) where node.isDecided:
      // Nothing in the group asks for more than the least.
      return .repetition(node, least: least, most: least, .greedy)
    case .repetition(let node, let least, let most, _) where node.firsts != nil:
      return .repetition(node, least: least, most: most, .possessive)
    case .alternatives(let nodes):
      // Whichever it is, one character is taken.
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

  /// A unit as what it is made of.
  static func parts(of unit: Unit) -> PatternNode {
    switch unit {
    case .any: lineEnd(or: .all)
    case .lineEnd: lineEnd(or: .lineEnds)
    case .cluster:
      .sequence([
        .character(.all),
        .repetition(
          .sequence([.assertion(.noClusterBorder), .character(.all)]), least: 0, most: nil, .greedy),
        .assertion(.clusterBorder),
      ])
    }
  }

  /// One of `set`, a CR with the LF behind it as one.
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
