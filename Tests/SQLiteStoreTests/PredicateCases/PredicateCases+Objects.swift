// Cases: dates, ids, key paths, arguments. The rows are in `CaseFixture.sql`.

extension PredicateCases {
  static let dates = #"""
    # Dates
    d == '2001-01-01T00:00:00Z' → 3
    d == '2001-01-01' → 3
    d != '2001-01-01' → 1 2 4 5 6
    d == CAST(0, 'NSDate') → 3
    d == CAST(0.0, 'NSDate') → 3
    d > CAST(0, "NSDate") → 1 5 6
    d < CAST(0, "NSDate") → 2
    d == CAST(-978307201, 'NSDate') → 2
    d == CAST('2001-01-01', 'NSDate') → 3
    d == '2024-02-29T13:00:00+01:00' → 1
    d == '2024-02-29T07:30:00-04:30' → 1
    d == '2024-02-29 12:00:00' → 1
    d == '2024-02-29T12:00:00.000Z' → 1
    d == '2024-02-29T12:00:00.001Z' →
    d > '2024-02-29T11:59:59.999Z' → 1 5 6
    d < '1970-01-01' → 2
    d >= '2024-03-01' → 5 6
    d < '2024-03-01' → 1 2 3
    NOT d < '2024-03-01' → 4 5 6
    '2024-03-01' <= d → 5 6
    d > '2024-12-31T23:59:59Z' → 5
    d == nil → 4
    d != nil → 1 2 3 5 6
    d < nil →
    d <= nil → 4
    d < now() → 1 2 3 5 6
    d > now() →
    NOT d > now() → all
    now() > '2020-01-01' → all
    d == home.founded → 4
    home.founded < d → 1 2
    home.founded == '1821-07-28' → 1 2
    country: founded == '1821-07-28' → 1
    country: founded < '1821-07-29' → 1
    country: founded == nil → 2 3
    CAST(d, 'NSNumber') == 0 → 3
    CAST(d, 'NSNumber') < -978307200 → 2
    CAST(d, 'NSNumber') > 0 → 1 5 6
    CAST(nil, 'NSDate') == d → 4
    d > %@ ← ["2024-02-29T12:00:00Z"] → 5 6
    d > $start ← {"start": "2024-03-01"} → 5
    """#

  static let paths = #"""
    # Ids
    SELF == 1 → 1
    self == 1 → 1
    SELF != 1 → 2 3 4 5 6
    1 == SELF → 1
    SELF IN {1, 3} → 1 3
    NOT SELF IN {1, 3} → 2 4 5 6
    SELF > 4 → 5 6
    SELF == nil →
    SELF != nil → all
    SELF == 99 →
    id == 2 → 2
    SELF.n == 5 → 1
    SELF.home == 1 → 1 2
    SELF == %@ ← [3] → 3
    word: SELF == 'w1' → w1
    word: SELF IN {'w1', 'w4'} → w1 w4
    word: id != 'w1' → w2 w3 w4
    # To-one relationships
    home == 1 → 1 2
    home != 1 → 3 4 5 6
    NOT home == 1 → 3 4 5 6
    home == nil → 4 5
    home != nil → 1 2 3 6
    home IN {1, nil} → 1 2 4 5
    home IN {2} → 3 6
    home == 99 →
    home.id == 2 → 3 6
    home.SELF == 2 → 3 6
    home.id > 1 → 3 6
    home.SELF > 1 → 3 6
    # Key paths over them
    home.name == 'Peru' → 1 2
    home.name != 'Peru' → 3 4 5 6
    home.name == nil → 4 5
    home.name != nil → 1 2 3 6
    home.name BEGINSWITH 'J' → 3 6
    NOT home.name BEGINSWITH 'J' → 1 2 4 5
    home.name CONTAINS[c] 'P' → 1 2 3 6
    home.name IN {'Peru', nil} → 1 2 4 5
    home.name < 'K' → 3 6
    home.name LIKE '????' → 1 2
    home.name MATCHES 'J.*' → 3 6
    home.name BETWEEN {'J', 'K'} → 3 6
    NOT (home.name == 'Peru' OR n == 10) → 3 4 5
    home.name == 'Peru' AND n < 0 → 2
    # Arguments and variables
    n == %@ ← [5] → 1
    n == %@ ← [null] → 4
    %@ IN s ← [null] →
    NOT %@ IN s ← [null] → all
    nil IN s →
    %@ IN word.label ← [null] → 4 5 6
    n == %ld ← [5] → 1
    r > %f ← [2.5] → 5 6
    s == %@ ← ["Apple"] → 1
    s == %s ← ["Apple"] → 1
    %K == %@ ← ["n", 5] → 1
    %K == %@ ← ["home.name", "Peru"] → 1 2
    home.%K == %@ ← ["name", "Peru"] → 1 2
    ANY %K == %@ ← ["word.label", "Red"] → 1 5
    %K > 1 ← ["word.@count"] → 1 5 6
    n > $least ← {"least": 5} → 5 6
    n > $least AND n < $most ← {"least": -10, "most": 1} → 2 3
    b == %@ ← [true] → 1 5
    s == '%@' →
    home == %@ ← [2] → 3 6
    # Reserved words, escaped
    #n == 5 → 1
    #home.#name == 'Peru' → 1 2
    """#
}
