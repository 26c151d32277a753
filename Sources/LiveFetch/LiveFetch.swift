// One import for all of it: the values that fetches, predicates and diffs are made of belong to
// the library's own face.

@_exported import FetchModel
import Foundation

/// Foundation's. FetchModel has a syntax tree of that name, which is `FetchModel.Predicate` to those
/// who need it; beside it `Predicate<City>` would not be found.
public typealias Predicate<each Input> = Foundation.Predicate<repeat each Input>

/// Foundation's. FetchModel's expressions are `FetchModel.Expression`.
public typealias Expression<each Input, Output> = Foundation.Expression<repeat each Input, Output>
