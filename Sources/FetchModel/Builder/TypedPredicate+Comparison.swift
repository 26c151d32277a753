// Comparison operators between keys, calculations, quantified collections and values. The types of
// both sides have to be the same: a number is not compared with text.

// MARK: ==

/// Equal. Nil equals nil.
public func == <Subject: PredicateSubject>(
  left: Subject, right: Subject.Value?
) -> TypedPredicate<Subject.Root> {
  TypedPredicate(left, .equal, Expression(right))
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

/// Equal. Nil equals nil.
public func == <Root: Queryable, Subject: TypedValue, Other: TypedValue>(
  left: KeyPath<Root.Keys, Subject>, right: KeyPath<Root.Keys, Other>
) -> TypedPredicate<Root>
where Subject.Root == Root, Other.Root == Root, Other.Value == Subject.Value {
  Root.keys[keyPath: left] == Root.keys[keyPath: right]
}

// MARK: !=

/// Not equal: true also for nil, unless compared with nil.
public func != <Subject: PredicateSubject>(
  left: Subject, right: Subject.Value?
) -> TypedPredicate<Subject.Root> {
  TypedPredicate(left, .notEqual, Expression(right))
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

/// Not equal: true also for nil, unless compared with nil.
public func != <Root: Queryable, Subject: TypedValue, Other: TypedValue>(
  left: KeyPath<Root.Keys, Subject>, right: KeyPath<Root.Keys, Other>
) -> TypedPredicate<Root>
where Subject.Root == Root, Other.Root == Root, Other.Value == Subject.Value {
  Root.keys[keyPath: left] != Root.keys[keyPath: right]
}

// MARK: <

/// Less; false for nil.
public func < <Subject: PredicateSubject>(
  left: Subject, right: Subject.Value
) -> TypedPredicate<Subject.Root> where Subject.Value: OrderedPredicateValue {
  TypedPredicate(left, .less, Expression(right))
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

/// Less; false for nil.
public func < <Root: Queryable, Subject: TypedValue, Other: TypedValue>(
  left: KeyPath<Root.Keys, Subject>, right: KeyPath<Root.Keys, Other>
) -> TypedPredicate<Root>
where
  Subject.Root == Root, Other.Root == Root, Other.Value == Subject.Value,
  Subject.Value: OrderedPredicateValue
{
  Root.keys[keyPath: left] < Root.keys[keyPath: right]
}

// MARK: <=

/// Less or equal; false for nil.
public func <= <Subject: PredicateSubject>(
  left: Subject, right: Subject.Value
) -> TypedPredicate<Subject.Root> where Subject.Value: OrderedPredicateValue {
  TypedPredicate(left, .lessOrEqual, Expression(right))
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

/// Less or equal; false for nil.
public func <= <Root: Queryable, Subject: TypedValue, Other: TypedValue>(
  left: KeyPath<Root.Keys, Subject>, right: KeyPath<Root.Keys, Other>
) -> TypedPredicate<Root>
where
  Subject.Root == Root, Other.Root == Root, Other.Value == Subject.Value,
  Subject.Value: OrderedPredicateValue
{
  Root.keys[keyPath: left] <= Root.keys[keyPath: right]
}

// MARK: >

/// Greater; false for nil.
public func > <Subject: PredicateSubject>(
  left: Subject, right: Subject.Value
) -> TypedPredicate<Subject.Root> where Subject.Value: OrderedPredicateValue {
  TypedPredicate(left, .greater, Expression(right))
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

/// Greater; false for nil.
public func > <Root: Queryable, Subject: TypedValue, Other: TypedValue>(
  left: KeyPath<Root.Keys, Subject>, right: KeyPath<Root.Keys, Other>
) -> TypedPredicate<Root>
where
  Subject.Root == Root, Other.Root == Root, Other.Value == Subject.Value,
  Subject.Value: OrderedPredicateValue
{
  Root.keys[keyPath: left] > Root.keys[keyPath: right]
}

// MARK: >=

/// Greater or equal; false for nil.
public func >= <Subject: PredicateSubject>(
  left: Subject, right: Subject.Value
) -> TypedPredicate<Subject.Root> where Subject.Value: OrderedPredicateValue {
  TypedPredicate(left, .greaterOrEqual, Expression(right))
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

/// Greater or equal; false for nil.
public func >= <Root: Queryable, Subject: TypedValue, Other: TypedValue>(
  left: KeyPath<Root.Keys, Subject>, right: KeyPath<Root.Keys, Other>
) -> TypedPredicate<Root>
where
  Subject.Root == Root, Other.Root == Root, Other.Value == Subject.Value,
  Subject.Value: OrderedPredicateValue
{
  Root.keys[keyPath: left] >= Root.keys[keyPath: right]
}

extension TypedPredicate {
  init<Subject: PredicateSubject>(
    _ subject: Subject, _ operation: ComparisonPredicate.Operator, _ right: Expression,
    _ options: StringOptions = []
  ) {
    self.init(
      subject.expression, operation, right, options: options, quantifier: subject.quantifier)
  }
}
