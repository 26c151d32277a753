// Instants: text, numbers and stored forms.

import FetchModel
import TestSupport
import Testing

@Suite(.mayBlock) struct InstantTests {
  @Test(
    "A date's text reads as its instant",
    arguments: [
      ("1970-01-01", 0, 0), ("2024-01-31", 1_706_659_200, 0),
      ("2024-01-31T10:00:00Z", 1_706_695_200, 0), ("2024-01-31 10:00:00", 1_706_695_200, 0),
      ("2024-01-31T10:00", 1_706_695_200, 0),
      ("2024-01-31T10:00:00.250Z", 1_706_695_200, 250_000_000),
      ("2024-01-31T12:30:00+02:30", 1_706_695_200, 0),
      ("2024-01-31T07:30:00-0230", 1_706_695_200, 0),
      ("1969-12-31T23:59:59.5Z", -1, 500_000_000), ("0000-03-01", -62_162_035_200, 0),
      ("2000-02-29", 951_782_400, 0),
      ("2024-01-31T10:00:00.1234567899Z", 1_706_695_200, 123_456_789),
      ("2001-01-01 00:00:00 +0000", 978_307_200, 0), ("2001-01-01 02:00:00 +0200", 978_307_200, 0),
      ("2000-12-31T24:00:00Z", 978_307_200, 0), ("2000-12-31T23:59:60Z", 978_307_200, 0),
    ])
  func reading(text: String, seconds: Int64, nanoseconds: Int32) {
    #expect(Instant(iso8601: text) == Instant(seconds: seconds, nanoseconds: nanoseconds))
  }

  @Test(
    "What is no date reads as nil",
    arguments: [
      "", "2024", "2024-1-31", "2023-02-29", "1900-02-29", "2024-13-01", "2024-00-10",
      "2024-01-31T", "2024-01-31T24:00:01Z", "2024-01-31T24:01Z", "2024-01-31T23:59:61Z",
      "2024-01-31T25:00:00Z", "2024-01-31 10:00:00 ", "2024-01-31 10:00:00  +0000",
      "2024-01-31T10:00:00.Z", "2024-01-31T10:00:00X",
      "2024-01-31T10:60", "+999999999999-01-01", "-999999999999-01-01", "24-01-31", "2024-01-31T10",
      "99999-01-01", "2024-01-31T10:00:00+25:00", "2024-01-31 ", "２０２４-01-31",
    ])
  func refusal(text: String) { #expect(Instant(iso8601: text) == nil) }

  @Test(
    "An instant is written in UTC, with a fraction only when it is not zero",
    arguments: [
      (1_706_695_200, 0, "2024-01-31T10:00:00Z"),
      (1_706_695_200, 250_000_000, "2024-01-31T10:00:00.25Z"),
      (-1, 1, "1969-12-31T23:59:59.000000001Z"), (253_402_300_800, 0, "+10000-01-01T00:00:00Z"),
      (-62_167_219_201, 0, "-0001-12-31T23:59:59Z"), (-62_167_219_200, 0, "0000-01-01T00:00:00Z"),
      (Int64.max, 0, "+292277026596-12-04T15:30:07Z"),
      (Int64.min, 0, "-292277022657-01-27T08:29:52Z"),
    ])
  func writing(seconds: Int64, nanoseconds: Int32, text: String) {
    #expect(Instant(seconds: seconds, nanoseconds: nanoseconds).iso8601 == text)
  }

  @Test("Any instant reads back from its text, and its stored forms hold the same day")
  func roundTrip() {
    var random = SeededRandom(seed: 4711)
    for _ in 0..<2_000 {
      let seconds = Int64.random(in: -400_000_000_000...400_000_000_000, using: &random)
      let instant = Instant(
        seconds: seconds, nanoseconds: .random(in: 0..<1_000_000_000, using: &random))
      #expect(Instant(iso8601: instant.iso8601) == instant)
      #expect(Instant(iso8601: instant.stored(as: .sqlText)) == instant)
    }
  }

  @Test("Seconds as a number are an instant to the nanosecond, or nil out of range")
  func numbers() {
    #expect(Instant(secondsSince1970: -0.5) == Instant(seconds: -1, nanoseconds: 500_000_000))
    #expect(Instant(secondsSince1970: 1.25) == Instant(seconds: 1, nanoseconds: 250_000_000))
    for number in [Double.nan, .infinity, -.infinity, 1e300] {
      #expect(Instant(secondsSince1970: number) == nil)
    }
    #expect(Instant(seconds: -2, nanoseconds: 500_000_000).stored(as: .unixSeconds) == "-1.5")
    #expect(Instant(seconds: -1, nanoseconds: 500_000_000).stored(as: .unixSeconds) == "-0.5")
    #expect(Instant(seconds: 7).stored(as: .unixSeconds) == "7")
  }
}
