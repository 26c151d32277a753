// Cases: arithmetic, functions, TERNARY, CAST. `PredicateCase` describes a line, `CaseFixture.sql` has the
// rows.

extension PredicateCases {
  static let expressions = #"""
    # Arithmetic
    n + 1 == 6 → 1
    n - 1 == -1 → 3
    n * 2 == 20 → 6
    n / 2 == 2 → 1
    n / 2 == -3 → 2
    n / 2 == 2.5 →
    n / 2.0 == 2.5 → 1
    n / 0 == nil → all
    r / 0 == nil → all
    1.5 / 0.0 == nil → all
    n / n == 1 → 1 2 5 6
    n / n == nil → 3 4
    n ** 2 == 25 → 1
    n ** 2 == 49 → 2
    2 ** 3 == 8 → all
    4 ** 0.5 == 2 → all
    -n == 7 → 2
    -n == 0 → 3
    -n < 0 → 1 5 6
    -(n + 1) == 6 → 2
    n + m == 10 → 1
    n + m == nil → 3 4
    n + m != nil → 1 2 5 6
    NOT n + m == 10 → 2 3 4 5 6
    n + nil == nil → all
    n + m > 0 → 1 5 6
    NOT n + m > 0 → 2 3 4
    n * r < 100 → 1 2 3 6
    1 + 2 * 3 == 7 → all
    (1 + 2) * 3 == 9 → all
    10 - 4 - 3 == 3 → all
    10 - (4 - 3) == 9 → all
    24 / 4 / 2 == 3 → all
    2 * 3 ** 2 == 18 → all
    7 / 2 == 3 → all
    7 / 2.0 == 3.5 → all
    -7 / 2 == -3 → all
    n - 5 > 0 → 5 6
    n + 0.5 > 5 → 1 5 6
    b + 1 == 2 → 1 5
    length(s) * 2 == 10 → 1 2
    home.item.@count - 1 == 1 → 1 2 3 6
    n + %@ == 6 ← [1] → 1
    n * $factor == 10 ← {"factor": 2} → 1
    # Functions of numbers
    abs(n) == 7 → 2
    abs(-3) == 3 → all
    abs(n) == nil → 4
    abs(r) == 0.5 → 2
    NOT abs(n) > 5 → 1 3 4
    sqrt(25) == n → 1
    sqrt(n) > 3 → 5 6
    sqrt(n) == nil → 2 4
    log(100) == 2 → all
    log(n) == 1 → 6
    ln(1) == 0 → all
    ln(exp(2)) == 2 → all
    exp(0) == 1 → all
    exp(nil) == nil → all
    floor(r) == 9 → 6
    floor(r) == -1 → 2
    ceiling(r) == 10 → 6
    ceiling(r) == 0 → 2 3
    trunc(r) == 0 → 2 3
    trunc(r) == 9 → 6
    modulus:by:(n, 3) == 2 → 1
    modulus:by:(n, 3) == -1 → 2
    modulus:by:(n, 0) == nil → all
    modulus:by:(r, 2) == 0.5 → 1
    add:to:(n, 1) == 6 → 1
    from:subtract:(n, 1) == 4 → 1
    multiply:by:(n, 2) == 10 → 1
    divide:by:(n, 2) == 2 → 1
    divide:by:(n, 0) == nil → all
    raise:toPower:(n, 2) == 25 → 1
    bitwiseAnd:with:(n, 4) == 4 → 1
    bitwiseOr:with:(n, 2) == 7 → 1
    bitwiseXor:with:(n, 1) == 4 → 1
    bitwiseAnd:with:(n, 1) == nil → 4
    leftshift:by:(n, 1) == 20 → 6
    rightshift:by:(n, 1) == 2 → 1
    onesComplement:(n) == -6 → 1
    onesComplement(n) == 6 → 2
    FUNCTION('abs', n) == 7 → 2
    FUNCTION(n, 'add:to:', 1) == 6 → 1
    FUNCTION('add:to:', n, 1) == 6 → 1
    # Functions of text
    uppercase(s) == 'APPLE' → 1
    uppercase(s) == 'STRASSE' → 6
    uppercase(s) BEGINSWITH 'A' → 1 5
    uppercase(nil) == nil → all
    uppercase(s) == nil → 4
    lowercase(s) == 'apple' → 1
    lowercase(t) == 'strasse' → 5
    lowercase:(t) == 'strasse' → 5
    canonical(s) == 'apple' → 1 2
    length(s) == 5 → 1 2
    length(s) == 0 → 3
    length(s) == nil → 4
    length(s) > 5 → 5 6
    NOT length(s) > 5 → 1 2 3 4
    length('😀') == 2 → all
    length('') == 0 → all
    # Functions of lists
    sum({n, m}) == 10 → 1
    sum({1, 2, 3}) == 6 → all
    sum(1, 2, 3) == 6 → all
    sum({}) == 0 → all
    min({n, m}) == 3 → 6
    max({n, m}) == 2 → 2
    max({1, 5, 3}) == 5 → all
    max({}) == nil → all
    average({n, 7}) == 6 → 1
    average({1, 2}) == 1.5 → all
    count({1, 2}) == 2 → all
    count({}) == 0 → all
    sum(%@) == 6 ← [[1, 2, 3]] → all
    # TERNARY
    TERNARY(n > 0, 'pos', 'neg') == 'pos' → 1 5 6
    TERNARY(n > 0, 'pos', 'neg') == 'neg' → 2 3 4
    TERNARY(n == nil, 0, n) >= 0 → 1 3 4 5 6
    TERNARY(s BEGINSWITH 'A', n, m) == 5 → 1
    TERNARY(n == nil, nil, n) == nil → 4
    TERNARY(b == YES, r, -r) > 0 → 1 2 5
    TERNARY(TRUEPREDICATE, n, m) == 10 → 6
    TERNARY(ANY word.label == 'Red', 1, 0) == 1 → 1 5
    TERNARY(n > 0, TERNARY(n > 5, 2, 1), 0) == 2 → 5 6
    NOT TERNARY(n > 0, n, m) > 4 → 2 3 4
    # CAST
    CAST(n, 'NSString') == '5' → 1
    CAST(n, 'NSString') BEGINSWITH '9' → 5
    CAST(n, 'NSString') == nil → 4
    CAST('5', 'NSNumber') == n → 1
    CAST('-7', 'NSNumber') == n → 2
    CAST('x', 'NSNumber') == nil → all
    CAST(n, 'NSNumber') == 5 → 1
    CAST(n, 'NSDecimalNumber') == 5 → 1
    CAST(s, 'NSString') == 'Apple' → 1
    CAST(t, 'NSNumber') == nil → all
    """#
}
