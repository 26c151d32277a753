// Cases: comparisons of each type, nil, modifiers, logic. The rows are in `CaseFixture.sql`.

enum PredicateCases {
  static let equality = #"""
    # Equality of integers
    n == 5 → 1
    n = 5 → 1
    5 == n → 1
    n != 5 → 2 3 4 5 6
    n <> 5 → 2 3 4 5 6
    NOT n == 5 → 2 3 4 5 6
    NOT n != 5 → 1
    ! n != 5 → 1
    n == nil → 4
    n == NULL → 4
    nil == n → 4
    n != nil → 1 2 3 5 6
    NOT n != nil → 4
    n == 5.0 → 1
    n == 5.5 →
    n != 5.5 → all
    n == 9007199254740993 → 5
    n == 9007199254740992 →
    n == -7 → 2
    n == -0 → 3
    n == 0 → 3
    n == NO → 3
    n == 0x5 → 1
    n == 0o12 → 6
    n == 0b101 → 1
    n == 1e1 → 6
    n == 99999999999999999999 →
    n != 99999999999999999999 → all
    nil == nil → all
    nil != nil →
    1 == 1 → all
    1 == 2 →
    0 == nil →
    '' == nil →
    # Equality of doubles
    r == 2.5 → 1
    r == 0 → 3
    r == -0.0 → 3
    r != 0 → 1 2 4 5 6
    r == .5 →
    r == -.5 → 2
    r == 1e308 → 5
    r == nil → 4
    r != nil → 1 2 3 5 6
    # Equality of booleans
    b == YES → 1 5
    b == true → 1 5
    b = 1 → 1 5
    b == NO → 2 3 6
    b == FALSE → 2 3 6
    b != NO → 1 4 5
    b != YES → 2 3 4 6
    NOT b == YES → 2 3 4 6
    b == nil → 4
    b != nil → 1 2 3 5 6
    b == 2 →
    # Equality of binary data
    x == 'AP8=' → 1
    x == 'YWJj' → 5
    x == '' → 2
    x == nil → 3 4 6
    x != 'YWJj' → 1 2 3 4 6
    x IN {'AP8=', nil} → 1 3 4 6
    # Equality of text
    s == 'Apple' → 1
    s == "Apple" → 1
    'Apple' == s → 1
    s == 'apple' →
    s != 'Apple' → 2 3 4 5 6
    s == '' → 3
    s != '' → 1 2 4 5 6
    s == nil → 4
    s <> nil → 1 2 3 5 6
    s == 'a*b?c\\d' → 5
    s == '\u0041pple' → 1
    s == 'a\u0301pple' →
    s ==[c] 'APPLE' → 1
    s ==[d] 'Apple' → 1
    s ==[d] 'apple' → 2
    s ==[cd] 'APPLE' → 1 2
    s ==[cd] 'ÁPPLE' → 1 2
    s ==[cd] 'A\u0301pple' → 1 2
    s ==[d] 'a\u0301pple' → 2
    s ==[c] 'ÁPPLE' → 2
    s ==[n] 'Apple' → 1
    s ==[n] 'apple' →
    s !=[cd] 'apple' → 3 4 5 6
    NOT s ==[cd] 'apple' → 3 4 5 6
    NOT s !=[c] 'apple' → 1
    s ==[c] 'STRASSE' → 6
    s ==[c] 'strasse' → 6
    t ==[c] 'straße' → 5
    t ==[c] 'SS' → 6
    t == 'ß' → 6
    t ==[d] 'SS' →
    s ==[c] nil → 4
    s ==[cd] '' → 3
    s !=[c] nil → 1 2 3 5 6
    """#

  static let order = #"""
    # Order of integers
    n < 0 → 2
    n < 5 → 2 3
    NOT n < 5 → 1 4 5 6
    n <= 5 → 1 2 3
    n =< 5 → 1 2 3
    NOT n <= 5 → 4 5 6
    n > 5 → 5 6
    NOT n > 5 → 1 2 3 4
    n >= 5 → 1 5 6
    n => 5 → 1 5 6
    NOT n >= 5 → 2 3 4
    5 < n → 5 6
    5 >= n → 1 2 3
    n < nil →
    n > nil →
    n <= nil → 4
    n >= nil → 4
    nil <= n → 4
    nil < n →
    nil <= nil → all
    nil >= nil → all
    nil < nil →
    nil > nil →
    NOT n < nil → all
    NOT n <= nil → 1 2 3 5 6
    n > 2.5 → 1 5 6
    n < 2.5 → 2 3
    n < 9007199254740993 → 1 2 3 6
    n > 9007199254740992 → 5
    n > 9007199254740992.0 → 5
    n <= 9223372036854775807 → 1 2 3 5 6
    n >= -9223372036854775808 → 1 2 3 5 6
    # Order of doubles
    r < 0 → 2
    r > 9.98 → 5 6
    r >= 9.99 → 5 6
    r <= -0.5 → 2
    r > 1e307 → 5
    r < 1e999 → 1 2 3 5 6
    r > -1e999 → 1 2 3 5 6
    NOT r > 0 → 2 3 4
    NOT r <= 0 → 1 4 5 6
    r < nil →
    r >= nil → 4
    # Order of text: by code point
    s < 'B' → 1 3
    s <= 'Apple' → 1 3
    s > 'a' → 2 5
    s >= 'Straße' → 2 5 6
    NOT s > 'a' → 1 3 4 6
    'B' > s → 1 3
    s > '' → 1 2 5 6
    s < '' →
    s <= '' → 3
    s < nil →
    s >= nil → 4
    s <[c] 'b' → 1 3 5
    s <[cd] 'b' → 1 2 3 5
    s >[cd] 'b' → 6
    s >=[c] 'APPLE' → 1 2 6
    NOT s <[c] 'b' → 2 4 6
    # BETWEEN
    n BETWEEN {0, 5} → 1 3
    NOT n BETWEEN {0, 5} → 2 4 5 6
    n BETWEEN {5, 5} → 1
    n BETWEEN {10, 0} →
    n BETWEEN {nil, 5} →
    n BETWEEN {0, nil} →
    n BETWEEN {nil, nil} → 4
    NOT n BETWEEN {nil, 5} → all
    n BETWEEN {-7.5, 0.5} → 2 3
    n BETWEEN {m, 10} → 1 6
    n BETWEEN {-7, m} → 1 2
    3 BETWEEN {n, m} →
    1 BETWEEN {n, m} → 2
    r BETWEEN {-0.5, 2.5} → 1 2 3
    r BETWEEN {0, 10} → 1 3 6
    s BETWEEN {'', 'B'} → 1 3
    s BETWEEN[cd] {'APPLE', 'B'} → 1 2
    d BETWEEN {'2024-02-29', '2024-03-01'} → 1 6
    n BETWEEN %@ ← [[0, 5]] → 1 3
    n BETWEEN $range ← {"range": [0, 5]} → 1 3
    n + 1 BETWEEN {1, 6} → 1 3
    # IN
    n IN {5, 10} → 1 6
    NOT n IN {5, 10} → 2 3 4 5
    n IN {5, nil} → 1 4
    NOT n IN {5, nil} → 2 3 5 6
    n IN {} →
    NOT n IN {} → all
    n IN {nil} → 4
    n IN {5, 5} → 1
    n IN {m, 10} → 1 4 6
    NOT n IN {m, 10} → 2 3 5
    n IN {5.0, 0} → 1 3
    n IN {5, 0.5} → 1
    r IN {2.5, 9.99} → 1 6
    b IN {NO} → 2 3 6
    b IN {YES, nil} → 1 4 5
    d IN {'2001-01-01'} → 3
    d IN {'2001-01-01', nil} → 3 4
    s IN {'Apple', 'Straße'} → 1 6
    s IN[cd] {'APPLE'} → 1 2
    s IN[c] {'APPLE', nil} → 1 4
    s IN {''} → 3
    s IN {'a\u0301pple', 'ápple'} → 2
    5 IN {n, m} → 1
    nil IN {n} → 4
    nil IN {} →
    n IN %@ ← [[5, null]] → 1 4
    n IN $list ← {"list": [5, 10]} → 1 6
    'Apple' IN s → 1
    s IN 'Apple pie' → 1
    s IN[cd] 'APPLE PIE' → 1 2
    t IN s → 2 6
    NOT t IN s → 1 3 4 5
    """#

  static let logic = #"""
    # Logic
    TRUEPREDICATE → all
    FALSEPREDICATE →
    NOT TRUEPREDICATE →
    n == 5 OR n == 10 → 1 6
    n == 5 || n == 10 → 1 6
    n > 0 AND r < 5 → 1
    n > 0 && r < 5 → 1
    n == 0 OR n == 5 AND b == YES → 1 3
    (n == 0 OR n == 5) AND b == YES → 1
    NOT n == 5 AND b == YES → 5
    NOT (n == 5 AND b == YES) → 2 3 4 5 6
    NOT (n == 5 OR n == 0) → 2 4 5 6
    NOT (n > 0 AND b == YES) → 2 3 4 6
    NOT NOT n == 5 → 1
    !(!(n == 5)) → 1
    n == 5 or n == 0 and TRUEPREDICATE → 1 3
    FALSEPREDICATE OR n == nil → 4
    TRUEPREDICATE AND NOT FALSEPREDICATE → all
    NOT (n == nil OR s == nil) → 1 2 3 5 6
    NOT (n == 5 AND NOT s == 'x') → 2 3 4 5 6
    n == 5 OR NOT n == 5 → all
    n > 0 OR n <= 0 → 1 2 3 5 6
    n > 0 OR NOT n > 0 → all
    n > 0 AND NOT n > 0 →
    (((n == 5))) → 1
    # Two key paths
    n == m → 1 4
    n != m → 2 3 5 6
    n > m → 5 6
    n >= m → 1 4 5 6
    n < m → 2
    n <= m → 1 2 4
    NOT n > m → 1 2 3 4
    NOT n == m → 2 3 5 6
    m > r → 1 2
    s == t → 3 4
    s ==[c] t → 1 3 4
    s !=[c] t → 2 5 6
    s < t → 1 6
    n == n → all
    n != n →
    n < n →
    """#
}
