// To-many relationships in typed predicates: quantifiers, aggregates, SUBQUERY, elements by
// position.

import FetchModel

/// The values of the objects that a to-many key path reaches.
public protocol TypedCollection<Root, Value>: Sendable {
  associatedtype Root: Queryable
  associatedtype Value: PredicateValue

  var expression: FetchModel.Expression { get }
}

/// A to-many relationship. Its members are the destination's keys, as ``Elements``.
@dynamicMemberLookup
public struct ToMany<Root: Queryable, Destination: Queryable>: TypedCollection {
  /// Objects are compared by their ids.
  public typealias Value = IDValue

  let steps: KeyPathSteps

  /// The relationship called `name`.
  public init(_ name: String) { steps = KeyPathSteps(name) }

  init(_ steps: KeyPathSteps) { self.steps = steps }

  /// The key path as an expression of the predicate language.
  public var expression: FetchModel.Expression { steps.expression }

  /// An attribute of the destination.
  public subscript<Value>(
    dynamicMember key: KeyPath<Destination.Keys, AttributeKey<Destination, Value>>
  ) -> Elements<Root, Value> {
    Elements(collection: steps, value: Destination.keys[keyPath: key].steps)
  }

  /// A to-one relationship of the destination.
  public subscript<Next>(
    dynamicMember key: KeyPath<Destination.Keys, ToOne<Destination, Next>>
  ) -> ToMany<Root, Next> {
    ToMany<Root, Next>(steps.appending(Destination.keys[keyPath: key].steps))
  }

  /// A to-many relationship of the destination.
  public subscript<Next>(
    dynamicMember key: KeyPath<Destination.Keys, ToMany<Destination, Next>>
  ) -> ToMany<Root, Next> {
    ToMany<Root, Next>(steps.appending(Destination.keys[keyPath: key].steps))
  }
}

extension ToMany {
  /// `@count`: how many objects there are.
  public var count: Calculated<Root, Int> {
    Calculated(steps.appending(operator: "count").expression)
  }

  /// `[FIRST]` of an ordered relationship.
  public var first: ToOne<Root, Destination> { element(.first) }

  /// `[LAST]` of an ordered relationship.
  public var last: ToOne<Root, Destination> { element(.last) }

  /// `[position]` of an ordered relationship, from 0.
  public subscript(position: Int) -> ToOne<Root, Destination> {
    element(.position(FetchModel.Expression(position)))
  }

  private func element(_ index: CollectionIndex) -> ToOne<Root, Destination> {
    ToOne(KeyPathSteps(base: FetchModel.Expression(.index(expression, index)), names: []))
  }

  /// `SUBQUERY`: the objects for which `condition` holds. The condition is one about the outer
  /// object, so that its values can be compared with the element's:
  ///
  /// ```swift
  /// Country.predicate { country in
  ///   country.cities.filter { $0.population * 2 > country.population }.count > 0
  /// }
  /// ```
  public func filter(
    _ condition: (ToOne<Root, Destination>) -> TypedPredicate<Root>
  ) -> ToMany<Root, Destination> {
    func inner(_ variable: String) -> FetchModel.Predicate {
      condition(ToOne(KeyPathSteps(base: FetchModel.Expression(.variable(variable)), names: [])))
        .predicate
    }
    // Subqueries inside have names of their own, with lower numbers.
    let variable = "x\(inner("x1").description.ranges(of: "SUBQUERY(").count + 1)"
    let subquery = FetchModel.Expression(.subquery(expression, variable: variable, inner(variable)))
    return ToMany(KeyPathSteps(base: subquery, names: []))
  }
}

/// A value of each object of a collection: `\.cities.population`.
public struct Elements<Root: Queryable, Value: PredicateValue>: TypedCollection {
  let collection: KeyPathSteps
  let value: KeyPathSteps

  /// The key path as an expression of the predicate language.
  public var expression: FetchModel.Expression { collection.appending(value).expression }

  private func aggregate<Result>(_ name: String) -> Calculated<Root, Result> {
    Calculated(collection.appending(operator: name).appending(value).expression)
  }

  /// `@count`: how many objects there are.
  public var count: Calculated<Root, Int> {
    Calculated(collection.appending(operator: "count").expression)
  }
}

extension Elements where Value: OrderedPredicateValue {
  /// `@min`; nil if there are no values.
  public var min: Calculated<Root, Value> { aggregate("min") }
  /// `@max`; nil if there are no values.
  public var max: Calculated<Root, Value> { aggregate("max") }
}

extension Elements where Value: NumericPredicateValue {
  /// `@sum`; of nothing 0.
  public var sum: Calculated<Root, Value> { aggregate("sum") }
  /// `@avg`; nil if there are no values.
  public var average: Calculated<Root, Double> { aggregate("avg") }
}

// MARK: - Quantifiers

/// A collection after ANY, ALL or NONE.
public struct Quantified<Root: Queryable, Value: PredicateValue>: PredicateSubject {
  /// ANY, ALL or NONE.
  public let quantifier: ComparisonPredicate.Quantifier?
  /// The key path to the collection's values.
  public let expression: FetchModel.Expression
}

/// `ANY`: at least one object's value. `any(\.cities.population) > 1_000_000`
public func any<Root, Value>(
  _ collection: some TypedCollection<Root, Value>
) -> Quantified<Root, Value> {
  Quantified(quantifier: .any, expression: collection.expression)
}

/// `ALL`: every object's value; true of nothing.
public func all<Root, Value>(
  _ collection: some TypedCollection<Root, Value>
) -> Quantified<Root, Value> {
  Quantified(quantifier: .all, expression: collection.expression)
}

/// `NONE`: no object's value.
public func none<Root, Value>(
  _ collection: some TypedCollection<Root, Value>
) -> Quantified<Root, Value> {
  Quantified(quantifier: .no, expression: collection.expression)
}

/// `ANY`: at least one object's value. `any(\.cities.population) > 1_000_000`
public func any<Root, Value, Collection: TypedCollection<Root, Value>>(
  _ key: KeyPath<Root.Keys, Collection>
) -> Quantified<Root, Value> {
  any(Root.keys[keyPath: key])
}

/// `ALL`: every object's value; true of nothing.
public func all<Root, Value, Collection: TypedCollection<Root, Value>>(
  _ key: KeyPath<Root.Keys, Collection>
) -> Quantified<Root, Value> {
  all(Root.keys[keyPath: key])
}

/// `NONE`: no object's value.
public func none<Root, Value, Collection: TypedCollection<Root, Value>>(
  _ key: KeyPath<Root.Keys, Collection>
) -> Quantified<Root, Value> {
  none(Root.keys[keyPath: key])
}
