// Files of a directory, or of the program itself, over HTTP.
//
// Input: a GET or HEAD request. Output: its response, or nil if there is no such file. Promise:
// nothing outside the directory is read, whatever the target contains. Each segment is decoded
// once; `..`, NUL, backslashes and names that begin with a dot are refused; a symbolic link is
// followed only to a file inside; other names of a given file (hard links) are refused.

import Bytes
import Glibc

/// Serves the files below one directory, or files with given contents.
///
/// Files on a disk up to 4 MiB are cached in memory, with their compressed form, as long as the
/// file's size and time stay the same; together at most ``cacheLimit`` bytes.
public final class StaticFiles: Sendable {
  /// The maximum number of bytes of cached file contents.
  public static let cacheLimit = 64 << 20
  static let largestKept = 4 << 20
  static let largestServed = 256 << 20

  private enum Source: Sendable {
    /// A directory, without symbolic links.
    case directory(String)
    /// Contents by path; each path begins with `/`.
    case contents([String: [UInt8]])
  }

  private let source: Source
  /// The paths of files that are not served under another name.
  private let hidden: [String]
  /// Protects the cached files, by their path without symbolic links.
  private let cache = SanitizedMutex(CachedFiles())

  private struct CachedFiles {
    var files: [String: StaticFile] = [:]
    var byteCount = 0
  }

  /// Returns nil if `directory` is not a directory.
  ///
  /// - Parameter hidden: the paths of files that are not served under another name, which is a hard
  ///   link. They need not exist.
  public init?(directory: String, hiding hidden: [String] = []) {
    guard let resolved = realPath(directory), Self.isDirectory(resolved) else { return nil }
    self.hidden = hidden
    source = .directory(resolved == "/" ? "" : resolved)
  }

  /// Serves files from memory.
  ///
  /// - Parameter contents: the files by path; each path begins with `/`. Each file is compressed at
  ///   the first request for it.
  public init(contents: [String: [UInt8]]) {
    source = .contents(contents)
    hidden = []
  }

  /// The response to a request; nil if there is no such file, and for other methods.
  ///
  /// - Parameter path: the raw path below the directory, beginning with `/`; the request's own if
  ///   left out.
  public func response(to request: HTTPRequest, path: Substring? = nil) -> HTTPResponse? {
    guard request.method == "GET" || request.method == "HEAD",
      let name = Self.decode(path ?? request.path)
    else { return nil }
    switch source {
    case .directory(let root):
      return resolve(name, in: root).flatMap { place in
        open(place) { descriptor, stamp in
          file(place, descriptor, stamp)?.response(to: request, from: descriptor)
        }
      }
    case .contents(let contents): return file(name, of: contents)?.response(to: request)
    }
  }

  /// True if there is such a file. Reads nothing of it.
  ///
  /// - Parameter path: the raw path below the directory, beginning with `/`.
  public func hasFile(_ path: Substring) -> Bool {
    guard let name = Self.decode(path) else { return false }
    switch source {
    case .directory(let root):
      return resolve(name, in: root).flatMap { place in open(place) { $1 } } != nil
    case .contents(let contents): return Self.place(of: name, in: contents) != nil
    }
  }

  /// The bytes of memory that the cached files use. For tests.
  var cachedBytes: Int { cache.withLock { $0.byteCount } }

  /// The decoded segments of a raw path; nil if a segment could refer to something other than an
  /// entry of its directory.
  private static func decode(_ path: Substring) -> String? {
    guard path.utf8.first == UInt8(ascii: "/") else { return nil }
    var place = ""
    let segments = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
    for (index, segment) in segments.enumerated() {
      let isLast = index == segments.count - 1
      if segment.isEmpty, isLast { return place + "/" }
      guard let name = PercentEncoding.decode(Substring(segment), plus: .itself), isPlain(name)
      else { return nil }
      place += "/" + name
    }
    return place
  }

  /// The path of an existing file inside the directory, without symbolic links; nil if there is
  /// none.
  private func resolve(_ path: String, in root: String) -> String? {
    guard var resolved = realPath(root + path) else { return nil }
    if Self.isDirectory(resolved) {
      guard let index = realPath(resolved + "/index.html") else { return nil }
      resolved = index
    } else if path.utf8.last == UInt8(ascii: "/") {
      return nil
    }
    return resolved.hasPrefix(root + "/") ? resolved : nil
  }

  /// True if the name can only refer to an entry of its directory.
  private static func isPlain(_ name: String) -> Bool {
    !name.isEmpty && !name.hasPrefix(".")
      && !name.utf8.contains { $0 == 0 || $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }
  }

  private static func isDirectory(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  /// The path of a file, or of a directory's index.
  private static func place(of path: String, in contents: [String: [UInt8]]) -> String? {
    let index = path.hasSuffix("/") ? path + "index.html" : path + "/index.html"
    return [path, index].first { contents[$0] != nil }
  }

  private func file(_ path: String, of contents: [String: [UInt8]]) -> StaticFile? {
    guard let place = Self.place(of: path, in: contents), let bytes = contents[place]
    else { return nil }
    if let file = cache.withLock({ $0.files[place] }) { return file }
    let file = StaticFile(bytes, place)
    keep(file, at: place)
    return file
  }

  private func file(_ place: String, _ descriptor: Int32, _ stamp: FileStamp) -> StaticFile? {
    if let file = cache.withLock({ $0.files[place] }), file.stamp == stamp { return file }
    guard let file = StaticFile(descriptor, stamp, place) else { return nil }
    if stamp.size <= Self.largestKept { keep(file, at: place) }
    return file
  }

  /// Opens a file that may be served; nil if it may not be.
  private func open<Result>(
    _ place: String, _ body: (_ descriptor: Int32, _ stamp: FileStamp) -> Result?
  ) -> Result? {
    let descriptor = Glibc.open(place, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    guard let stamp = FileStamp(descriptor),
      !stamp.isLinked || !hidden.contains(where: { stamp.isOfFile(at: $0) })
    else { return nil }
    return body(descriptor, stamp)
  }

  private func keep(_ file: StaticFile, at place: String) {
    cache.withLock { cache in
      let former = cache.files[place]?.byteCount ?? 0
      if cache.byteCount - former + file.byteCount > Self.cacheLimit { cache = CachedFiles() }
      cache.byteCount += file.byteCount - (cache.files[place]?.byteCount ?? 0)
      cache.files[place] = file
    }
  }
}

/// The absolute path without symbolic links; nil if no such file exists.
private func realPath(_ path: String) -> String? {
  guard let resolved = realpath(path, nil) else { return nil }
  defer { free(resolved) }
  return String(validatingCString: resolved)
}

/// The properties that distinguish one state of a file from another.
struct FileStamp: Equatable, Sendable {
  let device: UInt
  let inode: UInt
  let size: Int
  let seconds: Int
  let nanoseconds: Int
  /// True if the file has several names.
  let isLinked: Bool

  /// True if `path` names the same file now.
  func isOfFile(at path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && UInt(status.st_dev) == device
      && UInt(status.st_ino) == inode
  }

  /// An entity tag of its own for each state.
  var tag: String {
    "\"" + [size, seconds, nanoseconds].map { String($0, radix: 16) }.joined(separator: "-") + "\""
  }

  /// Returns nil unless it is a regular file small enough to be served.
  init?(_ descriptor: Int32) {
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
      status.st_size <= StaticFiles.largestServed
    else { return nil }
    device = UInt(status.st_dev)
    inode = UInt(status.st_ino)
    size = Int(status.st_size)
    seconds = status.st_mtim.tv_sec
    nanoseconds = status.st_mtim.tv_nsec
    isLinked = status.st_nlink > 1
  }
}
