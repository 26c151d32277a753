// One file, in memory uncompressed and compressed if it is not large.
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
    /// nil for a large file, which is read for each response.
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

    /// The whole body, or its part in `range`; nil if it cannot be read.
    func body(_ range: Range<Int>? = nil, from descriptor: Int32) -> HTTPBody? {
      guard let bytes else {
        return StaticFile.read(descriptor, range ?? 0..<count).map { .bytes($0) }
      }
      return .bytes(range.map { Array(bytes[$0]) } ?? bytes)
    }
  }

  /// Returns nil if the file cannot be read. A file larger than ``StaticFiles/largestKept`` is not read yet.
  init?(_ descriptor: Int32, _ stamp: FileStamp, _ path: String) {
    guard stamp.size <= StaticFiles.largestKept else {
      self.init(Variant(count: stamp.size, tag: stamp.tag), path, stamp)
      return
    }
    guard let bytes = Self.read(descriptor, 0..<stamp.size) else { return nil }
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

  /// Returns the bytes in `range` of a file; nil if it has fewer.
  private static func read(_ descriptor: Int32, _ range: Range<Int>) -> [UInt8]? {
    var isWhole = false
    let bytes = [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
      while count < range.count {
        let more = pread(
          descriptor, buffer.baseAddress! + count, range.count - count, range.lowerBound + count)
        guard more > 0 else { return }
        count += more
      }
      isWhole = true
    }
    return isWhole ? bytes : nil
  }

  /// - Parameter descriptor: the open file; not used for contents from memory.
  /// - Returns: nil if the file cannot be read.
  func response(to request: HTTPRequest, from descriptor: Int32 = -1) -> HTTPResponse? {
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
    guard request.method == "GET" else {
      return HTTPResponse(headers: headers, body: .omitted(count: variant.count))
    }
    guard let range, request.header("if-range").map({ $0 == variant.tag }) ?? true else {
      return variant.body(from: descriptor).map { HTTPResponse(headers: headers, body: $0) }
    }
    return partial(range, variant, headers, descriptor)
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
    _ header: String, _ variant: Variant, _ headers: [(name: String, value: String)],
    _ descriptor: Int32
  ) -> HTTPResponse? {
    let count = variant.count
    let range = ByteRange(header, count: count)
    var headers = headers
    if let value = range.contentRange(count: count) { headers.append(("Content-Range", value)) }
    switch range {
    case .whole:
      return variant.body(from: descriptor).map { HTTPResponse(headers: headers, body: $0) }
    case .part(let range):
      return variant.body(range, from: descriptor)
        .map { HTTPResponse(status: 206, headers: headers, body: $0) }
    case .unsatisfiable: return HTTPResponse(status: 416, headers: headers)
    }
  }
}
