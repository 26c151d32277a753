// The functions of numbers: rounding, mathematical functions, integers and powers.

extension PostgresFunctions {
  /// An integer is its own whole part.
  static let wholeParts = [("floor", "floor"), ("ceiling", "ceil"), ("trunc", "trunc")]
    .map { name, own in
      ["smallint", "integer", "bigint"].map { function(name, $0, result: $0, "$1") }.joined()
        + function(name, "numeric", result: "numeric", "nullif(\(own)($1), 'NaN')")
        + function(
          name, "double precision", result: "double precision", "nullif(\(own)($1), 'NaN')")
    }.joined()

  /// SQL for the logarithm of half the least positive double: powers below it are 0.
  static let lowestExponent = "-745.13"
  /// SQL for a number just below the logarithm of the greatest double. A calculated logarithm is not exact, and
  /// PostgreSQL refuses a result that is too large.
  static let highestExponent = "709.7827128933"

  /// A result that is not a number is NULL. NaN is greater than every number in PostgreSQL.
  static let numbers = [
    function(
      "sqrt", "float8", result: "float8", "CASE WHEN $1 >= 0 THEN nullif(sqrt($1), 'NaN') END"),
    function(
      "ln", "float8", result: "float8",
      "CASE WHEN $1 > 0 THEN nullif(ln($1), 'NaN') WHEN $1 = 0 THEN '-Infinity'::float8 END"),
    function(
      "log", "float8", result: "float8",
      "CASE WHEN $1 > 0 THEN nullif(log($1), 'NaN') WHEN $1 = 0 THEN '-Infinity'::float8 END"),
    function(
      "exp", "float8", result: "float8",
      """
      CASE WHEN $1 = 'NaN' THEN NULL WHEN $1 > 709.782712893384 THEN 'Infinity'::float8
        WHEN $1 < \(lowestExponent) THEN 0 ELSE exp($1) END
      """),
    function("abs", "smallint", result: "numeric", "abs($1::numeric)"),
    function("abs", "integer", result: "numeric", "abs($1::numeric)"),
    function("abs", "bigint", result: "numeric", "abs($1::numeric)"),
    function("abs", "numeric", result: "numeric", "nullif(abs($1), 'NaN')"),
    function("abs", "float8", result: "float8", "nullif(abs($1), 'NaN')"),
  ].joined()

  /// Operators over integers of 64 bits. A remainder of a division by zero is NULL.
  static let integers = [
    // The nearest integer of 64 bits towards 0.
    function(
      "whole", "numeric", result: "bigint",
      """
      CASE WHEN $1 = 'NaN' THEN NULL WHEN $1 >= 9223372036854775807 THEN 9223372036854775807
        WHEN $1 <= -9223372036854775808 THEN (-9223372036854775808)::bigint
        ELSE trunc($1)::bigint END
      """),
    function(
      "and", "numeric, numeric", result: "bigint",
      "livefetch.livefetch_whole($1) & livefetch.livefetch_whole($2)"),
    function(
      "or", "numeric, numeric", result: "bigint",
      "livefetch.livefetch_whole($1) | livefetch.livefetch_whole($2)"),
    function("bitwiseXor", "bigint, bigint", result: "bigint", "$1 # $2"),
    function("not", "numeric", result: "bigint", "~livefetch.livefetch_whole($1)"),
    function(
      "left", "numeric, numeric", result: "bigint",
      """
      CASE WHEN $1 IS NULL OR $2 IS NULL THEN NULL
        WHEN trunc($2) BETWEEN 0 AND 63 THEN livefetch.livefetch_whole($1) << trunc($2)::int
        WHEN trunc($2) BETWEEN -63 AND -1 THEN livefetch.livefetch_whole($1) >> trunc(-$2)::int
        WHEN $2 > 0 OR livefetch.livefetch_whole($1) >= 0 THEN 0 ELSE -1 END
      """),
    function("right", "numeric, numeric", result: "bigint", "livefetch.livefetch_left($1, -$2)"),
    function(
      "remainder", "numeric, numeric", result: "numeric",
      "(livefetch.livefetch_whole($1) % nullif(livefetch.livefetch_whole($2), 0))::numeric"),
  ].joined()

  /// Powers and remainders as C computes them. A power of integers is an integer while 64 bits hold it.
  static let powers = """
    CREATE OR REPLACE FUNCTION livefetch.livefetch_power(x float8, y float8) RETURNS float8
      LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
      DECLARE size float8; is_odd boolean := FALSE; BEGIN
      IF x = 1 OR y = 0 THEN RETURN 1; END IF;
      IF x = 'NaN' OR y = 'NaN' THEN RETURN NULL; END IF;
      -- From 2^53 each double is an even number.
      IF abs(y) < 9007199254740992 AND y = trunc(y) THEN is_odd := abs(y)::bigint % 2 = 1; END IF;
      IF x = 0 THEN
        IF y > 0 THEN RETURN CASE WHEN is_odd THEN x ELSE 0 END; END IF;
        RETURN CASE WHEN is_odd AND x::text = '-0' THEN '-Infinity' ELSE 'Infinity' END;
      END IF;
      IF abs(x) = 'Infinity' OR abs(y) = 'Infinity' THEN
        RETURN power(CASE WHEN y = trunc(y) THEN x ELSE abs(x) END, y);
      END IF;
      IF x < 0 AND y <> trunc(y) THEN RETURN NULL; END IF;
      size := livefetch.livefetch_times(y, ln(abs(x)));
      IF size > \(highestExponent) THEN
        RETURN CASE WHEN x < 0 AND is_odd THEN '-Infinity' ELSE 'Infinity' END;
      END IF;
      IF size < \(lowestExponent) THEN RETURN 0; END IF;
      RETURN power(x, y);
    END $$;
    CREATE OR REPLACE FUNCTION livefetch.livefetch_power(x numeric, y numeric) RETURNS numeric
      LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
      DECLARE result numeric := 1; square numeric := x; rest numeric := y; BEGIN
      IF y >= 0 AND x IN (-1, 0, 1) AND y = trunc(y) THEN
        RETURN CASE WHEN y = 0 THEN 1 WHEN y % 2 = 0 THEN abs(x) ELSE x END;
      END IF;
      IF y BETWEEN 0 AND 64 AND y = trunc(y) THEN
        WHILE rest > 0 LOOP
          IF rest % 2 = 1 THEN result := result * square; END IF;
          rest := div(rest, 2);
          IF rest > 0 THEN square := square * square; END IF;
        END LOOP;
        IF result BETWEEN -9223372036854775808 AND 9223372036854775807 THEN RETURN result; END IF;
      END IF;
      RETURN livefetch.livefetch_power(
        livefetch.livefetch_double(x), livefetch.livefetch_double(y))::text::numeric;
    END $$;
    CREATE OR REPLACE FUNCTION livefetch.livefetch_modulus(x float8, y float8) RETURNS float8
      LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
      DECLARE rest float8 := abs(x); part float8; BEGIN
      IF y = 0 OR abs(x) = 'Infinity' OR x = 'NaN' OR y = 'NaN' THEN RETURN NULL; END IF;
      IF abs(y) = 'Infinity' THEN RETURN x; END IF;
      -- Doubling and halving are exact, and so is each difference.
      part := abs(y);
      WHILE part <= rest / 2 LOOP part := part * 2; END LOOP;
      WHILE part >= abs(y) LOOP
        IF rest >= part THEN rest := rest - part; END IF;
        EXIT WHEN part = abs(y);
        part := part / 2;
      END LOOP;
      RETURN CASE WHEN x < 0 THEN -rest ELSE rest END;
    END $$;

    """
}
