// IN, BETWEEN and the text operators.

import FetchModel

extension PredicateSubject {
  /// `IN {…}`: one of `values`, nil perhaps among them.
  public func isIn(_ values: [Value?]) -> TypedPredicate<Root> {
    TypedPredicate(
      self, .in, FetchModel.Expression(.list(values.map { FetchModel.Expression($0) })))
  }

  /// `IN collection`: the value of one of its objects.
  public func isIn(_ collection: some TypedCollection<Root, Value>) -> TypedPredicate<Root> {
    TypedPredicate(self, .in, collection.expression)
  }
}

extension PredicateSubject where Value: OrderedPredicateValue {
  /// `BETWEEN {lower, upper}`, both ends in.
  public func isBetween(_ lower: Value, _ upper: Value) -> TypedPredicate<Root> {
    let bounds = [FetchModel.Expression(lower), FetchModel.Expression(upper)]
    return TypedPredicate(self, .between, FetchModel.Expression(.list(bounds)))
  }

  /// `BETWEEN {lower, upper}` with values of the object, both ends in.
  public func isBetween(
    _ lower: some TypedValue<Root, Value>, _ upper: some TypedValue<Root, Value>
  ) -> TypedPredicate<Root> {
    let bounds = [lower.expression, upper.expression]
    return TypedPredicate(self, .between, FetchModel.Expression(.list(bounds)))
  }
}

// MARK: - Text

extension StringOptions {
  /// `[c]`: without regard to case.
  public static var c: StringOptions { .caseInsensitive }
  /// `[d]`: without regard to diacritics.
  public static var d: StringOptions { .diacriticInsensitive }
  /// `[cd]`: without regard to case and diacritics.
  public static var cd: StringOptions { [.caseInsensitive, .diacriticInsensitive] }
}

extension PredicateSubject where Value == String {
  /// `==[options]`.
  public func equals(_ text: String, _ options: StringOptions) -> TypedPredicate<Root> {
    TypedPredicate(self, .equal, FetchModel.Expression(text), options)
  }

  /// `BEGINSWITH[options]`. An empty text begins nothing.
  public func beginsWith(
    _ text: String, _ options: StringOptions = []
  ) -> TypedPredicate<Root> {
    TypedPredicate(self, .beginsWith, FetchModel.Expression(text), options)
  }

  /// `ENDSWITH[options]`. An empty text ends nothing.
  public func endsWith(_ text: String, _ options: StringOptions = []) -> TypedPredicate<Root> {
    TypedPredicate(self, .endsWith, FetchModel.Expression(text), options)
  }

  /// `CONTAINS[options]`. An empty text is in nothing.
  public func contains(_ text: String, _ options: StringOptions = []) -> TypedPredicate<Root> {
    TypedPredicate(self, .contains, FetchModel.Expression(text), options)
  }

  /// `CONTAINS[options]` another value of the object.
  public func contains(
    _ other: some TypedValue<Root, String>, _ options: StringOptions = []
  ) -> TypedPredicate<Root> {
    TypedPredicate(self, .contains, other.expression, options)
  }

  /// `LIKE[options]`: `?` is one character, `*` any number of them.
  public func like(_ pattern: String, _ options: StringOptions = []) -> TypedPredicate<Root> {
    TypedPredicate(self, .like, FetchModel.Expression(pattern), options)
  }

  /// `MATCHES[options]`: a regular expression over the whole text.
  public func matches(_ pattern: String, _ options: StringOptions = []) -> TypedPredicate<Root> {
    TypedPredicate(self, .matches, FetchModel.Expression(pattern), options)
  }
}
