// The types of FetchModel and SQLiteStore that the library's public interface names. Files that import the
// library see no other type of these modules.

@_exported import enum FetchModel.Direction
@_exported import struct FetchModel.Instant
@_exported import enum FetchModel.JSON
@_exported import enum FetchModel.MergePolicy
@_exported import struct FetchModel.ModelFile
@_exported import struct FetchModel.ModelFileError
@_exported import struct FetchModel.ModelFileProblem
@_exported import enum FetchModel.NilPlace
@_exported import enum FetchModel.ObjectID
@_exported import struct FetchModel.Position
@_exported import struct FetchModel.PredicateError
@_exported import struct FetchModel.Problem
@_exported import struct FetchModel.ResultSummary
@_exported import enum FetchModel.StoreError
@_exported import struct FetchModel.StringOptions
@_exported import struct SQLiteStore.SQLiteStoreOptions
