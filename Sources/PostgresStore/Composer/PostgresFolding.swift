// Folding and letter case in SQL, equal to those of the SQLite store: a table with the mappings of every
// letter, which Swift computes, and functions that apply them letter by letter.
//
// The option `d` removes every mark after a European letter, and European marks after any other; see
// `Folding`. The functions are immutable because the table never changes.

import FetchModel

enum PostgresFolding {
  /// The version of the table's content.
  private static let version = "1"

  /// Creates the table unless it exists.
  static func installTable(_ connection: PostgresConnection) throws(PostgresError) {
    let comment = try connection.query(
      "SELECT obj_description(to_regclass('livefetch.folding'), 'pg_class')")
    if comment.text(0, 0) != version { try createTable(connection) }
  }

  private static func createTable(_ connection: PostgresConnection) throws(PostgresError) {
    try connection.execute(
      """
      DROP TABLE IF EXISTS livefetch.folding;
      CREATE TABLE livefetch.folding (
        letter text COLLATE "C" PRIMARY KEY, c text, d text, cd text, upper text, lower text);
      COMMENT ON TABLE livefetch.folding IS '\(version)';
      """)
    let letters = letters
    try connection.query(
      """
      INSERT INTO livefetch.folding
      SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[])
      """,
      (0..<6).map { column in arrayText(letters.map { $0[column] }) })
    try connection.execute("ANALYZE livefetch.folding")
  }

  /// Each letter that some mapping changes, followed by its mappings.
  private static let letters: [[String]] = {
    var letters: [[String]] = []
    for code in UInt32(1)..<0x2_0000 {
      guard let scalar = Unicode.Scalar(code) else { continue }
      guard code < 0x2200 || scalar.properties.changesWhenCaseMapped else { continue }
      let letter = String(Character(scalar))
      let mapped: [String] = [
        letter, Folding.fold(letter, .caseInsensitive), Folding.fold(letter, .diacriticInsensitive),
        Folding.fold(letter, [.caseInsensitive, .diacriticInsensitive]),
        letter.uppercasedText { false }, letter.lowercasedText { false },
      ]
      if !mapped.allSatisfy({ $0.unicodeScalars.elementsEqual(letter.unicodeScalars) }) {
        letters.append(mapped)
      }
    }
    return letters
  }()

  // MARK: Marks

  private static let europeanMarks = #"\u0300-\u036F\u0483-\u0489"#
  private static let europeanLetters =
    #"\u0001-\u02FF\u0370-\u0482\u048A-\u050F\u1E00-\u1FFF\u2126\u212A\u212B"#

  /// Every mark, as the content of a character class.
  private static let marks = ranges(
    of: (UInt32(0x300)..<0x2_0000).filter { code in
      let category = Unicode.Scalar(code)?.properties.generalCategory
      return (0x300...0x36F).contains(code) || (0x483...0x489).contains(code)
        || category == .nonspacingMark || category == .enclosingMark
    })

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

  private static func mapped(_ column: String) -> String {
    """
    (SELECT coalesce(string_agg(coalesce(\(column), l.letter), '' ORDER BY l.place), '')
      FROM unnest(string_to_array(value, NULL)) WITH ORDINALITY AS l (letter, place)
      LEFT JOIN livefetch.folding AS f ON f.letter = l.letter COLLATE "C")
    """
  }

  private static func function(
    _ name: String, _ parameters: String, result: String = "text", ascii: String,
    first: String = "", other: String
  ) -> String {
    """
    CREATE OR REPLACE FUNCTION livefetch.livefetch_\(name)(\(parameters)) RETURNS \(result)
      LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$ DECLARE first_marks text; BEGIN
      \(first)
      IF octet_length(value) = char_length(value) THEN RETURN \(ascii); END IF;
      \(other)
    END $$;
    """
  }

  static let functions = [
    function(
      "fold", "value text, options integer",
      ascii: #"CASE WHEN options & 1 = 1 THEN lower(value COLLATE "C") ELSE value END"#,
      first: "IF options & 3 = 0 THEN RETURN value; END IF;",
      other: """
        IF options & 2 = 2 THEN
          value := regexp_replace(value, '([\(europeanLetters)])[\(marks)]+', '\\1', 'g');
          first_marks := coalesce(substring(value FROM '^[\(marks)]+'), '');
          value := first_marks || regexp_replace(
            substr(value, char_length(first_marks) + 1), '[\(europeanMarks)]', '', 'g');
        END IF;
        RETURN normalize(\(mapped("CASE options & 3 WHEN 1 THEN f.c WHEN 2 THEN f.d ELSE f.cd END")));
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
      "uppercase", "value text", ascii: #"upper(value COLLATE "C")"#,
      other: "RETURN \(mapped("f.upper"));"),
    function(
      "lowercase", "value text", ascii: #"lower(value COLLATE "C")"#,
      other: """
        IF strpos(value, 'Σ') > 0 THEN
          RAISE EXCEPTION '`lowercase` of a capital sigma'
            USING ERRCODE = 'feature_not_supported';
        END IF;
        RETURN \(mapped("f.lower"));
        """),
    function(
      "canonical", "value text", ascii: #"lower(value COLLATE "C")"#,
      other: "RETURN livefetch.livefetch_fold(value, 3);"),
    function(
      "initial", "value text", ascii: #"upper(left(value, 1) COLLATE "C")"#,
      other: """
        value := substring(value FROM
          '^(?:[\(flags)]{2}|.[\(attached)]*(?:\\u200D[^\(attached)][\(attached)]*)*)');
        RETURN livefetch.livefetch_uppercase(livefetch.livefetch_fold(value, 2));
        """),
  ].joined()
}
