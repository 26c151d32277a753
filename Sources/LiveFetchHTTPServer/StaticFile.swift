// One file in memory, uncompressed and compressed.
//
// Input: an open descriptor, or bytes. Output: responses with a strong ETag computed from the
// contents, or from the size and time of a large file; the compressed form has a tag of its own.

import Glibc

/// The contents of one file at the time of reading.
struct StaticFile: Sendable {
  /// The state of the file on the disk; nil for contents from memory.
  let stamp: FileStamp?
  private let type: String
  private let plain: Variant
  private let gzipped: Variant?

  private struct Variant: Sendable {
    /// nil for a large file of which only the size is needed.
    let bytes: [UInt8]?
    let count: Int
    let tag: String

    init(_ bytes: [UInt8], tag: String) {
      self.bytes = bytes
      count = bytes.count
      self.tag = tag
    }

    init(count: Int, tag: String) {
      bytes = nil
      self.count = count
      self.tag = tag
    }

    /// The whole body, or its part in `range`.
    func body(_ range: Range<Int>? = nil) -> HTTPBody {
      guard let bytes else { return .omitted(count: range?.count ?? count) }
      return .bytes(range.map { Array(bytes[$0]) } ?? bytes)
    }
  }

  /// Returns nil if the file cannot be read.
  ///
  /// - Parameter readsLarge: false if the size is enough where a file is larger than
  ///   ``StaticFiles/largestKept``; such a file is not read.
  init?(_ descriptor: Int32, _ stamp: FileStamp, _ path: String, readsLarge: Bool) {
    let isLarge = stamp.size > StaticFiles.largestKept
    guard readsLarge || !isLarge else {
      self.init(Variant(count: stamp.size, tag: stamp.tag), path, stamp)
      return
    }
    guard let bytes = Self.read(descriptor, expected: stamp.size) else { return nil }
    guard !isLarge else {
      self.init(Variant(bytes, tag: stamp.tag), path, stamp)
      return
    }
    self.init(bytes, path, stamp)
  }

  private init(_ large: Variant, _ path: String, _ stamp: FileStamp) {
    self.stamp = stamp
    type = Self.type(of: path)
    plain = large
    gzipped = nil
  }

  private static func type(of path: String) -> String {
    ContentType.ofFile(named: path[(path.lastIndex(of: "/") ?? path.startIndex)...])
  }

  init(_ bytes: [UInt8], _ path: String, _ stamp: FileStamp? = nil) {
    self.stamp = stamp
    type = Self.type(of: path)
    plain = Variant(bytes, tag: EntityTag.strong(bytes))
    gzipped = Self.compressed(bytes, type)
  }

  /// The bytes of memory that it uses.
  var byteCount: Int {
    plain.count + (gzipped?.count ?? 0)
  }

  /// Returns the compressed form; nil if compression saves less than a tenth.
  private static func compressed(_ bytes: [UInt8], _ type: String) -> Variant? {
    guard bytes.count >= 256, bytes.count <= StaticFiles.largestKept,
      ContentType.isCompressible(type), let member = Gzip.compress(bytes, level: 9),
      member.count < bytes.count - bytes.count / 10
    else { return nil }
    return Variant(member, tag: EntityTag.strong(bytes, suffix: "-gz"))
  }

  private static func read(_ descriptor: Int32, expected: Int) -> [UInt8]? {
    var isWhole = false
    let bytes = [UInt8](unsafeUninitializedCapacity: expected) { buffer, count in
      while count < expected {
        let more = Glibc.read(descriptor, buffer.baseAddress! + count, expected - count)
        guard more > 0 else { return }
        count += more
      }
      isWhole = true
    }
    return isWhole ? bytes : nil
  }

  func response(to request: HTTPRequest) -> HTTPResponse {
    // RFC 9110, section 14.2, defines ranges for GET only.
    let range = request.method == "GET" ? request.header("range") : nil
    let coding = range == nil ? chosenCoding(request) : .identity
    let variant = coding == .gzip ? gzipped ?? plain : plain
    var headers = self.headers(variant)
    if coding == .gzip { headers.append(("Content-Encoding", "gzip")) }
    let conditions = request.headerValues("if-none-match")
    if conditions.contains(where: { EntityTag.ifNoneMatch($0, names: variant.tag) }) {
      return HTTPResponse(
        status: 304, headers: headers, body: .omitted(count: variant.count))
    }
    guard let range, request.header("if-range").map({ $0 == variant.tag }) ?? true else {
      return HTTPResponse(headers: headers, body: variant.body())
    }
    return partial(range, variant, headers)
  }

  private func chosenCoding(_ request: HTTPRequest) -> ContentCoding {
    guard gzipped != nil else { return .identity }
    return .preferred(request.headerList("accept-encoding"))
  }

  private func headers(_ variant: Variant) -> [(name: String, value: String)] {
    var headers = [
      (name: "Content-Type", value: type), (name: "ETag", value: variant.tag),
      (name: "Cache-Control", value: "no-cache"),
      (name: "Accept-Ranges", value: "bytes"),
    ]
    if gzipped != nil { headers.append(("Vary", "Accept-Encoding")) }
    return headers
  }

  private func partial(
    _ header: String, _ variant: Variant, _ headers: [(name: String, value: String)]
  ) -> HTTPResponse {
    let count = variant.count
    let range = ByteRange(header, count: count)
    var headers = headers
    if let value = range.contentRange(count: count) { headers.append(("Content-Range", value)) }
    switch range {
    case .whole: return HTTPResponse(headers: headers, body: variant.body())
    case .part(let range):
      return HTTPResponse(status: 206, headers: headers, body: variant.body(range))
    case .unsatisfiable: return HTTPResponse(status: 416, headers: headers)
    }
  }
}
