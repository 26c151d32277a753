import FetchModel

enum PredicateCompiler {
  static func condition(of predicate: ResolvedPredicate, in scope: inout some SQLScope)
    -> SQLFragment
  { SQLFragment() }
}
