// Cases: quantifiers, aggregates, SUBQUERY, IN with collections. The rows are in `CaseFixture.sql`.

extension PredicateCases {
  static let quantifiers = #"""
    # Quantifiers
    ANY word.label == 'Red' → 1 5
    SOME word.label == 'Red' → 1 5
    any word.label == 'Red' → 1 5
    ANY word.label ==[c] 'RED' → 1 2 5 6
    ANY word.label == nil → 4 5 6
    ANY word.label != nil → 1 2 5 6
    ANY word.label != 'Red' → 1 2 4 5 6
    NOT ANY word.label == 'Red' → 2 3 4 6
    NONE word.label == 'Red' → 2 3 4 6
    NOT NONE word.label == 'Red' → 1 5
    NONE word.label == nil → 1 2 3
    NONE word.label != nil → 3 4
    ALL word.label == 'Red' → 3
    ALL word.label ==[c] 'red' → 1 2 3
    ALL word.label != nil → 1 2 3
    ALL word.label == nil → 3 4
    ALL word.label != 'Red' → 2 3 4 6
    NOT ALL word.label != nil → 4 5 6
    NOT ALL word.label == 'Red' → 1 2 4 5 6
    ANY word.weight > 2 → 1 4 5 6
    ANY word.weight < 5 → 1 5
    ALL word.weight > 2 → 3 4 5
    ALL word.weight < 5 → 3
    NONE word.weight > 2 → 2 3
    NOT ALL word.weight > 2 → 1 2 6
    ANY word.weight <= nil → 1 2 6
    ALL word.weight == nil → 2 3
    ANY word.weight BETWEEN {3, 5} → 1 5
    ALL word.weight BETWEEN {0, 10} → 3 4 5
    NONE word.weight BETWEEN {3, 5} → 2 3 4 6
    ANY word.label IN {'Red', nil} → 1 4 5 6
    ALL word.label IN {'Red', 'red'} → 1 2 3
    NONE word.label IN {'Red', 'red'} → 3 4
    ANY word.label IN {} →
    ALL word.label IN {} → 3
    ANY word == 'w3' → 4 5 6
    ANY word IN {'w1'} → 1 5
    ALL word == 'w2' → 2 3
    NONE word == 'w2' → 3 4 5
    ANY word.label BEGINSWITH 'r' → 1 2 6
    ALL word.label BEGINSWITH[c] 'R' → 1 2 3
    NONE word.label BEGINSWITH '' → all
    ANY word.label ENDSWITH 'ed' → 1 2 5 6
    NONE word.label CONTAINS 'e' → 3 4
    ANY word.label LIKE '?ed' → 1 2 5 6
    ALL word.label LIKE '?ed' → 1 2 3
    ANY word.label MATCHES '[Rr]ed' → 1 2 5 6
    NONE word.label MATCHES 'r.*' → 3 4 5
    ANY word.label == 'Red' AND ANY word.label == 'red' → 1
    ANY word.label == 'Red' AND ALL word.weight > 2 → 5
    ANY word.label == 'Red' OR NONE word.weight > 2 → 1 2 3 5
    ANY word.label == s → 4
    ANY word.weight == n → 6
    # Over several relationships
    ANY home.item.n == 5 → 1 2
    ALL home.item.n >= 0 → 3 4 5 6
    NONE home.item.n > 6 → 1 2 4 5
    ANY word.item.n < 0 → 1 2 6
    ANY word.item.home.name == 'Japan' → 1 2 4 5 6
    country: ANY item.word.label == 'Red' → 1
    country: ALL item.n > 0 → 3
    country: NONE item.n > 6 → 1 3
    country: ANY item.home.name == 'Peru' → 1
    country: ANY item.n > 6 OR name == nil → 2 3
    country: NOT ANY item.n > 6 → 1 3
    country: ANY item.word.@count > 1 → 1 2
    country: ALL item.word.@count > 0 → 1 3
    country: NONE item.word.@count > 1 → 3
    word: ANY item.n == 5 → w1 w2
    word: NONE item.b == YES → w4
    word: ALL item.b == NO → w4
    word: ANY item.home == nil → w1 w3
    word: ANY item.home.name == nil → w1 w3
    word: ALL item.home.name == nil → w4
    # IN a collection
    'Red' IN word.label → 1 5
    NOT 'Red' IN word.label → 2 3 4 6
    'RED' IN[c] word.label → 1 2 5 6
    nil IN word.label → 4 5 6
    3 IN word.weight → 1 5
    'w1' IN word → 1 5
    SELF IN home.item → 1 2 3 6
    n IN word.weight → 6
    m IN word.weight →
    s IN word.label → 4
    """#

  static let aggregates = #"""
    # Aggregates
    word.@count == 0 → 3
    word.@count > 1 → 1 5 6
    word.@count == 1 → 2 4
    word.@count >= 0 → all
    word.@count < 1 → 3
    word.@count != 2 → 2 3 4
    NOT word.@count > 1 → 2 3 4
    word.@count BETWEEN {1, 2} → 1 2 4 5 6
    word.@count IN {0, 1} → 2 3 4
    word.@count + 1 == 3 → 1 5 6
    word.@count == m →
    word.@sum.weight == 0 → 2 3
    word.@sum.weight == 13 → 5
    word.@sum.weight == 10 → 4 6
    word.@sum.weight > 0 → 1 4 5 6
    word.@sum.weight == nil →
    word.@sum.weight > n → 2
    word.@avg.weight == 3 → 1
    word.@avg.weight == 6.5 → 5
    word.@avg.weight == nil → 2 3
    NOT word.@avg.weight > 5 → 1 2 3
    word.@min.weight == 3 → 1 5
    word.@min.weight == nil → 2 3
    word.@max.weight == 10 → 4 5 6
    word.@max.weight == nil → 2 3
    word.@max.weight != nil → 1 4 5 6
    NOT word.@max.weight > 5 → 1 2 3
    word.@max.label == 'red' → 1 2 6
    word.@min.label == 'Red' → 1 5
    word.@min.label == nil → 3 4
    word.@distinctUnionOfObjects.label.@count == 2 → 1
    word.@distinctUnionOfObjects.label.@count == 1 → 2 5 6
    word.@distinctUnionOfObjects.label.@count == 0 → 3 4
    count(word) == 2 → 1 5 6
    sum(word.weight) == 13 → 5
    max(word.weight) == 10 → 4 5 6
    min(word.weight) == 3 → 1 5
    average(word.weight) == 6.5 → 5
    word[SIZE] == 2 → 1 5 6
    home.item.@sum.n == -2 → 1 2
    home.item.@sum.n == 0 → 4 5
    home.item.@count == 2 → 1 2 3 6
    home.item.@max.d == '2024-03-01' → 3 6
    home.item.@avg.r == 1 → 1 2
    country: item.@sum.n > 5 → 2
    country: item.@count == 0 → 3
    country: item.@min.s == '' → 2
    country: item.@max.n == 5 → 1
    country: item.@avg.n == -1 → 1
    country: item.@max.d < '2024-03-01' → 1
    # CONTAINS of a collection
    word CONTAINS 'w1' → 1 5
    word CONTAINS %@ ← ["w2"] → 1 2 6
    word.label CONTAINS 'red' → 1 2 6
    word.label CONTAINS 're' →
    word.label CONTAINS[c] 'RED' → 1 2 5 6
    word.label CONTAINS nil → 4 5 6
    word.weight CONTAINS 3 → 1 5
    word.weight CONTAINS n - 2 → 1
    home.item CONTAINS SELF → 1 2 3 6
    home.item.s CONTAINS s → 1 2 3 6
    SUBQUERY(word, $w, $w.weight > 2).label CONTAINS 'Red' → 1 5
    country: item.word.label CONTAINS 'Red' → 1
    country: item CONTAINS 6 → 2
    # Lengths
    s.length == 5 → 1 2
    s.length > 5 → 5 6
    s.length == nil → 4
    home.name.length == 4 → 1 2
    ANY word.label.length == 3 → 1 2 5 6
    ALL word.label.length == 3 → 1 2 3
    3 IN word.label.length → 1 2 5 6
    word.label.length CONTAINS 3 → 1 2 5 6
    # Each object reached gives one value
    country: item.word.@count == 2 → 1 2
    country: item.word.@sum.weight == 10 → 2
    country: item.word.@sum.weight == 3 → 1
    country: item.word.@avg.weight == 3 → 1
    """#

  static let subqueries = #"""
    # SUBQUERY
    SUBQUERY(word, $x, $x.weight > 2).@count == 1 → 1 4 6
    SUBQUERY(word, $x, $x.weight > 2).@count == 0 → 2 3
    SUBQUERY(word, $x, $x.weight > 2).@count > 0 → 1 4 5 6
    NOT SUBQUERY(word, $x, $x.weight > 2).@count > 0 → 2 3
    SUBQUERY(word, $x, $x.label == nil).@count > 0 → 4 5 6
    SUBQUERY(word, $x, TRUEPREDICATE).@count == 2 → 1 5 6
    SUBQUERY(word, $x, FALSEPREDICATE).@count == 0 → all
    SUBQUERY(word, $x, $x.label ==[c] 'red' AND $x.weight == nil).@count == 1 → 1 2 6
    SUBQUERY(word, $x, NOT $x.label == 'Red').@count == 1 → 1 2 4 5
    SUBQUERY(word, $w, $w.weight > n).@count > 0 →
    SUBQUERY(word, $w, $w.weight >= n).@count > 0 → 6
    SUBQUERY(word, $w, $w == 'w2').@count == 1 → 1 2 6
    SUBQUERY(word, $w, $w IN {'w1', 'w3'}).@count == 2 → 5
    ANY SUBQUERY(word, $w, $w.weight != nil).label == nil → 4 5 6
    ALL SUBQUERY(word, $w, $w.weight != nil).label == 'Red' → 1 2 3
    SUBQUERY(word, $w, $w.weight != nil).@max.weight == 3 → 1
    SUBQUERY(word, $w, $w.label != nil).@sum.weight == 3 → 1 5
    SUBQUERY(home.item, $o, $o.n > n).@count > 0 → 2 3
    SUBQUERY(home.item, $o, $o == SELF).@count == 1 → 1 2 3 6
    SUBQUERY(home.item, $o, $o != SELF AND $o.b == b).@count == 1 → 3 6
    SUBQUERY(word, $w, $w.weight > $least).@count > 0 ← {"least": 5} → 4 5 6
    SUBQUERY(word, $w, $w.label == %@).@count > 0 ← ["red"] → 1 2 6
    # SUBQUERY over a to-one relationship after the to-many one: nil is no object, each counts once
    word: SUBQUERY(item.home, $c, $c.name == 'Peru').@count == 1 → w1 w2
    word: SUBQUERY(item.home, $c, TRUEPREDICATE).@count == 2 → w2
    word: SUBQUERY(item.home, $c, $c.founded == nil).@count > 0 → w2 w3
    word: SUBQUERY(item.home, $c, $c == 1).@count == 1 → w1 w2
    word: SUBQUERY(item.home, $c, ANY $c.item.s == 'Straße').@count == 1 → w2 w3
    word: ANY SUBQUERY(item.home, $c, $c.founded == nil).name == 'Japan' → w2 w3
    word: SUBQUERY(item.home, $c, $c.item.@count == 2 AND $c.id > 1)[SIZE] == 1 → w2 w3
    country: SUBQUERY(item, $i, $i.s == '' OR $i.n == 10).@count == 2 → 2
    country: SUBQUERY(item, $i, SUBQUERY($i.word, $w, $w.label == 'Red').@count > 0).@count == 1 → 1
    country: SUBQUERY(item, $i, ANY $i.word.label == 'red' AND $i.n < 0).@count > 0 → 1
    country: SUBQUERY(item, $i, ALL $i.word.label == 'Red').@count == 1 → 2
    country: SUBQUERY(item, $i, $i.word.@count == 2).@count == 1 → 1 2
    country: SUBQUERY(item, $i, SUBQUERY($i.word, $w, $w.weight > $i.n).@count > 0).@count > 0 →
    country: SUBQUERY(item, $i, SUBQUERY($i.word, $w, $w.weight >= $i.n).@count > 0).@count > 0 → 2
    """#
}
