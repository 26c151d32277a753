// Comparison operators between keys, calculations, quantified collections and values. The types of
// both sides have to be the same: a number is not compared with text.

import FetchModel

// MARK: ==

/// Equal. Nil equals nil.
public func == <Subject: PredicateSubject>(
  left: Subject, right: Subject.Value?
) -> TypedPredicate<Subject.Root> {
  TypedPredicate(left, .equal, FetchModel.Expression(right))
}

/// Equal. Nil equals nil.
public func == <Subject: PredicateSubject, Other: TypedValue>(
  left: Subject, right: Other
) -> TypedPredicate<Subject.Root>
where Other.Root == Subject.Root, Other.Value == Subject.Value {
  TypedPredicate(left, .equal, right.expression)
}

/// Equal. Nil equals nil.
public func == <Root: Queryable, Subject: TypedValue>(
  left: KeyPath<Root.Keys, Subject>, right: Subject.Value?
) -> TypedPredicate<Root> where Subject.Root == Root {
  Root.keys[keyPath: left] == right
}

// MARK: !=

/// Not equal: true also for nil, unless compared with nil.
public func != <Subject: PredicateSubject>(
  left: Subject, right: Subject.Value?
) -> TypedPredicate<Subject.Root> {
  TypedPredicate(left, .notEqual, FetchModel.Expression(right))
}

/// Not equal: true also for nil, unless compared with nil.
public func != <Subject: PredicateSubject, Other: TypedValue>(
  left: Subject, right: Other
) -> TypedPredicate<Subject.Root>
where Other.Root == Subject.Root, Other.Value == Subject.Value {
  TypedPredicate(left, .notEqual, right.expression)
}

/// Not equal: true also for nil, unless compared with nil.
public func != <Root: Queryable, Subject: TypedValue>(
  left: KeyPath<Root.Keys, Subject>, right: Subject.Value?
) -> TypedPredicate<Root> where Subject.Root == Root {
  Root.keys[keyPath: left] != right
}

// MARK: <

/// Less; false for nil.
public func < <Subject: PredicateSubject>(
  left: Subject, right: Subject.Value
) -> TypedPredicate<Subject.Root> where Subject.Value: OrderedPredicateValue {
  TypedPredicate(left, .less, FetchModel.Expression(right))
}

/// Less; false for nil.
public func < <Subject: PredicateSubject, Other: TypedValue>(
  left: Subject, right: Other
) -> TypedPredicate<Subject.Root>
where Other.Root == Subject.Root, Other.Value == Subject.Value, Subject.Value: OrderedPredicateValue
{
  TypedPredicate(left, .less, right.expression)
}

/// Less; false for nil.
public func < <Root: Queryable, Subject: TypedValue>(
  left: KeyPath<Root.Keys, Subject>, right: Subject.Value
) -> TypedPredicate<Root> where Subject.Root == Root, Subject.Value: OrderedPredicateValue {
  Root.keys[keyPath: left] < right
}

// MARK: <=

/// Less or equal; false for nil.
public func <= <Subject: PredicateSubject>(
  left: Subject, right: Subject.Value
) -> TypedPredicate<Subject.Root> where Subject.Value: OrderedPredicateValue {
  TypedPredicate(left, .lessOrEqual, FetchModel.Expression(right))
}

/// Less or equal; false for nil.
public func <= <Subject: PredicateSubject, Other: TypedValue>(
  left: Subject, right: Other
) -> TypedPredicate<Subject.Root>
where Other.Root == Subject.Root, Other.Value == Subject.Value, Subject.Value: OrderedPredicateValue
{
  TypedPredicate(left, .lessOrEqual, right.expression)
}

/// Less or equal; false for nil.
public func <= <Root: Queryable, Subject: TypedValue>(
  left: KeyPath<Root.Keys, Subject>, right: Subject.Value
) -> TypedPredicate<Root> where Subject.Root == Root, Subject.Value: OrderedPredicateValue {
  Root.keys[keyPath: left] <= right
}

// MARK: >

/// Greater; false for nil.
public func > <Subject: PredicateSubject>(
  left: Subject, right: Subject.Value
) -> TypedPredicate<Subject.Root> where Subject.Value: OrderedPredicateValue {
  TypedPredicate(left, .greater, FetchModel.Expression(right))
}

/// Greater; false for nil.
public func > <Subject: PredicateSubject, Other: TypedValue>(
  left: Subject, right: Other
) -> TypedPredicate<Subject.Root>
where Other.Root == Subject.Root, Other.Value == Subject.Value, Subject.Value: OrderedPredicateValue
{
  TypedPredicate(left, .greater, right.expression)
}

/// Greater; false for nil.
public func > <Root: Queryable, Subject: TypedValue>(
  left: KeyPath<Root.Keys, Subject>, right: Subject.Value
) -> TypedPredicate<Root> where Subject.Root == Root, Subject.Value: OrderedPredicateValue {
  Root.keys[keyPath: left] > right
}

// MARK: >=

/// Greater or equal; false for nil.
public func >= <Subject: PredicateSubject>(
  left: Subject, right: Subject.Value
) -> TypedPredicate<Subject.Root> where Subject.Value: OrderedPredicateValue {
  TypedPredicate(left, .greaterOrEqual, FetchModel.Expression(right))
}

/// Greater or equal; false for nil.
public func >= <Subject: PredicateSubject, Other: TypedValue>(
  left: Subject, right: Other
) -> TypedPredicate<Subject.Root>
where Other.Root == Subject.Root, Other.Value == Subject.Value, Subject.Value: OrderedPredicateValue
{
  TypedPredicate(left, .greaterOrEqual, right.expression)
}

/// Greater or equal; false for nil.
public func >= <Root: Queryable, Subject: TypedValue>(
  left: KeyPath<Root.Keys, Subject>, right: Subject.Value
) -> TypedPredicate<Root> where Subject.Root == Root, Subject.Value: OrderedPredicateValue {
  Root.keys[keyPath: left] >= right
}

extension TypedPredicate {
  init<Subject: PredicateSubject>(
    _ subject: Subject, _ operation: ComparisonPredicate.Operator, _ right: FetchModel.Expression,
    _ options: StringOptions = []
  ) {
    self.init(
      subject.expression, operation, right, options: options, quantifier: subject.quantifier)
  }
}
