// The platform's C library under one name: Glibc, Musl or Darwin. `import LiveFetchCLibrary` imports it
// in one file; the modules that do so do not pass it on.

#if canImport(Glibc)
  @_exported import Glibc
#elseif canImport(Musl)
  @_exported import Musl
#elseif canImport(Darwin)
  @_exported import Darwin
#endif
