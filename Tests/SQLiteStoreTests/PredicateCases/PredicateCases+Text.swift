// Cases: operators that look into text. The rows are in `CaseFixture.sql`.

extension PredicateCases {
  static let text = #"""
    # BEGINSWITH
    s BEGINSWITH 'A' → 1
    s BEGINSWITH 'Apple' → 1
    s BEGINSWITH 'Apples' →
    s BEGINSWITH[c] 'a' → 1 5
    s BEGINSWITH[d] 'a' → 2 5
    s BEGINSWITH[cd] 'A' → 1 2 5
    s BEGINSWITH[n] 'A' → 1
    NOT s BEGINSWITH 'A' → 2 3 4 5 6
    NOT s BEGINSWITH[cd] 'A' → 3 4 6
    s BEGINSWITH '' →
    NOT s BEGINSWITH '' → all
    s BEGINSWITH[c] '' →
    s BEGINSWITH nil →
    NOT s BEGINSWITH nil → all
    s BEGINSWITH 'a*' → 5
    s BEGINSWITH 'a%' →
    s BEGINSWITH[c] 'STRASS' → 6
    s BEGINSWITH t →
    s BEGINSWITH[c] t → 1
    'Apple pie' BEGINSWITH s → 1
    # ENDSWITH
    s ENDSWITH 'ple' → 1 2
    s ENDSWITH 'PLE' →
    s ENDSWITH[c] 'PLE' → 1 2
    s ENDSWITH[d] 'é' → 1 2 6
    s ENDSWITH[cd] 'É' → 1 2 6
    NOT s ENDSWITH 'e' → 3 4 5
    s ENDSWITH '' →
    NOT s ENDSWITH '' → all
    s ENDSWITH nil →
    s ENDSWITH '\\d' → 5
    s ENDSWITH t →
    s ENDSWITH[c] t → 1
    # CONTAINS
    s CONTAINS 'pp' → 1 2
    NOT s CONTAINS 'pp' → 3 4 5 6
    s CONTAINS '' →
    NOT s CONTAINS '' → all
    s CONTAINS nil →
    NOT s CONTAINS nil → all
    s CONTAINS[c] 'SS' → 6
    s CONTAINS 'ss' →
    s CONTAINS[d] 'app' → 2
    s CONTAINS[cd] 'APP' → 1 2
    s CONTAINS '?' → 5
    s CONTAINS 'Apple' → 1
    s CONTAINS t → 2 6
    s CONTAINS[c] t → 1 2 6
    NOT s CONTAINS t → 1 3 4 5
    'xAppley' CONTAINS s → 1
    'abc' CONTAINS 'b' → all
    'abc' CONTAINS '' →
    s CONTAINS %@ ← ["pp"] → 1 2
    # LIKE
    s LIKE 'Apple' → 1
    s LIKE 'A*' → 1
    s LIKE '*e' → 1 2 6
    s LIKE '*pp*' → 1 2
    s LIKE '?pple' → 1 2
    s LIKE 'A?ple' → 1
    s LIKE 'A?le' →
    s LIKE '*p*p*' → 1 2
    s LIKE '*' → 1 2 3 5 6
    s LIKE '**' → 1 2 3 5 6
    NOT s LIKE '*' → 4
    s LIKE '?*' → 1 2 5 6
    s LIKE '' → 3
    s LIKE '?????' → 1 2
    s LIKE '??' →
    s LIKE 'a\\**' → 5
    s LIKE 'a\**' → 5
    s LIKE '*\\?c*' → 5
    s LIKE '*\\\\d' → 5
    s LIKE 'a*b?c?d' → 5
    s LIKE 'a%' →
    s LIKE 'A____' →
    s LIKE[c] 'APPLE' → 1
    s LIKE[c] 'a*' → 1 5
    s LIKE[cd] 'app*' → 1 2
    s LIKE[cd] '*É' → 1 2 6
    s LIKE[d] 'apple' → 2
    s LIKE[c] 'strasse' → 6
    s LIKE[n] 'A*' → 1
    NOT s LIKE[cd] 'app*' → 3 4 5 6
    s LIKE nil →
    NOT s LIKE nil → all
    NOT s LIKE '*e' → 3 4 5
    s LIKE t → 3
    s LIKE[c] t → 1 3
    s LIKE %@ ← ["*pp*"] → 1 2
    # MATCHES: the whole text
    s MATCHES 'A.*' → 1
    s MATCHES '.*pp.*' → 1 2
    s MATCHES 'pp' →
    s MATCHES '' → 3
    s MATCHES '.*' → 1 2 3 5 6
    NOT s MATCHES '.*' → 4
    s MATCHES '.+' → 1 2 5 6
    s MATCHES '[A-Z]\\w+' → 1 6
    s MATCHES '[A-Z]\w+' → 1 6
    s MATCHES 'a\\*b\\?c\\\\d' → 5
    s MATCHES[c] 'apple' → 1
    s MATCHES[d] 'apple' → 2
    s MATCHES[cd] 'APPLE' → 1 2
    s MATCHES 'Apple|.+ß.+' → 1 6
    s MATCHES '(a|á)p{2}le' → 2
    s MATCHES '(?:A|á)p{1,3}le' → 1 2
    s MATCHES '[^a-z]*' → 3
    s MATCHES '\\w{5}' → 1 2
    s MATCHES '^Apple$' → 1
    s MATCHES '(Ap+le)?' → 1 3
    s MATCHES 'App\u006Ce' → 1
    NOT s MATCHES 'A.*' → 2 3 4 5 6
    NOT s MATCHES[cd] 'a.*' → 3 4 6
    s MATCHES nil →
    t MATCHES '\\w' → 6
    s MATCHES %@ ← ["A.*e"] → 1
    """#
}
