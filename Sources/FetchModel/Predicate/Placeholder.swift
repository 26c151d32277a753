extension ResolvedPredicate {
  public init(parsing: String, arguments: [PredicateArgument], variables: [String: PredicateArgument], entity: Int, model: Model) throws(PredicateError) { self.init(condition: .constant(true)) }
}
