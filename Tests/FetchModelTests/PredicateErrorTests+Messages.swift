// Refused predicates, each with its message.

extension PredicateErrorTests {
  static let table: [(String, String)] = [
    (
      "CAST(1e300, 'NSDate') == founded",
      "at 5: found a number beyond every date, expected seconds since 2001-01-01"
    ),
    (
      "ANY country.cities.population + 1 > 3",
      "at 4: found a calculation, expected a to-many key path after the quantifier; SUBQUERY(path, $x, $x.name + 1 > 2).@count > 0 calculates with each"
    ),
    (
      "FUNCTION('lenght', name) > 1",
      "at 9: found `lenght`, expected a function; did you mean `length`?"
    ),
    (
      "FUNCTION(name, 'lenght') > 1",
      "at 15: found `lenght`, expected a function; did you mean `length`?"
    ),
    (
      "TRUEPREDICAT",
      "at 0: found `TRUEPREDICAT`, expected a comparison; did you mean `TRUEPREDICATE`?"
    ),
    (
      "NOT (FALSEPREDICTE)",
      "at 5: found `FALSEPREDICTE`, expected a comparison; did you mean `FALSEPREDICATE`?"
    ),
    ("details == 5", "at 11: found a number, expected text; `details` is JSON"),
    (
      "population > details",
      "at 13: found `details`, JSON, expected a number; `population` is a number"
    ),
    (
      "details[0].done == 1",
      "at 0: found `details`, JSON, expected a to-many key path before the brackets; JSON is compared as a whole"
    ),
    ("x == 5", "at 0: found `x`, expected a property of City"),
    (
      "population IN 5",
      "at 14: found a number, expected values in braces, an array, or a to-many key path"
    ),
    ("name", "at 4: found the end, expected a comparison operator"),
    ("name ==", "at 7: found the end, expected a key path, a value or a comparison"),
    ("name = = 'x'", "at 7: found `=`, expected a key path, a value or a comparison"),
    ("== 5", "at 0: found `==`, expected a key path, a value or a comparison"),
    ("name 'Lima'", "at 5: found `'Lima'`, expected a comparison operator"),
    ("name == 'x' name == 'y'", "at 12: found `name`, expected AND, OR or the end"),
    ("name == 'Lima", "at 8: found a string that does not end, expected `'` at its end"),
    ("name == \"Lima'", "at 8: found a string that does not end, expected `\"` at its end"),
    ("(name == 'x'", "at 12: found the end, expected AND, OR or `)`"),
    ("name == 'x')", "at 11: found `)`, expected AND, OR or the end"),
    ("((name == 'x') AND", "at 18: found the end, expected a key path, a value or a comparison"),
    ("name == 'x' AND", "at 15: found the end, expected a key path, a value or a comparison"),
    (
      "name == 'x' OR OR name == 'y'",
      "at 15: found `OR`, expected a key path, a value or a comparison"
    ),
    ("AND name == 'x'", "at 0: found `AND`, expected a key path, a value or a comparison"),
    ("NOT", "at 3: found the end, expected a key path, a value or a comparison"),
    (
      "name NOT IN {'a'}",
      "at 5: found `NOT`, expected a comparison operator; NOT precedes the whole comparison: `NOT name IN {…}`"
    ),
    ("name IS NULL", "at 5: found `IS`, expected a comparison operator; did you mean `==`?"),
    ("name is nil", "at 5: found `is`, expected a comparison operator; did you mean `==`?"),
    ("name eq 'x'", "at 5: found `eq`, expected a comparison operator; did you mean `==`?"),
    (
      "name BEGINWITH 'x'",
      "at 5: found `BEGINWITH`, expected a comparison operator; did you mean `BEGINSWITH`?"
    ),
    (
      "name CONTIANS 'x'",
      "at 5: found `CONTIANS`, expected a comparison operator; did you mean `CONTAINS`?"
    ),
    (
      "name startswith 'x'",
      "at 5: found `startswith`, expected a comparison operator; did you mean `BEGINSWITH`?"
    ),
    (
      "name == 'x' nad population > 5",
      "at 12: found `nad`, expected AND, OR or the end; did you mean `AND`?"
    ),
    (
      "name == 'x' && population > 5 & capital == YES",
      "at 30: found `&`, expected a name, a value or an operator; did you mean `&&`?"
    ),
    (
      "name == 'x' | name == 'y'",
      "at 12: found `|`, expected a name, a value or an operator; did you mean `||`?"
    ),
    (
      "population > 5 > 3",
      "at 15: found `>`, expected AND, OR or the end; a comparison cannot be compared"
    ),
    ("population >> 5", "at 12: found `>`, expected a key path, a value or a comparison"),
    ("population => => 5", "at 14: found `=>`, expected a key path, a value or a comparison"),
    ("population == 12x", "at 14: found `12x`, expected a number"),
    ("population == 0x", "at 14: found `0x`, expected digits of base 16, of 63 bits at most"),
    ("population == 0b102", "at 14: found `0b102`, expected digits of base 2, of 63 bits at most"),
    ("population == 1.2.3", "at 17: found `.3`, expected AND, OR or the end"),
    (
      "population == 5,000",
      "at 15: found `,`, expected AND, OR or the end; a list is written in braces: `{1, 2}`"
    ),
    ("name ==[x] 'a'", "at 8: found `x`, expected `c`, `d`, `cd` or `n`"),
    ("name ==[] 'a'", "at 8: found `]`, expected `c`, `d`, `cd` or `n`"),
    ("name ==[cd 'a'", "at 11: found `'a'`, expected `]`"),
    (
      "name [c]== 'a'",
      "at 0: found a single value, expected a to-many key path before the brackets; an option like `[c]` follows its operator"
    ),
    ("name == '\\u12'", "at 9: found `\\u`, expected four hexadecimal digits after `\\u`"),
    ("name == '\\ud83d'", "at 9: found `\\ud83d`, expected a character"),
    ("name IN {'a', 'b'", "at 17: found the end, expected `,` or `}`"),
    ("name IN {'a' 'b'}", "at 13: found `'b'`, expected `,` or `}`"),
    (
      "name IN ('a', 'b')",
      "at 12: found `,`, expected a comparison operator or `)`; a list is written in braces: `{1, 2}`"
    ),
    (
      "name IN 'a', 'b'",
      "at 11: found `,`, expected AND, OR or the end; a list is written in braces: `{1, 2}`"
    ),
    (
      "population BETWEEN 1 AND 5",
      "at 19: found `1`, expected two values in braces: {lower, upper}"
    ),
    (
      "population BETWEEN {1}",
      "at 19: found no pair of values, expected two values in braces: {lower, upper}"
    ),
    (
      "population BETWEEN {1, 2, 3}",
      "at 19: found no pair of values, expected two values in braces: {lower, upper}"
    ),
    (
      "population BETWEEN (1, 5)",
      "at 21: found `,`, expected a comparison operator or `)`; a list is written in braces: `{1, 2}`"
    ),
    (
      "in == 5",
      "at 0: found `in`, expected a key path, a value or a comparison; a property of that name is written `#in`"
    ),
    ("country. == 5", "at 9: found `==`, expected a property's name"),
    ("country..name == 'x'", "at 8: found `.`, expected a property's name"),
    (".name == 'x'", "at 0: found `.`, expected a key path, a value or a comparison"),
    ("name.x == 'y'", "at 5: found `x`, expected nothing after `name`, which is an attribute"),
    ("nmae == 'x'", "at 0: found `nmae`, expected a property of City; did you mean `name`?"),
    ("Name == 'x'", "at 0: found `Name`, expected a property of City; did you mean `name`?"),
    (
      "country.nmae == 'x'",
      "at 8: found `nmae`, expected a property of Country; did you mean `name`?"
    ),
    (
      "countr.name == 'x'",
      "at 0: found `countr`, expected a property of City; did you mean `country`?"
    ),
    ("zzz == 5", "at 0: found `zzz`, expected a property of City"),
    ("ünknown == 5", "at 0: found `ünknown`, expected a property of City"),
    ("“name” == 'x'", "at 0: found `“name”`, expected a property of City; did you mean `name`?"),
    (
      "name == ‘Lima’",
      "at 8: found `‘Lima’`, expected a property of City; text is written in straight quotes: 'x' or \"x\""
    ),
    (
      "country.cities.name == 'x'",
      "at 0: found `country.cities.name`, expected one value; put ANY, ALL or NONE before it, or an aggregate like `@count` after it"
    ),
    (
      "country.cities == 5",
      "at 0: found `country.cities`, expected one value; put ANY, ALL or NONE before it, or an aggregate like `@count` after it"
    ),
    (
      "country.cities.@cuont > 5",
      "at 15: found `@cuont`, expected a collection operator; did you mean `@count`?"
    ),
    (
      "name.@count > 5",
      "at 0: found a key path to one value, expected a to-many key path before `@count`"
    ),
    (
      "ANY name == 'x'",
      "at 4: found a single value, expected a to-many key path after the quantifier"
    ),
    ("ANY population", "at 14: found the end, expected a comparison operator"),
    ("ANY country.cities.population", "at 29: found the end, expected a comparison operator"),
    (
      "ALL country.name == 'x'",
      "at 4: found a single value, expected a to-many key path after the quantifier"
    ),
    (
      "population == 'many'",
      "at 14: found text `many`, expected a number; `population` is a number"
    ),
    ("population == '5'", "at 14: found text `5`, expected a number; `population` is a number"),
    ("name == 5", "at 8: found a number, expected text; `name` is text"),
    ("name > population", "at 7: found `population`, a number, expected text; `name` is text"),
    ("capital == 'yes'", "at 11: found text `yes`, expected a boolean; `capital` is a boolean"),
    (
      "founded > 'yesterday'",
      "at 10: found text `yesterday`, expected an ISO 8601 date; `founded` is a date"
    ),
    (
      "founded > 5",
      "at 10: found a number, expected a date; `founded` is a date; "
        + "CAST(…, 'NSDate') takes seconds since 2001"
    ),
    (
      "founded + 60 > now()",
      "at 0: found `founded`, a date, expected a number; "
        + "CAST(…, 'NSNumber') gives seconds since 2001"
    ),
    ("founded == name", "at 11: found `name`, text, expected a date; `founded` is a date"),
    ("flag == 5", "at 8: found a number, expected binary data; `flag` is binary data"),
    ("flag == '!!'", "at 8: found text `!!`, expected binary data; `flag` is binary data"),
    (
      "SELF == 'x'",
      "at 8: found text `x`, expected the id of an object of City; `SELF` is an object's id"
    ),
    (
      "country == 5",
      "at 11: found a number, expected the id of an object of Country; `country` is an object's id"
    ),
    ("name + 1 == 2", "at 0: found `name`, text, expected a number"),
    ("population + 'x' == 2", "at 13: found text `x`, expected a number"),
    ("population CONTAINS '5'", "at 0: found `population`, a number, expected text"),
    ("founded BEGINSWITH '2024'", "at 0: found `founded`, a date, expected text"),
    (
      "population IN {1, 'x'}", "at 18: found text `x`, expected a number; `population` is a number"
    ),
    (
      "population IN 5",
      "at 14: found a number, expected values in braces, an array, or a to-many key path"
    ),
    (
      "{1, 2} == 5",
      "at 0: found several values, expected one value; braces belong after IN and BETWEEN, or into a function like sum(…)"
    ),
    ("lenght(name) == 5", "at 0: found `lenght`, expected a function; did you mean `length`?"),
    ("length() == 5", "at 0: found `length` with 0 arguments, expected one argument"),
    ("length(name, 1) == 5", "at 0: found `length` with 2 arguments, expected one argument"),
    ("length(population) == 5", "at 7: found `population`, a number, expected text"),
    ("add:to:(population) == 5", "at 0: found `add:to:` with 1 argument, expected 2 arguments"),
    ("abs(name) == 5", "at 4: found `name`, text, expected a number"),
    (
      "FUNCTION(name) == 5",
      "at 0: found `FUNCTION`, expected the function's name as a string among its first two arguments; as in FUNCTION('length', name)"
    ),
    (
      "CAST(population, NSString) == '5'",
      "at 17: found `NSString`, expected a type's name as a string"
    ),
    (
      "CAST(population, 'NSStrin') == '5'",
      "at 18: found `NSStrin`, expected NSDate, NSNumber, NSDecimalNumber or NSString; did you mean `NSString`?"
    ),
    (
      "TERNARY(population, 1, 2) == 1",
      "at 18: found `,`, expected a comparison operator; a list is written in braces: `{1, 2}`"
    ),
    ("TERNARY(population > 1, 1) == 1", "at 25: found `)`, expected `,`"),
    ("TERNARY(population > 1, 1, 'x') == 1", "at 27: found text `x`, expected a number"),
    (
      "SUBQUERY(country.cities, x, x.name == 'a').@count > 0",
      "at 25: found `x`, expected a variable: `$x`"
    ),
    (
      "SUBQUERY(country.cities, $x, $x.name).@count > 0",
      "at 36: found `)`, expected a comparison operator"
    ),
    (
      "SUBQUERY(country, $x, $x.name == 'a').@count > 0",
      "at 9: found no collection of objects, expected a to-many key path that ends with a relationship"
    ),
    (
      "SUBQUERY(country.cities, $x, $y.name == 'a').@count > 0",
      "at 29: found `$y`, expected a variable that is given a value; did you mean `$x`?"
    ),
    (
      "SUBQUERY(country.cities, $x, $x.nam == 'a').@count > 0",
      "at 32: found `nam`, expected a property of City; did you mean `name`?"
    ),
    (
      "country.cities[FIRST].name == 'x'",
      "at 0: found an element by its place, expected an ordered relationship; `cities` has no order"
    ),
    (
      "name[0] == 'x'",
      "at 0: found a single value, expected a to-many key path before the brackets"
    ),
    (
      "TERNARY(1 == 1, country, country) > 1",
      "at 0: found `country`, a relationship, expected ==, != or IN, or a value instead; `.id` after it is its id as a value"
    ),
    (
      "country + 1 == 2",
      "at 0: found `country`, a relationship, expected ==, != or IN, or a value instead; `.id` after it is its id as a value"
    ),
    (
      "max({country, 1}) == 1",
      "at 5: found `country`, a relationship, expected ==, != or IN, or a value instead; `.id` after it is its id as a value"
    ),
    (
      #"CAST(country, "NSNumber") > 1"#,
      "at 5: found `country`, a relationship, expected ==, != or IN, or a value instead; `.id` after it is its id as a value"
    ),
    (
      "abs(country) == 1",
      "at 4: found `country`, a relationship, expected ==, != or IN, or a value instead; `.id` after it is its id as a value"
    ),
    (
      "country.cities.@max.country > 1",
      "at 0: found a relationship, expected ==, != or IN, or a value instead; `.id` after it is its id as a value"
    ),
    ("name == %@", "at 8: found placeholder 1, expected as many arguments; 0 given"),
    ("name == %", "at 8: found `%`, expected `%@`, `%K`, `%ld` or the like"),
    ("name == %q", "at 8: found `%q`, expected `%@`, `%K`, `%ld` or the like"),
    ("name == $", "at 9: found the end, expected a variable's name"),
    ("name == $who", "at 8: found `$who`, expected a variable that is given a value"),
    ("name == @", "at 9: found the end, expected an operator such as `@count`"),
    ("name == #", "at 9: found the end, expected a name"),
    (
      "name == `x`",
      "at 8: found a backquote, expected a name, a value or an operator; text is written in straight quotes: 'x' or \"x\""
    ),
    (
      "name MATCHES '(a'",
      "at 14: found `(` without `)`, expected a regular expression that MATCHES can read; character 1 of the pattern"
    ),
    (
      "name MATCHES '[z-a]'",
      "at 15: found a range that runs backwards, expected a regular expression that MATCHES can read; character 2 of the pattern"
    ),
    (
      "name MATCHES 'a{5,2}'",
      "at 15: found counts that are not 0 to 1,000, or the first above the second, expected a regular expression that MATCHES can read; character 2 of the pattern"
    ),
    (
      "name MATCHES '(?<=a)b'",
      "at 14: found a lookbehind, which a linear engine does not have, expected a regular expression that MATCHES can read; character 1 of the pattern"
    ),
    (
      "name MATCHES '(a)\\\\1'",
      "at 17: found a back reference, which needs backtracking, expected a regular expression that MATCHES can read; character 4 of the pattern"
    ),
    (
      "name MATCHES '*'",
      "at 14: found `*` with nothing to repeat, expected a regular expression that MATCHES can read; character 1 of the pattern"
    ),
    (
      "1 == 1 == 1",
      "at 7: found `==`, expected AND, OR or the end; a comparison cannot be compared"
    ),
    ("(name) (population)", "at 7: found `(`, expected a comparison operator"),
    ("name; population", "at 4: found `;`, expected a name, a value or an operator"),
  ]
}
