// The blocks of the README and the manual that shells run, and those that they do not, with the reason.

extension ShellExample {
  /// The examples of programs and files.
  static let commands: [ShellExample] = [
    .init(
      page: "README.md", start: ".build/release/livefetch serve",
      replace: [(".build/release/livefetch", "livefetch")], isEndless: true,
      output: "…LiveFetch listening on http://127.0.0.1:…"),
    .init(
      page: "howto.md", start: "livefetch serve shop.sqlite --token-file", isEndless: true,
      output: "…LiveFetch listening on http://127.0.0.1:…"),
    .init(
      page: "howto.md", start: "curl -N -H",
      serve: ["shop.sqlite", "--token-file", "token.txt"],
      replace: [("https://shop.example", "http://127.0.0.1:8080")], isEndless: true,
      output: """
        …event: snapshot
        id: …
        data: {"entity":"invoice","token":"…","total":3}…
        """),
    .init(
      page: "howto.md", start: "#!/bin/sh\n# /etc/cron.daily/prices",
      prepare: #"""
        mv shop.sqlite store.sqlite
        printf 'sku,price\nA1,4.5\nC3,3\n' > supplied.csv
        mkdir bin
        printf '#!/bin/sh\necho "systemctl $*" >> calls; test "$1" != is-active\n' > bin/systemctl
        printf '#!/bin/sh\nshift 3; exec "$@"\n' > bin/runuser
        chmod +x bin/*
        """#,
      replace: [
        ("https://supplier.example/prices.csv", #""file://$PWD/supplied.csv""#),
        ("/tmp/prices.csv", "prices.csv"), ("/var/lib/livefetch/", ""),
      ], check: "cat calls; sqlite3 store.sqlite 'SELECT sku, price FROM Product ORDER BY id'",
      output: """
        systemctl is-active --quiet livefetch.socket
        systemctl stop livefetch.socket livefetch.service
        systemctl start livefetch.service
        A1|4.5
        C3|3.0
        """),
    .init(
      page: "howto.md", start: "sqlite3 shop.sqlite <<'END'",
      prepare: #"printf 'sku,price\nA1,4.5\nC3,3\n' > prices.csv"#,
      check: "sqlite3 shop.sqlite 'SELECT sku, price FROM Product ORDER BY id'",
      output: "A1|4.5\nC3|3.0"),
    .init(
      page: "models.md", start: "livefetch serve shop.sqlite --model",
      files: ["shop.json": #"{"entities": ["#], prepare: "rm shop.sqlite",
      replace: [("shop.json\n", "shop.json &\n")], isEndless: true,
      output: "…LiveFetch listening on http://127.0.0.1:…LiveFetch listening on http://127.0.0.1:…"),
    .init(
      page: "operations.md", start: "livefetch serve shop.sqlite --host",
      prepare: """
        openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -keyout privkey.pem \
          -out fullchain.pem 2> messages
        """,
      replace: [("0.0.0.0", "127.0.0.1")], isEndless: true,
      output: "…LiveFetch listening on https://127.0.0.1:…"),
    .init(
      page: "python.md", start: "curl -sO", serve: ["shop.sqlite"],
      check: "python3 -c 'import livefetch; print(livefetch.Client.__name__)'", output: "Client"),
  ]

  /// The examples of clients that wait for changes.
  static let waiting: [ShellExample] = [
    .init(
      page: "howto.md", start: "livefetch fetch http://127.0.0.1:8080 invoice",
      serve: ["shop.sqlite"], isEndless: true,
      output: """
        {"id":2,"total":25.5,"paid":false}
        {"id":3,"total":99,"paid":false}
        """),
    .init(
      page: "howto.md", start: "curl -sN -H", serve: ["shop.sqlite"], isEndless: true,
      output: #"{"entity":"invoice","token":"…","total":3}"#),
    .init(
      page: "howto.md", start: "url='http", serve: ["shop.sqlite"],
      replace: [
        (
          "curl -s --max-time",
          """
          curl -s -o deleted.json -X DELETE http://127.0.0.1:8080/v1/objects/invoice/3
          curl -s --max-time
          """
        )
      ], output: #"{"entity":"invoice","from":"…","to":"…","total":2}"#),
    .init(
      page: "howto.md", start: "#!/bin/sh\n# on-change", file: "on-change",
      check: "sh -n on-change && head -n 1 on-change", output: "#!/bin/sh"),
    .init(
      page: "howto.md", start: "./on-change",
      files: ["on-change": "#!/bin/sh\n# on-change"], serve: ["shop.sqlite"],
      replace: [
        (
          "./on-change",
          """
          chmod +x on-change
          curl -s 'http://127.0.0.1:8080/v1/objects/invoice?as=count' | jq -r .token > on-change.token
          curl -s -o deleted.json -X DELETE http://127.0.0.1:8080/v1/objects/invoice/3
          ./on-change
          """
        ), ("curl -s --json @- https://hooks.example/saved", "cat"),
      ], isEndless: true,
      output: """
        {"token":"…","at":"…","inserted":{},"updated":{},"deleted":{"invoice":[3]}}
        """),
    .init(
      page: "protocol.md", start: "retry: 2000", serve: ["sample.sqlite"],
      check: #"""
        curl -s -o answer --json '{"name":"Voss"}' http://127.0.0.1:8080/v1/objects/City
        exec 3< <(curl -sN -H 'Accept: text/event-stream' \
          'http://127.0.0.1:8080/v1/objects/City?as=count')
        while read -r line <&3; do
          printf '%s\n' "$line"
          case $line in
            *'"from"'*) kill -KILL $!; break ;;
            data:*) curl -s -o answer --json '{"name":"Moss"}' http://127.0.0.1:8080/v1/objects/City ;;
          esac
        done
        """#),
    .init(
      page: "protocol.md", start: "event: snapshot", serve: ["shop.sqlite"],
      check: #"""
        exec 3< <(curl -sN -H 'Accept: text/event-stream' http://127.0.0.1:8080/v1/live --json \
          '{"fetches":{"a":{"entity":"City","as":"count"},"b":{"entity":"Country","as":"count"}}}')
        while read -r line <&3; do
          case $line in retry:*) continue ;; esac
          printf '%s\n' "$line"
          case $line in
            *'"from"'*) read -r line <&3; printf '%s\n' "$line"; kill -KILL $!; break ;;
            *'"name":"b"'*) curl -s -o answer --json '{}' http://127.0.0.1:8080/v1/objects/City ;;
          esac
        done
        """#),
  ]

  /// The examples of answers and other texts of a server.
  static let answers: [ShellExample] = [
    .init(
      page: "predicates.md", start: "curl -G", serve: ["sample.sqlite"],
      replace: [("1000000'", #"1000000' -s | grep -o '"count":[0-9]*'"#)],
      output: #""count":564"#),
    .init(
      page: "access.md", start: #"{"sub": "ann""#, file: "claims.json",
      prepare: "openssl rand -hex 32 > jwt.key",
      serve: ["shop.sqlite", "--jwt-key", "jwt.key", "--jwt-issuer", "https://login.example"],
      check: """
        b64() { openssl base64 -A | tr '+/' '-_' | tr -d '='; }
        text=$(printf '{"alg":"HS256"}' | b64).$(b64 < claims.json)
        signature=$(printf %s "$text" | openssl dgst -sha256 -hmac "$(cat jwt.key)" -binary | b64)
        url='http://127.0.0.1:8080/v1/objects/invoice?as=count'
        curl -s -H "Authorization: Bearer $text.$signature" "$url"
        curl -s -H "Authorization: Bearer $text.x$signature" -o answer -w ' %{http_code}' "$url"
        """,
      output: #"{"entity":"invoice","token":"…","total":3} 401"#),
    .init(
      page: "access.md", start: #"{"entities": {\#n  "Person": {"access": {"read": "id"#,
      file: "rules.json",
      prepare: """
        sqlite3 notes.sqlite "
          CREATE TABLE Person(id INTEGER PRIMARY KEY); INSERT INTO Person VALUES (1), (2);
          CREATE TABLE Note(id INTEGER PRIMARY KEY, text TEXT, owner INTEGER REFERENCES Person(id));
          INSERT INTO Note VALUES (1, 'of 1', 1), (2, 'of 2', 2)"
        livefetch key create notes.sqlite --name app --user 1 --scope read,write > key 2> messages
        """, serve: ["notes.sqlite", "--access", "rules.json"],
      check: """
        note() { curl -s -H "Authorization: Bearer $(cat key)" -w '%{http_code} ' "$@"; }
        url=http://127.0.0.1:8080/v1/objects/Note
        note "$url?as=count"
        note --json '{"owner":1}' $url
        note --json '{"owner":2}' $url -o answer
        note -X PATCH --json '{"owner":2}' $url/1 -o answer
        note -X DELETE $url/2 -o answer
        """,
      output:
        #"{"entity":"Note","token":"…","total":1}200 {"id":3,"text":null,"owner":1}201 409 409 404"#
    ),
    .init(
      page: "access.md",
      start: #"{"entities": {\#n  "Person": {"access": {"read": true}},\#n  "Team""#,
      file: "rules.json",
      prepare: """
        cat > model.json <<'END'
        {"entities": [{"name": "Person", "relationships": [
            {"name": "teams", "destination": "Team", "toMany": true, "inverse": "members"}]},
          {"name": "Team", "relationships": [{"name": "lead", "destination": "Person"},
            {"name": "members", "destination": "Person", "toMany": true, "inverse": "teams"}]},
          {"name": "Note", "relationships": [{"name": "owner", "destination": "Person"},
            {"name": "team", "destination": "Team"}]}]}
        END
        livefetch serve teams.sqlite --model model.json --port 0 > ready 2> messages &
        until grep -qs http ready; do sleep 0.1; done
        curl -s -o answer --json '{"changes":[{"insert":"Person"},{"insert":"Person"},{"insert":"Person"},
          {"insert":"Team","values":{"lead":1,"members":[1,2]}},{"insert":"Note","values":{"owner":3}}]}' \\
          "$(grep -o 'http://[0-9.:]*' ready | head -1)/v1/save"
        kill $!; wait $!
        for user in 1 2 3; do
          livefetch key create teams.sqlite --name user$user --user $user --scope read,write > key$user 2> messages
        done
        """, serve: ["teams.sqlite", "--model", "model.json", "--access", "rules.json"],
      check: """
        note() {
          user=$1; shift
          curl -s -H "Authorization: Bearer $(cat key$user)" -w '%{http_code} ' -o answer "$@"
        }
        url=http://127.0.0.1:8080/v1/objects/Note
        for user in 1 2 3; do note $user --json '{"owner":'$user',"team":1}' $url; done
        for user in 1 2 3; do note $user $url/3; done
        for user in 1 2 3; do note $user -X PATCH --json '{"team":1}' $url/3; done
        for user in 3 1 2; do note $user -X DELETE $url/3; done
        """,
      output: "201 201 409 200 200 404 403 200 404 404 204 404"),
    .init(
      page: "access.md",
      start: #"{"entities": {\#n  "Person": {"access": {"read": true}},\#n  "Article""#,
      file: "rules.json",
      prepare: """
        sqlite3 articles.sqlite "
          CREATE TABLE Person(id INTEGER PRIMARY KEY); INSERT INTO Person VALUES (1), (2);
          CREATE TABLE Article(id INTEGER PRIMARY KEY, published BOOLEAN NOT NULL, author INTEGER REFERENCES Person(id));
          INSERT INTO Article VALUES (1, 0, 1), (2, 1, 2)"
        """, serve: ["articles.sqlite", "--access", "rules.json"],
      check: """
        url=http://127.0.0.1:8080/v1/objects/Article
        curl -s "$url?as=ids"
        curl -s -o answer -w '%{http_code} ' $url/1
        curl -s -o answer -w '%{http_code} ' -X PATCH --json '{"published":false}' $url/2
        curl -s -o answer -w '%{http_code} ' --json '{"published":true,"author":1}' $url
        """,
      output: #"{"entity":"Article",…"items":[2]}]}404 403 403"#),
    .init(
      page: "api.md", start: #"{"from":""#, serve: ["sample.sqlite"],
      check: """
        token=$(curl -s 'http://127.0.0.1:8080/v1/objects/City?as=count' | jq -r .token)
        curl -s -o answer -X PATCH --json '{"population":2000000}' \
          http://127.0.0.1:8080/v1/objects/City/2886242
        curl -s "http://127.0.0.1:8080/v1/changes?since=$token"
        """),
    .init(
      page: "operations.md", start: "HTTP/1.1 429",
      serve: ["shop.sqlite", "--limit", "requests-per-second=10"],
      check: #"""
        touch heads
        until grep -q ' 429 ' heads; do
          curl -s -D heads -o answer 'http://127.0.0.1:8080/v1/objects/invoice?limit=[1-50]'
        done
        tr -d '\r' < heads | sed -n '/ 429 /,/^$/p' | grep -E '^(HTTP|Retry-After|RateLimit)' |
          head -n 4
        """#),
    .init(
      page: "operations.md", start: #"{"time":""#,
      prepare: """
        livefetch key create shop.sqlite --name app --user ada --scope read,write > key 2> messages
        """,
      serve: ["shop.sqlite", "--audit", "audit.ndjson"], replace: [("192.0.2.7", "127.0.0.1")],
      check: """
        curl -s -o answer -X PATCH --json '{"population":1}' -H "Authorization: Bearer $(cat key)" \
          http://127.0.0.1:8080/v1/objects/City/2
        cat audit.ndjson
        """),
    .init(
      page: "operations.md", start: #"{"type":"urn:livefetch:problem:not-ready""#,
      serve: ["shop.sqlite"], replace: [("disk-full", "…"), ("The disk is full.", "…")],
      check: "rm shop.sqlite; curl -s http://127.0.0.1:8080/health/ready"),
  ]

  /// The blocks that no shell runs here: the page, the beginning, and the reason.
  static let others: [(page: String, start: String, reason: String)] = [
    ("README.md", "# Needs Swift", "builds the package"),
    ("README.md", #"{"entity":"City","from""#, "the command in the background before it prints it"),
    ("README.md", "export LIVEFETCH_TOKEN", "an engine starts it; docker/prove.sh runs its steps"),
    ("access.md", #"{"entities": {\#n  "Note": {\#n"#, "the test of access rules reads it"),
    ("access.md", #"{"entities": {"Person""#, "the test of access rules reads it"),
    ("internals.md", "read: ", "InternalsPageTests finds the functions of both walks"),
    ("internals.md", "authenticate", "InternalsPageTests compares it with the stages"),
    ("javascript.md", "npm install", "npm; package-scenarios.mjs installs from a server"),
    ("models.md", #"{"entities": ["#, "it is the file of the example with --model"),
    ("operations.md", "docker build", "an engine builds it; docker/prove.sh runs its steps"),
    ("operations.md", "SITE=", "an engine, and a name of the public DNS"),
    ("operations.md", "apt-get install", "a release; Tests/Packages/run installs its package"),
    ("operations.md", "systemctl disable", "systemd; ServiceManagerTests passes a socket"),
    ("protocol.md", #"{"token":""#, "the command in the background before it prints it"),
    ("protocol.md", "python3 conformance.py", "PythonClientTests runs it"),
    ("python.md", "import livefetch", "PythonClientTests runs it"),
    ("tutorial.md", "make deps", "builds the package"),
  ]
}
