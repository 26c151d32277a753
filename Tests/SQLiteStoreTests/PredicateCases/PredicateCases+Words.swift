// Cases: string options on every operator, ICU's patterns, full case folding, string functions. The rows are in `CaseFixture.sql`.

extension PredicateCases {
  static let words = #"""
    # Options
    s ENDSWITH[n] 'ple' → 1 2
    s CONTAINS[n] 'pp' → 1 2
    s MATCHES[n] 'A.*' → 1
    s BEGINSWITH[n] '' →
    s <[d] 'b' → 1 2 3 5 6
    s <=[c] 'apple' → 1 3 5
    s >[n] 'a' → 2 5
    s >=[d] 'apple' → 2
    s !=[d] 'apple' → 1 3 4 5 6
    s !=[n] 'Apple' → 2 3 4 5 6
    s <[cd] nil →
    s <=[cd] nil → 4
    s IN[d] {'apple', nil} → 2 4
    s IN[n] {'Apple'} → 1
    NOT s IN[cd] {'APPLE', nil} → 3 5 6
    s BETWEEN[c] {'APPLE', 'B'} → 1
    s BETWEEN[d] {'apple', 'b'} → 2
    s BETWEEN[n] {'A', 'B'} → 1
    s BETWEEN[c] {nil, nil} → 4
    s BEGINSWITH[cd] nil →
    s LIKE[cd] nil →
    s MATCHES[cd] nil →
    home.name ==[c] 'PERU' → 1 2
    home.name !=[c] 'PERU' → 3 4 5 6
    home.name IN[c] {'PERU', nil} → 1 2 4 5
    home.name <[c] 'K' → 3 6
    home.name LIKE[c] 'p*' → 1 2
    ANY word.label ==[n] 'Red' → 1 5
    ANY word.label !=[c] 'RED' → 4 5 6
    ALL word.label !=[c] 'x' → all
    NONE word.label IN[c] {'RED'} → 3 4
    ANY word.label <[c] 'S' → 1 2 5 6
    ALL word.label LIKE[c] 'RED' → 1 2 3
    NONE word.label BEGINSWITH[c] 'R' → 3 4
    NONE word.label MATCHES[c] 'R..' → 3 4
    ANY word.label BETWEEN[c] {'RA', 'RZ'} → 1 2 5 6
    SUBQUERY(word, $w, $w.label CONTAINS[c] 'E').@count == 2 → 1
    word.@max.label ==[c] 'RED' → 1 2 5 6
    'RED' IN[d] word.label →
    # Keys that are texts
    word: id ==[c] 'W1' → w1
    word: id !=[c] 'W1' → w2 w3 w4
    word: 'W1' ==[c] id → w1
    word: SELF ==[c] 'W2' → w2
    word: id IN[c] {'W1', 'W3', 'x'} → w1 w3
    word: id <[c] 'W2' → w1
    word: id BETWEEN[c] {'W2', 'W3'} → w2 w3
    word: id ==[d] 'ẃ1' → w1
    word: id ==[n] 'W1' →
    word: id ==[c] %@ ← ["W4"] → w4
    word: label ==[c] id →
    word: id ==[c] label →
    ANY word ==[c] 'W1' → 1 5
    ANY word.id ==[c] 'W3' → 4 5 6
    'W2' IN[c] word.id → 1 2 6
    NONE word.id IN[c] {'W1', 'W2'} → 3 4
    word.@min.id ==[c] 'W1' → 1 5
    SUBQUERY(word, $w, $w ==[c] 'W3').@count == 1 → 4 5 6
    # One character that folds to two
    t LIKE[c] '?' → 6
    t LIKE '?' → 6
    t LIKE[c] '??' → 2
    t LIKE[c] 'SS' → 6
    t LIKE[c] 's?' →
    s LIKE[c] 'STRA?E' → 6
    s LIKE[c] 'STRASS?' → 6
    t LIKE[c] 'straß?' → 5
    t MATCHES[c] 'SS' → 6
    t MATCHES[c] 's+' →
    t MATCHES[c] '[ß]' → 6
    t MATCHES 'ss' →
    s MATCHES[c] 'STRASSE' → 6
    t MATCHES[c] 'straße' → 5
    t MATCHES[c] 'stra(ß|x)e' → 5
    s MATCHES[c] '.{4}SSE' → 6
    s MATCHES[c] '.{4}SS.' → 6
    # ICU's patterns
    s MATCHES '\\p{Lu}\\p{Ll}+' → 1 6
    s MATCHES '[\\p{L}&&[^A-Z]]+' → 2
    s MATCHES '[\\p{L}--[\\p{Lu}é]]+' → 2
    s MATCHES '\\p{IsLatin}+' → 1 2 6
    s MATCHES '\\p{Script=Greek}+' →
    s MATCHES '\\P{Alphabetic}*' → 3
    s MATCHES '[[:alpha:]]{5}' → 1 2
    s MATCHES '\\X{5}' → 1 2
    s MATCHES '(?i)APPLE' → 1
    s MATCHES '(?i:a)(?-i)pple' → 1
    s MATCHES '(?x) A p+ l e  # fruit' → 1
    s MATCHES '\\bApple\\b' → 1
    s MATCHES '\\N{LATIN CAPITAL LETTER A}pple' → 1
    s MATCHES '\\x41\\u0070\\x{70}le' → 1
    s MATCHES '\\Qa*b?c\\E\\\\d' → 5
    s MATCHES 'A[^e]*+e' → 1
    s MATCHES 'A.*+e' →
    s MATCHES '(?>Ap+)le' → 1
    s MATCHES '(?<first>A).{4}' → 1
    # Functions
    uppercase(t) == 'SS' → 6
    uppercase(s) ENDSWITH 'SSE' → 6
    lowercase(t) == 'straße' →
    lowercase(home.name) == 'peru' → 1 2
    lowercase('ΟΔΟΣ ΟΔΟΣ') == 'οδος οδος' → all
    uppercase(lowercase(s)) == 'APPLE' → 1
    canonical(t) == 'ss' → 6
    canonical(s) BEGINSWITH 'app' → 1 2
    length(t) == 1 → 6
    length(uppercase(t)) == 2 → 2 6
    length(s) == length(t) → 1 3 4 5
    lowercase(s) == canonical(s) → 1 3 4 5
    # Marks
    'が' ==[d] 'か' →
    'か\u3099' ==[d] 'が' → all
    'x\u3099' ==[d] 'x' → all
    'か\u0301' ==[d] 'か' → all
    s CONTAINS[d] 'a\u0301' → 2 5 6
    """#
}
