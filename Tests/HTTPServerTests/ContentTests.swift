// Content codings, conditional requests, ranges and percent-decoding.

import Bytes
import CZlib
import Testing

@testable import LiveFetchHTTPServer

extension HTTPServerTests {
  @Suite struct Content {
    @Test(arguments: [0, 1, 100, 65_536, 1_000_000], [1, 6, 9])
    func `gzip is undone by zlib`(_ count: Int, _ level: Int) throws {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 7) }
      let member = try #require(Gzip.compress(bytes, level: level))
      #expect(member.prefix(2) == [0x1F, 0x8B])
      #expect(inflated(member, capacity: count + 1) == bytes)
      #expect(Gzip.compress(bytes, level: level) == member)
    }

    @Test func `gzip of repeated text is small`() throws {
      let bytes = Array(String(repeating: "{\"id\":1,\"name\":\"x\"}", count: 1000).utf8)
      #expect(try #require(Gzip.compress(bytes)).count < 500)
    }

    @Test(
      arguments: [
        (nil, ContentCoding.identity), ("", .identity), ("gzip", .gzip), ("GZip", .gzip),
        ("deflate, gzip;q=1.0, *;q=0.5", .gzip), ("gzip;q=0", .identity),
        ("gzip; q=0.0", .identity),
        ("gzip;q=0.001", .gzip), ("identity;q=0, gzip;q=0.001", .gzip), ("*", .gzip),
        ("*;q=0", .identity), ("*;q=0, gzip", .gzip), ("gzip;q=0, *", .identity),
        ("identity;q=0", .identity), ("identity;q=0.5, gzip;q=0.4", .identity),
        ("identity;q=0.5, gzip;q=0.5", .gzip), ("gzip;q=0.5, identity;q=0", .gzip),
        ("br, deflate", .identity), ("gzip;q=2", .identity), ("gzip;q=abc", .identity),
        ("gzip;q=0.1234", .identity), (" gzip ;\tq = 1 ", .gzip), (",,gzip,,", .gzip),
        (";;", .identity),
      ] as [(String?, ContentCoding)])
    func `the coding is chosen by weights`(_ header: String?, _ coding: ContentCoding) {
      #expect(ContentCoding.preferred(header) == coding, "\(header ?? "-")")
    }

    @Test(arguments: [
      ("\"a\"", true), ("W/\"a\"", true), ("\"b\", \"a\"", true), ("*", true), ("\"b\"", false),
      ("", false), ("a", false), ("\"a", false), ("\"x,\"a\"\"", false), ("\"b\",W/\"a\" ,", true),
      ("\"b,\\\"a\\\"\"", false),
    ])
    func `If-None-Match compares weakly over a list`(_ condition: String, _ names: Bool) {
      #expect(EntityTag.ifNoneMatch(condition, names: "\"a\"") == names, "\(condition)")
    }

    @Test func `If-Match compares strongly`() {
      #expect(EntityTag.ifMatch("\"b\", \"a\"", names: "\"a\""))
      #expect(EntityTag.ifMatch("*", names: "\"a\""))
      #expect(!EntityTag.ifMatch("W/\"a\"", names: "W/\"a\""))
      #expect(!EntityTag.ifMatch("\"b\"", names: "\"a\""))
    }

    @Test(
      arguments: [
        (nil, ByteRange.whole), ("bytes=0-4", .part(0..<5)), ("bytes=5-", .part(5..<10)),
        ("bytes=-3", .part(7..<10)), ("bytes=-30", .part(0..<10)), ("bytes=2-100", .part(2..<10)),
        ("bytes=10-", .unsatisfiable), ("bytes=-0", .unsatisfiable), ("bytes=4-2", .whole),
        ("bytes=0-1,3-4", .whole), ("items=0-4", .whole), ("bytes=-", .whole), ("bytes=", .whole),
        ("bytes=a-b", .whole), ("bytes=0-99999999999999999999999", .part(0..<10)),
        ("bytes=99999999999999999999999-", .unsatisfiable), ("bytes=+1-2", .whole),
      ] as [(String?, ByteRange)])
    func `one range is understood`(_ header: String?, _ range: ByteRange) {
      #expect(ByteRange(header, count: 10) == range, "\(header ?? "-")")
    }

    @Test func `a range of nothing is not satisfiable`() {
      #expect(ByteRange("bytes=0-", count: 0) == .unsatisfiable)
      #expect(ByteRange("bytes=-1", count: 0) == .unsatisfiable)
      #expect(ByteRange("bytes=0-4", count: 10).contentRange(count: 10) == "bytes 0-4/10")
      #expect(ByteRange("bytes=10-", count: 10).contentRange(count: 10) == "bytes */10")
    }

    @Test func `percent-decoding happens once`() {
      #expect(PercentEncoding.decode("%2525", plus: .itself) == "%25")
      #expect(PercentEncoding.decode("a+b", plus: .itself) == "a+b")
      #expect(PercentEncoding.decode("a+b%2B", plus: .space) == "a b+")
      #expect(PercentEncoding.decode("%C3%a4", plus: .itself) == "ä")
      #expect(PercentEncoding.decode("%C3", plus: .itself) == nil)
      #expect(PercentEncoding.decode("%", plus: .itself) == nil)
      #expect(PercentEncoding.decode("%4", plus: .itself) == nil)
      #expect(PercentEncoding.decode("%+1", plus: .itself) == nil)
    }
  }
}

/// The content of a gzip member; nil if it is damaged.
func inflated(_ member: [UInt8], capacity: Int) -> [UInt8]? {
  var stream = z_stream()
  let size = Int32(MemoryLayout<z_stream>.size)
  guard inflateInit2_(&stream, 15 + 16, ZLIB_VERSION, size) == Z_OK else { return nil }
  defer { inflateEnd(&stream) }
  var input = member
  var output = [UInt8](repeating: 0, count: capacity)
  let result = input.withUnsafeMutableBufferPointer { input in
    output.withUnsafeMutableBufferPointer { output in
      stream.next_in = input.baseAddress
      stream.avail_in = UInt32(input.count)
      stream.next_out = output.baseAddress
      stream.avail_out = UInt32(output.count)
      return inflate(&stream, Z_FINISH)
    }
  }
  return result == Z_STREAM_END ? Array(output.prefix(Int(stream.total_out))) : nil
}
