// The functions of composed statements, in the schema `livefetch`. They have the names that the SQLite
// store gives to its functions, and the same results. `PostgresFolding` has those of folding.

/// The functions that composed statements call.
enum PostgresFunctions {
  /// Creates the functions, or replaces them, in one transaction. Needs the right to create a schema.
  static func install(_ connection: PostgresConnection) throws(PostgresError) {
    let script = [quantities, texts, searches, dates, aggregates, wholeParts, numbers, integers]
    try connection.withTransaction { () throws(PostgresError) in
      try connection.execute(
        """
        SELECT pg_advisory_xact_lock(\(PostgresHistory.lockNumber));
        CREATE SCHEMA IF NOT EXISTS livefetch;
        """)
      try PostgresFolding.install(connection)
      try connection.execute(script.joined(separator: "\n"))
    }
  }

  /// - Parameters:
  ///   - parameters: the types, separated by commas.
  ///   - body: an expression.
  private static func function(
    _ name: String, _ parameters: String, _ result: String, _ body: String
  ) -> String {
    """
    CREATE OR REPLACE FUNCTION livefetch.livefetch_\(name)(\(parameters)) RETURNS \(result)
      LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT \(body) $$;
    """
  }

  /// A value as a number; NULL if its type has no number.
  private static let quantities = [
    function("quantity", "bigint", "numeric", "$1::numeric"),
    function("quantity", "integer", "numeric", "$1::numeric"),
    function("quantity", "smallint", "numeric", "$1::numeric"),
    function("quantity", "numeric", "numeric", "$1"),
    function("quantity", "double precision", "double precision", "$1"),
    function("quantity", "real", "double precision", "$1::float8"),
    function("quantity", "boolean", "numeric", "$1::int::numeric"),
    function("quantity", "text", "numeric", "NULL::numeric"),
  ].joined()

  private static let texts = [
    // In UTF-16 units, as NSString counts.
    function(
      "length", "text", "bigint",
      #"""
      (2 * char_length($1)
        - char_length(regexp_replace($1, '[\U00010000-\U0010FFFF]', '', 'g')))::bigint
      """#),
    function("uuid_text", "uuid", "text", "$1::text"),
    function("uuid_text", "text", "text", "$1"),
    // The comparison key of a constant that is compared with UUIDs.
    function("value", "text, integer", "text", "lower($1)"),
  ].joined()

  private static let searches = [
    function(
      "begins", "value text, part text, options integer", "boolean",
      """
      coalesce(part <> '' AND starts_with(livefetch.livefetch_searched(value, options),
        livefetch.livefetch_fold(part, options)), FALSE)
      """),
    function(
      "ends", "value text, part text, options integer", "boolean",
      """
      coalesce(part <> '' AND right(livefetch.livefetch_searched(value, options),
        char_length(livefetch.livefetch_fold(part, options)))
        COLLATE "C" = livefetch.livefetch_fold(part, options) COLLATE "C", FALSE)
      """),
    function(
      "contains", "value text, part text, options integer", "boolean",
      """
      coalesce(part <> '' AND strpos(livefetch.livefetch_searched(value, options) COLLATE "C",
        livefetch.livefetch_fold(part, options) COLLATE "C") > 0, FALSE)
      """),
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
    CREATE OR REPLACE FUNCTION livefetch.livefetch_like(
      value text, pattern text, options integer) RETURNS boolean
      LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$ BEGIN
      -- A letter with a mark is one character there and two here.
      IF strpos(pattern, '?') > 0 AND octet_length(value) <> char_length(value) THEN
        RAISE EXCEPTION '`?` in LIKE over text beyond ASCII'
          USING ERRCODE = 'feature_not_supported';
      END IF;
      RETURN coalesce(livefetch.livefetch_searched(value, options) COLLATE "C"
        LIKE livefetch.livefetch_pattern(livefetch.livefetch_fold(pattern, options)), FALSE);
    END $$;
    """#,
  ].joined()

  private static let dates = [
    // The day, month or year of a date in UTC. The last argument serves SQLite.
    function(
      "date_part", "timestamptz, integer, integer", "text",
      "left(to_char($1 AT TIME ZONE 'UTC', 'YYYY-MM-DD'), $2)"),
    function("seconds", "timestamptz", "double precision", "extract(epoch FROM $1)::float8"),
    function("seconds", "double precision", "double precision", "$1"),
    function(
      "reference", "timestamptz", "double precision",
      "(extract(epoch FROM $1) - 978307200)::float8"),
    function("reference", "double precision", "double precision", "$1 - 978307200"),
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
    function("add", "total numeric, value bigint", "numeric", "total + coalesce(value, 0)"),
    function("add", "total numeric, value integer", "numeric", "total + coalesce(value, 0)"),
    function("add", "total numeric, value smallint", "numeric", "total + coalesce(value, 0)"),
    function("add", "total numeric, value numeric", "numeric", "total + coalesce(value, 0)"),
    sum("sum", "smallint"), sum("sum", "integer"), sum("sum", "bigint"), sum("sum", "numeric"),
    sum("decimal_sum", "numeric"),
    function(
      "add", "total float8, value float8", "float8", "total + coalesce(value, 0)"),
    """
    CREATE OR REPLACE AGGREGATE livefetch.livefetch_sum(double precision)
      (SFUNC = livefetch.livefetch_add, STYPE = double precision, INITCOND = '0');
    """,
    function(
      "quotient", "numeric[]", "float8", "$1[1]::float8 / nullif($1[2], 0)::float8"),
    function("exact_quotient", "numeric[]", "float8", "($1[1] / nullif($1[2], 0))::float8"),
    average("smallint"), average("integer"), average("bigint"), average("numeric"),
    """
    CREATE OR REPLACE AGGREGATE livefetch.livefetch_decimal_average(numeric)
      (SFUNC = livefetch.livefetch_add, STYPE = numeric[], INITCOND = '{0,0}',
       FINALFUNC = livefetch.livefetch_exact_quotient);
    CREATE OR REPLACE FUNCTION livefetch.livefetch_add(float8[], float8) RETURNS float8[]
      LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
      SELECT CASE WHEN $2 IS NULL THEN $1 ELSE ARRAY[$1[1] + $2, $1[2] + 1] END $$;
    """,
    function("quotient", "float8[]", "float8", "$1[1] / nullif($1[2], 0)"),
    """
    CREATE OR REPLACE AGGREGATE livefetch.livefetch_average(double precision)
      (SFUNC = livefetch.livefetch_add, STYPE = float8[], INITCOND = '{0,0}',
       FINALFUNC = livefetch.livefetch_quotient);
    """,
  ].joined()

  /// An integer is its own whole part.
  private static let wholeParts = [("floor", "floor"), ("ceiling", "ceil"), ("trunc", "trunc")]
    .map { name, own in
      ["smallint", "integer", "bigint"].map { function(name, $0, $0, "$1") }.joined()
        + function(name, "numeric", "numeric", "\(own)($1)")
        + function(name, "double precision", "double precision", "\(own)($1)")
    }.joined()

  /// A result that is not a number is NULL.
  private static let numbers = [
    function("sqrt", "float8", "float8", "CASE WHEN $1 >= 0 THEN sqrt($1) END"),
    function(
      "ln", "float8", "float8",
      "CASE WHEN $1 > 0 THEN ln($1) WHEN $1 = 0 THEN '-Infinity'::float8 END"),
    function(
      "log", "float8", "float8",
      "CASE WHEN $1 > 0 THEN log($1) WHEN $1 = 0 THEN '-Infinity'::float8 END"),
    function(
      "exp", "float8", "float8",
      """
      CASE WHEN $1 > 709.782712893384 THEN 'Infinity'::float8 WHEN $1 < -745 THEN 0 ELSE exp($1) END
      """),
    function("abs", "smallint", "numeric", "abs($1::numeric)"),
    function("abs", "integer", "numeric", "abs($1::numeric)"),
    function("abs", "bigint", "numeric", "abs($1::numeric)"),
    function("abs", "numeric", "numeric", "abs($1)"),
    function("abs", "float8", "float8", "abs($1)"),
  ].joined()

  /// Operators over integers of 64 bits. A remainder of a division by zero is NULL.
  private static let integers = [
    function("and", "numeric, numeric", "bigint", "$1::bigint & $2::bigint"),
    function("or", "numeric, numeric", "bigint", "$1::bigint | $2::bigint"),
    function("bitwiseXor", "bigint, bigint", "bigint", "$1 # $2"),
    function("not", "numeric", "bigint", "~($1::bigint)"),
    function(
      "left", "numeric, numeric", "bigint",
      """
      CASE WHEN $2 BETWEEN 0 AND 63 THEN $1::bigint << $2::int
        WHEN $2 BETWEEN -63 AND -1 THEN $1::bigint >> (-$2)::int
        WHEN $2 > 63 THEN 0 WHEN $1 < 0 THEN -1 WHEN $2 IS NOT NULL AND $1 IS NOT NULL THEN 0 END
      """),
    function("right", "numeric, numeric", "bigint", "livefetch.livefetch_left($1, -$2)"),
    function("remainder", "numeric, numeric", "numeric", "$1 % nullif($2, 0)"),
  ].joined()
}
