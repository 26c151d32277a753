// One import for all of it: the values that fetches, predicates and diffs are made of belong to
// the library's own face.

@_exported import FetchModel
