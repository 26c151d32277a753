// Folding and letter case in SQL, equal to those of the SQLite store: functions with the mappings of every
// letter, which Swift computes when it creates them.
//
// The option `d` removes every mark after a European letter, and European marks after any other; see
// `Folding`.

import FetchModel

enum PostgresFolding {
  /// The version of the mappings, to be increased when they change, as with another version of Unicode. Then
  /// the functions are replaced, and a database's own indexes on their results have to be made again.
  static let version = "2"

  // MARK: Letters

  /// What a function makes of one letter.
  enum Mapping: Int, CaseIterable {
    case c, d, cd, upper, lower

    fileprivate func result(of letter: String) -> String {
      switch self {
      case .c: Folding.fold(letter, .caseInsensitive)
      case .d: Folding.fold(letter, .diacriticInsensitive)
      case .cd: Folding.fold(letter, [.caseInsensitive, .diacriticInsensitive])
      case .upper: letter.uppercasedText { false }
      case .lower: letter.lowercasedText { false }
      }
    }
  }

  /// A letter that some mapping changes. The result of a mapping that does not change it is nil.
  private struct Letter {
    let code: UInt32
    let text: String
    let results: [String?]
  }

  private static let letters: [Letter] = (UInt32(0x80)..<0x2_0000).compactMap { code -> Letter? in
    guard let scalar = Unicode.Scalar(code),
      code < 0x2200 || scalar.properties.changesWhenCaseMapped
    else { return nil }
    let text = String(Character(scalar))
    let results = Mapping.allCases.map { mapping -> String? in
      let result = mapping.result(of: text)
      return result.unicodeScalars.elementsEqual(text.unicodeScalars) ? nil : result
    }
    return results.contains { $0 != nil } ? Letter(code: code, text: text, results: results) : nil
  }

  /// The parts of Unicode whose letters have a list each. `translate` compares each letter of a text with all
  /// of a list, so short lists are fast.
  private static let parts: [Range<UInt32>] = [
    0x80..<0x100, 0x100..<0x180, 0x180..<0x370, 0x370..<0x400, 0x400..<0x530, 0x530..<0x1E00,
    0x1E00..<0x1F00, 0x1F00..<0x2000, 0x2000..<0x2_0000,
  ]

  /// The statements that map the letters of the variable `mapped` beyond ASCII. No mapping changes the result
  /// of a mapping, so they may follow each other.
  static func statements(_ mapping: Mapping) -> String {
    let lists = parts.map { part in
      translation(letters.filter { part.contains($0.code) }, mapping)
    }
    return """
      \(lists[..<2].joined())
      IF mapped ~ '[^\\u0001-\\u017F]' THEN
        \(lists[2...].joined())
      END IF;
      \(expansion(mapping))
      """
  }

  /// Maps letters to one letter each. The character class is the same for all mappings, because PostgreSQL
  /// keeps only 32 compiled expressions.
  private static func translation(_ letters: [Letter], _ mapping: Mapping) -> String {
    var sources = ""
    var results = ""
    for letter in letters {
      if let result = letter.results[mapping.rawValue], result.unicodeScalars.count == 1 {
        sources.unicodeScalars += letter.text.unicodeScalars
        results.unicodeScalars += result.unicodeScalars
      }
    }
    return """
      IF mapped ~ '[\(ranges(of: letters.map(\.code)))]' THEN
        mapped := translate(mapped, '\(sources)', '\(results)');
      END IF;

      """
  }

  /// Maps letters to several letters each.
  private static func expansion(_ mapping: Mapping) -> String {
    var codes: [UInt32] = []
    var results: [String] = []
    for letter in letters {
      if let result = letter.results[mapping.rawValue], result.unicodeScalars.count != 1 {
        codes.append(letter.code)
        results.append("\"\(letter.text)\":\"\(result)\"")
      }
    }
    return """
      LOOP
        letter := substring(mapped FROM '[\(ranges(of: codes))]');
        EXIT WHEN letter IS NULL;
        mapped := replace(mapped, letter, '{\(results.joined(separator: ","))}'::jsonb ->> letter);
      END LOOP;
      """
  }

  // MARK: Marks

  private static let europeanMarks = #"\u0300-\u036F\u0483-\u0489"#
  private static let europeanLetters =
    #"\u0001-\u02FF\u0370-\u0482\u048A-\u050F\u1E00-\u1FFF\u2126\u212A\u212B"#

  /// Every mark, as the content of a character class. The last ones are selectors of variants.
  private static let marks =
    ranges(
      of: (UInt32(0x300)..<0x2_0000).filter { code in
        let category = Unicode.Scalar(code)?.properties.generalCategory
        return (0x300...0x36F).contains(code) || (0x483...0x489).contains(code)
          || category == .nonspacingMark || category == .enclosingMark
      }) + #"\U000E0100-\U000E01EF"#

  private static let flags = #"\U0001F1E6-\U0001F1FF"#

  /// The scalars that belong to the character before them: marks and the modifiers of skin colours.
  private static let attached: String = {
    let codes = (UInt32(0x300)..<0x1_2000).filter { code in
      switch Unicode.Scalar(code)?.properties.generalCategory {
      case .nonspacingMark, .enclosingMark, .spacingMark: true
      default: false
      }
    }
    return ranges(of: codes) + #"\U0001F3FB-\U0001F3FF"#
  }()

  private static func ranges(of codes: [UInt32]) -> String {
    var ranges: [ClosedRange<UInt32>] = []
    for code in codes {
      if let last = ranges.last, last.upperBound + 1 == code {
        ranges[ranges.count - 1] = last.lowerBound...code
      } else {
        ranges.append(code...code)
      }
    }
    return ranges.map { "\(escape($0.lowerBound))-\(escape($0.upperBound))" }.joined()
  }

  private static func escape(_ code: UInt32) -> String {
    let digits = String(code, radix: 16, uppercase: true)
    return #"\U"# + String(repeating: "0", count: 8 - digits.utf8.count) + digits
  }

  // MARK: Functions

  private static func function(
    _ name: String, _ parameters: String, result: String = "text", ascii: String,
    first: String = "", other: String
  ) -> String {
    """
    CREATE OR REPLACE FUNCTION livefetch.livefetch_\(name)(\(parameters)) RETURNS \(result)
      LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
      DECLARE mapped text COLLATE "C" := value; letter text; first_marks text; BEGIN
      \(first)
      IF octet_length(value) = char_length(value) THEN RETURN \(ascii); END IF;
      \(other)
    END $$;
    """
  }

  /// Returns the statements that create the functions. `statements` returns those of a mapping.
  static func functions(_ statements: (Mapping) -> String) -> String {
    [
      function(
        "fold", "value text, options integer",
        ascii: "CASE WHEN options & 1 = 1 THEN lower(mapped) ELSE value END",
        first: "IF options & 3 = 0 THEN RETURN value; END IF;",
        other: """
          IF options & 2 = 2 AND mapped ~ '[\(marks)]' THEN
            mapped := regexp_replace(mapped, '([\(europeanLetters)])[\(marks)]+', '\\1', 'g');
            first_marks := coalesce(substring(mapped FROM '^[\(marks)]+'), '');
            mapped := first_marks || regexp_replace(
              substr(mapped, char_length(first_marks) + 1), '[\(europeanMarks)]', '', 'g');
          END IF;
          IF options & 1 = 1 THEN mapped := lower(mapped); END IF;
          IF options & 3 = 1 THEN \(statements(.c))
          ELSIF options & 3 = 2 THEN \(statements(.d))
          ELSE \(statements(.cd))
          END IF;
          RETURN normalize(mapped);
          """),
      // With `c` alone, a letter and its marks are found together only. `place` is the name of a relation.
      function(
        "letters", "value text, part text, options integer, place text", result: "boolean",
        ascii: "livefetch.livefetch_part(value, part, options, place)",
        other: """
          value := livefetch.livefetch_fold(value, options);
          part := livefetch.livefetch_fold(part, options);
          IF value !~ '[\(marks)]' THEN
            RETURN livefetch.livefetch_part(value, part, 0, place);
          END IF;
          RETURN part <> '' AND value COLLATE "C" ~ (
            CASE WHEN place = 'begins' OR part ~ '^[\(marks)]' THEN '\\A' ELSE '' END
            || regexp_replace(part, '[][\\\\.^$*+?(){}|]', '\\\\\\&', 'g')
            || CASE WHEN place = 'ends' THEN '\\Z' ELSE '(?![\(marks)])' END);
          """),
      function(
        "uppercase", "value text", ascii: "upper(mapped)",
        other: "mapped := upper(mapped); \(statements(.upper)) RETURN mapped;"),
      function(
        "lowercase", "value text", ascii: "lower(mapped)",
        other: """
          IF strpos(value, 'Σ') > 0 THEN
            RAISE EXCEPTION '`lowercase` of a capital sigma'
              USING ERRCODE = 'feature_not_supported';
          END IF;
          mapped := lower(mapped); \(statements(.lower)) RETURN mapped;
          """),
      function(
        "canonical", "value text", ascii: "lower(mapped)",
        other: "RETURN livefetch.livefetch_fold(value, 3);"),
      function(
        "initial", "value text", ascii: "upper(left(mapped, 1))",
        other: """
          value := substring(value FROM
            '^(?:[\(flags)]{2}|.[\(attached)]*(?:\\u200D[^\(attached)][\(attached)]*)*)');
          RETURN livefetch.livefetch_uppercase(livefetch.livefetch_fold(value, 2));
          """),
    ].joined()
  }
}
