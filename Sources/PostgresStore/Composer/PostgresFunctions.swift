// The functions of composed statements, in the schema `livefetch`. They have the names that the SQLite
// store gives to its functions, and the same results. `PostgresFolding` has those of folding.

import Patterns

/// The functions that composed statements call.
enum PostgresFunctions {
  /// Creates the functions, or replaces those of another version, in one transaction. The comment of the
  /// schema is the hash of `outline` when they were created. Needs the right to create a schema.
  static func install(_ connection: PostgresConnection) throws(PostgresError) {
    try connection.withTransaction { () throws(PostgresError) in
      try connection.execute(
        """
        SELECT pg_advisory_xact_lock(\(PostgresHistory.lockNumber));
        CREATE SCHEMA IF NOT EXISTS livefetch;
        """)
      let found = try connection.query(
        """
        SELECT md5($1::text),
          md5($1::text) IS NOT DISTINCT FROM obj_description('livefetch'::regnamespace, 'pg_namespace')
        """, [.text(outline)])
      if try found.bool(0, 1) { return }
      _ = try connection.execute(script)
      try connection.execute("COMMENT ON SCHEMA livefetch IS '\(found.text(0, 0))'")
    }
  }

  private static let script = scriptText(PostgresFolding.statements)

  private static func scriptText(_ statements: (PostgresFolding.Mapping) -> String) -> String {
    [
      PostgresFolding.functions(statements), quantities, texts, conversions, searches, dates,
      calculations, aggregates, wholeParts, numbers, integers, powers, rights,
    ].joined(separator: "\n")
  }

  /// The script without the mappings of letters, which take long to compute: only their version.
  private static let outline = scriptText { "\($0) \(PostgresFolding.version)" }

  /// Roles that only read use the functions that another one has created.
  private static let rights = """
    GRANT USAGE ON SCHEMA livefetch TO PUBLIC;

    """

  /// Returns the statement that creates the function `livefetch_NAME`.
  ///
  /// - Parameters:
  ///   - parameters: the types, separated by commas.
  ///   - body: an expression.
  static func function(
    _ name: String, _ parameters: String, result: String, _ body: String
  ) -> String {
    """
    CREATE OR REPLACE FUNCTION livefetch.livefetch_\(name)(\(parameters)) RETURNS \(result)
      LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT \(body) $$;
    """
  }

  /// A value as a number; NULL if its type has no number.
  private static let quantities = [
    function("quantity", "bigint", result: "numeric", "$1::numeric"),
    function("quantity", "integer", result: "numeric", "$1::numeric"),
    function("quantity", "smallint", result: "numeric", "$1::numeric"),
    function("quantity", "numeric", result: "numeric", "$1"),
    function("quantity", "double precision", result: "double precision", "$1"),
    function("quantity", "real", result: "double precision", "$1::float8"),
    function("quantity", "boolean", result: "numeric", "$1::int::numeric"),
    function("quantity", "text", result: "numeric", "NULL::numeric"),
  ].joined()

  private static let texts = [
    // In UTF-16 units, as NSString counts.
    function(
      "length", "text", result: "bigint",
      #"""
      (2 * char_length($1)
        - char_length(regexp_replace($1, '[\U00010000-\U0010FFFF]', '', 'g')))::bigint
      """#),
    function("uuid_text", "uuid", result: "text", "$1::text"),
    function("uuid_text", "text", result: "text", "$1"),
    // The UUID of a comparison key. A text that is no UUID equals none.
    function(
      "uuid", "text", result: "uuid",
      "CASE WHEN $1 ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN $1::uuid END"),
    // The comparison key of a constant that is compared with UUIDs.
    function("value", "text, integer", result: "text", "lower($1)"),
  ].joined()

  /// CAST of a number to text, and of text to a number. A number that is too large for a double is
  /// infinite, and one that is too small is 0.
  private static let conversions =
    function("double", "float8", result: "float8", "$1")
    + function(
      "double", "numeric", result: "float8",
      """
      CASE WHEN $1 = 'NaN' THEN 'NaN' WHEN $1 >= 1.797693134862315808e308 THEN 'Infinity'
        WHEN $1 <= -1.797693134862315808e308 THEN '-Infinity'
        WHEN abs($1) < 2.470328229206232721e-324 THEN 0 ELSE $1 END::float8
      """)
    + ["smallint", "integer", "bigint"].map { function("text", $0, result: "text", "$1::text") }
    .joined()
    + [
      function("text", "boolean", result: "text", "$1::int::text"),
      function(
        "text", "double precision", result: "text",
        """
        CASE WHEN $1 = 'NaN' THEN NULL WHEN $1 = 'Infinity' THEN 'inf' WHEN $1 = '-Infinity' THEN '-inf'
          WHEN $1 = trunc($1) AND abs($1) < 9223372036854775807 THEN $1::numeric::bigint::text
          ELSE $1::text END
        """),
      function("text", "real", result: "text", "livefetch.livefetch_text($1::float8)"),
      function(
        "text", "numeric", result: "text",
        "livefetch.livefetch_text(livefetch.livefetch_double($1))"),
      function(
        "number", "text", result: "numeric",
        #"""
        CASE WHEN $1 ~ '^[+-]?([0-9]{1,255}\.?[0-9]{0,255}|\.[0-9]{1,255})([eE][+-]?[0-9]{1,3})?$'
          THEN CASE WHEN abs($1::numeric) < 1.797693134862316e308 THEN $1::numeric END END
        """#),
    ].joined()

  /// Calculations with doubles: a result that is too large is infinite, and one that is too small is 0.
  /// PostgreSQL's own operators refuse both.
  private static let calculations = [
    function(
      "plus", "x float8, y float8", result: "float8",
      """
      CASE WHEN y IS NULL OR greatest(abs(x), abs(y)) < 8e307 THEN x + y
        WHEN 'Infinity' IN (abs(x), abs(y)) OR least(abs(x), abs(y)) < 1 THEN nullif(x + y, 'NaN')
        WHEN abs(x * 0.5 + y * 0.5) < 8.988465674311579e307 THEN x + y
        WHEN x > 0 THEN 'Infinity' WHEN x < 0 THEN '-Infinity' END
      """),
    function("minus", "x float8, y float8", result: "float8", "livefetch.livefetch_plus(x, -y)"),
    function(
      "times", "x float8, y float8", result: "float8",
      """
      CASE WHEN x = 0 OR y = 0 OR 'Infinity' IN (abs(x), abs(y)) OR 'NaN' IN (x, y)
          THEN nullif(x * y, 'NaN')
        WHEN ln(abs(x)) + ln(abs(y)) > \(highestExponent)
          THEN CASE WHEN (x > 0) = (y > 0) THEN 'Infinity' ELSE '-Infinity' END::float8
        WHEN ln(abs(x)) + ln(abs(y)) < \(lowestExponent) THEN 0 ELSE x * y END
      """),
    function(
      "over", "x float8, y float8", result: "float8",
      """
      CASE WHEN y = 0 THEN NULL
        WHEN x = 0 OR 'Infinity' IN (abs(x), abs(y)) OR 'NaN' IN (x, y) THEN nullif(x / y, 'NaN')
        WHEN ln(abs(x)) - ln(abs(y)) > \(highestExponent)
          THEN CASE WHEN (x > 0) = (y > 0) THEN 'Infinity' ELSE '-Infinity' END::float8
        WHEN ln(abs(x)) - ln(abs(y)) < \(lowestExponent) THEN 0 ELSE x / y END
      """),
  ].joined()

  /// The second function is for a part that is known: only texts that match `likeness` are folded, besides
  /// those of ASCII; see ``SearchPrefilter``.
  private static func search(_ place: String) -> String {
    function(
      place, "value text, part text, options integer", result: "boolean",
      """
      coalesce(CASE WHEN options & 3 = 1 AND octet_length(value) <> char_length(value)
        THEN livefetch.livefetch_letters(value, part, options, '\(place)')
        ELSE livefetch.livefetch_part(value, part, options, '\(place)') END, FALSE)
      """)
      + function(
        place, "value text, part text, options integer, likeness text", result: "boolean",
        """
        CASE WHEN octet_length(value) = char_length(value) OR value COLLATE "C" ~ likeness
          THEN livefetch.livefetch_\(place)(value, part, options) ELSE FALSE END
        """)
  }

  /// `livefetch_fold(value, options)`, without a call for a text of ASCII.
  private static let foldedValue = """
    CASE WHEN octet_length(value) <> char_length(value)
      THEN livefetch.livefetch_fold(value, options)
      WHEN options & 1 = 1 THEN lower(value COLLATE "C") ELSE value END
    """

  private static let searches = [
    function(
      "part", "value text, part text, options integer, place text", result: "boolean",
      """
      part <> '' AND CASE place
        WHEN 'begins' THEN starts_with((\(foldedValue)) COLLATE "C",
          livefetch.livefetch_fold(part, options))
        WHEN 'ends' THEN right(\(foldedValue),
          char_length(livefetch.livefetch_fold(part, options)))
          COLLATE "C" = livefetch.livefetch_fold(part, options) COLLATE "C"
        ELSE strpos((\(foldedValue)) COLLATE "C",
          livefetch.livefetch_fold(part, options) COLLATE "C") > 0 END
      """),
    search("begins"), search("ends"), search("contains"),
    #"""
    CREATE OR REPLACE FUNCTION livefetch.livefetch_pattern(pattern text) RETURNS text
      LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
      DECLARE result text := ''; letter text; is_escaped boolean := FALSE; BEGIN
      FOREACH letter IN ARRAY regexp_split_to_array(pattern, '') LOOP
        IF is_escaped THEN result := result || '\' || letter; is_escaped := FALSE;
        ELSIF letter = '\' THEN is_escaped := TRUE;
        ELSIF letter = '*' THEN result := result || '%';
        ELSIF letter = '?' THEN result := result || '_';
        ELSIF letter = '%' OR letter = '_' THEN result := result || '\' || letter;
        ELSE result := result || letter;
        END IF;
      END LOOP;
      RETURN result || CASE WHEN is_escaped THEN '\\' ELSE '' END;
    END $$;
    CREATE OR REPLACE FUNCTION livefetch.livefetch_expression(
      value text, expression text, options integer) RETURNS boolean
      LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT coalesce(
        livefetch.livefetch_fold(value, options) COLLATE "C" ~ expression, FALSE) $$;
    CREATE OR REPLACE FUNCTION livefetch.livefetch_like(
      value text, pattern text, options integer) RETURNS boolean
      LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$ BEGIN
      IF options & 1 = 1 AND octet_length(value) <> char_length(value) THEN
        RAISE EXCEPTION 'LIKE with the option c and a pattern from a column, over text beyond ASCII'
          USING ERRCODE = 'feature_not_supported';
      END IF;
      RETURN coalesce(livefetch.livefetch_fold(value, options) COLLATE "C"
        LIKE livefetch.livefetch_pattern(livefetch.livefetch_fold(pattern, options)), FALSE);
    END $$;
    -- The expression is for texts in which a character folds to several.
    CREATE OR REPLACE FUNCTION livefetch.livefetch_like(
      value text, pattern text, options integer, expression text, marks integer) RETURNS boolean
      LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT coalesce(
        CASE WHEN octet_length(value) <> char_length(value) AND value ~ '[<expanding>]'
          THEN normalize(livefetch.livefetch_fold(value, marks)) COLLATE "C" ~ expression
          ELSE livefetch.livefetch_fold(value, options) COLLATE "C"
            LIKE livefetch.livefetch_pattern(livefetch.livefetch_fold(pattern, options)) END,
        FALSE) $$;
    """#.replacing("<expanding>", with: CaseFolding.expanding.map(String.init).joined()),
  ].joined()

  private static let dates = [
    // The day, month or year of a date in UTC. The last argument serves SQLite.
    function(
      "date_part", "timestamptz, integer, integer", result: "text",
      "left(to_char($1 AT TIME ZONE 'UTC', 'YYYY-MM-DD'), $2)"),
    function(
      "seconds", "timestamptz", result: "double precision", "extract(epoch FROM $1)::float8"),
    function("seconds", "double precision", result: "double precision", "$1"),
    function(
      "reference", "timestamptz", result: "double precision",
      "(extract(epoch FROM $1) - 978307200)::float8"),
    function("reference", "double precision", result: "double precision", "$1 - 978307200"),
  ].joined()

  private static func sum(_ name: String, _ type: String) -> String {
    """
    CREATE OR REPLACE AGGREGATE livefetch.livefetch_\(name)(\(type))
      (SFUNC = livefetch.livefetch_add, STYPE = numeric, INITCOND = '0');
    """
  }

  private static func average(_ type: String) -> String {
    let count = "$1[2] + 1"
    return """
      CREATE OR REPLACE FUNCTION livefetch.livefetch_add(numeric[], \(type)) RETURNS numeric[]
        LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
        SELECT CASE WHEN $2 IS NULL THEN $1 ELSE ARRAY[$1[1] + $2, \(count)] END $$;
      CREATE OR REPLACE AGGREGATE livefetch.livefetch_average(\(type))
        (SFUNC = livefetch.livefetch_add, STYPE = numeric[], INITCOND = '{0,0}',
         FINALFUNC = livefetch.livefetch_quotient);
      """
  }

  /// The sum of no values is 0, the average of no values NULL.
  private static let aggregates = [
    function("add", "total numeric, value bigint", result: "numeric", "total + coalesce(value, 0)"),
    function(
      "add", "total numeric, value integer", result: "numeric", "total + coalesce(value, 0)"),
    function(
      "add", "total numeric, value smallint", result: "numeric", "total + coalesce(value, 0)"),
    function(
      "add", "total numeric, value numeric", result: "numeric", "total + coalesce(value, 0)"),
    function(
      "add", "total numeric, value boolean", result: "numeric", "total + coalesce(value::int, 0)"),
    sum("sum", "boolean"), sum("sum", "smallint"), sum("sum", "integer"), sum("sum", "bigint"),
    sum("sum", "numeric"),
    sum("decimal_sum", "numeric"),
    function(
      "add", "total float8, value float8", result: "float8",
      "livefetch.livefetch_plus(total, coalesce(value, 0))"),
    """
    CREATE OR REPLACE AGGREGATE livefetch.livefetch_sum(double precision)
      (SFUNC = livefetch.livefetch_add, STYPE = double precision, INITCOND = '0');
    """,
    function(
      "quotient", "numeric[]", result: "float8",
      "livefetch.livefetch_double($1[1]) / nullif($1[2], 0)::float8"),
    function(
      "exact_quotient", "numeric[]", result: "float8",
      "livefetch.livefetch_double($1[1] / nullif($1[2], 0))"
    ),
    """
    CREATE OR REPLACE FUNCTION livefetch.livefetch_add(numeric[], boolean) RETURNS numeric[]
      LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
      SELECT CASE WHEN $2 IS NULL THEN $1 ELSE ARRAY[$1[1] + $2::int, $1[2] + 1] END $$;
    CREATE OR REPLACE AGGREGATE livefetch.livefetch_average(boolean)
      (SFUNC = livefetch.livefetch_add, STYPE = numeric[], INITCOND = '{0,0}',
       FINALFUNC = livefetch.livefetch_quotient);
    """,
    average("smallint"), average("integer"), average("bigint"), average("numeric"),
    """
    CREATE OR REPLACE AGGREGATE livefetch.livefetch_decimal_average(numeric)
      (SFUNC = livefetch.livefetch_add, STYPE = numeric[], INITCOND = '{0,0}',
       FINALFUNC = livefetch.livefetch_exact_quotient);
    CREATE OR REPLACE FUNCTION livefetch.livefetch_add(float8[], float8) RETURNS float8[]
      LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
      SELECT CASE WHEN $2 IS NULL THEN $1
          ELSE ARRAY[livefetch.livefetch_plus($1[1], $2), $1[2] + 1] END $$;
    """,
    function("quotient", "float8[]", result: "float8", "$1[1] / nullif($1[2], 0)"),
    """
    CREATE OR REPLACE AGGREGATE livefetch.livefetch_average(double precision)
      (SFUNC = livefetch.livefetch_add, STYPE = float8[], INITCOND = '{0,0}',
       FINALFUNC = livefetch.livefetch_quotient);
    """,
  ].joined()
}
