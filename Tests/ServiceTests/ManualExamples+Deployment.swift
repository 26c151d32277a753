// The blocks of the manual about deployments: messages of a server, files of other programs, containers,
// PostgreSQL.

import TestSupport

extension ShellExample {
  /// Shell functions: `start …` serves at `$address` and writes `log`, `seen TEXT FILE` waits for a text, and
  /// `stop` ends the server.
  private static let server = #"""
    seen() { for _ in {1..600}; do if grep -qs "$1" "$2"; then return; fi; sleep 0.1; done; }
    start() {
      livefetch serve "$@" > ready 2> log &
      seen listening ready
      address=$(sed 's/.* on //' ready)
    }
    stop() { kill -KILL $!; wait $! 2> /dev/null || true; }

    """#

  /// A `docker` that runs what the container would run: the image's entry point, or the command of `exec`.
  /// This folder takes the place of the container's folders.
  private static let docker = #"""
    mkdir bin
    sed "s|exec /opt/livefetch/|exec |; s|/data|$PWD|g" \#(root)/docker/entrypoint.sh > bin/entrypoint
    cat > bin/docker <<'END'
    #!/bin/bash
    until [ "$1" = livefetch ]; do shift; done
    shift
    for word; do shift; set -- "$@" "$(sed "s|^/[a-z]*/|$PWD/|" <<< "$word")"; done
    [ "$1" = livefetch ] || set -- entrypoint "$@"
    LIVEFETCH_HOST=127.0.0.1 exec "$@"
    END
    chmod +x bin/*

    """#

  private static let root = ManualPage.root.path

  /// The examples of what a server writes about itself.
  static let messages: [ShellExample] = [
    .init(
      page: "operations.md", start: "livefetch: take effect",
      check: #"""
        \#(server)
        unset LIVEFETCH_PORT
        echo '{"port": 0, "limit": ["saves-per-second=9"]}' > livefetch.json
        start shop.sqlite
        echo '{"access": {"default": true}}' > rules.json
        echo '{"port": 8080, "access": "rules.json"}' > livefetch.json
        kill -HUP $!
        seen 'read again' log
        stop
        grep '^livefetch: [tr]' log
        """#),
    .init(
      page: "operations.md", start: "2026-11-23T09:30:12.482Z info request",
      replace: [
        ("7d…", "…"), ("192.0.2.7", "127.0.0.1"), ("0.411", "…"), ("items=20", "items=4"),
        ("5120", "…"),
      ],
      check: #"""
        \#(server)
        livefetch key create shop.sqlite --name app --scope read > key 2> messages
        start shop.sqlite --log-requests
        curl -s -o answer -H "Authorization: Bearer $(cat key)" "$address/v1/objects/City?limit=20"
        seen 'info request' log
        stop
        grep 'info request' log
        """#),
    .init(
      page: "operations.md", start: "2026-11-26T21:14:03",
      replace: [("The disk is full", "…"), ("disk-full", "…")],
      check: #"""
        \#(server)
        start shop.sqlite
        mv shop.sqlite away
        curl -s -o answer "$address/health/ready"
        mv away shop.sqlite
        seen 'ready again' log
        stop
        grep ' The server is ' log
        """#),
    .init(
      page: "operations.md", start: "Server-Timing", file: "shown",
      serve: ["sample.sqlite", "--server-timing"],
      check: #"""
        curl -s -D heads -o answer 'http://127.0.0.1:8080/v1/objects/City?limit=20'
        grep Server-Timing heads | tr -d '\r' | sed 's/=[0-9.]*/=…/g; s/wait;[^,]*, //' |
          diff - <(sed 's/=[0-9.]*/=…/g' shown)
        """#, output: ""),
    .init(
      page: "upgrade.md", start: "livefetch: shop.sqlite",
      check: #"""
        \#(server)
        start shop.sqlite
        stop
        sqlite3 shop.sqlite "UPDATE livefetch_store SET value = 4 WHERE key = 'format'"
        ! timeout -s KILL 60 livefetch serve shop.sqlite
        """#),
  ]

  /// The examples of files that other programs read.
  static let configurations: [ShellExample] = [
    .init(
      page: "operations.md", start: "services:", file: "override.yaml",
      check: #"""
        python3 > variables <<'END'
        import yaml
        base = yaml.safe_load(open("\#(root)/docker/compose.yaml"))["services"]
        for name, service in yaml.safe_load(open("override.yaml"))["services"].items():
            assert name in base
            mounts = [volume.split(":")[1] for volume in service["volumes"]]
            for name, value in service["environment"].items():
                assert not value.startswith("/") or value in mounts
                print(f"{name}={value}")
        END
        env -u LIVEFETCH_PORT $(cat variables) livefetch config | grep LIVEFETCH | tr -s ' '
        """#,
      output: """
        model /in/shop.json LIVEFETCH_MODEL
        backup-every 3600s LIVEFETCH_BACKUP_EVERY
        backup-to /backups LIVEFETCH_BACKUP_TO
        """),
    .init(
      page: "operations.md", start: "startupProbe:", file: "probes.yaml", serve: ["shop.sqlite"],
      check: #"""
        python3 > probes <<'END'
        import yaml
        for name, probe in yaml.safe_load(open("probes.yaml")).items():
            print(name, probe["periodSeconds"], probe["httpGet"]["path"])
        END
        while read -r name seconds path; do
          curl -s -o answer -w "$name every $seconds s: %{http_code}\n" "http://127.0.0.1:8080$path"
        done < probes
        """#,
      output: """
        startupProbe every 10 s: 200
        livenessProbe every 10 s: 200
        readinessProbe every 5 s: 200
        """),
    .init(
      page: "operations.md", start: "spec:", file: "deployment.yaml",
      check: #"""
        python3 <<'END'
        import yaml
        spec = yaml.safe_load(open("deployment.yaml"))["spec"]
        pod = spec["template"]["spec"]
        print(spec["replicas"], spec["strategy"]["type"], pod["enableServiceLinks"])
        user = pod["securityContext"]["fsGroup"]
        print(f"USER {user}:{user}\n" in open("\#(root)/docker/Dockerfile").read())
        END
        LIVEFETCH_PORT=tcp://10.0.0.1:8080 livefetch serve shop.sqlite 2> message
        echo $?
        """#, output: "1 Recreate False\nTrue\n64"),
    .init(
      page: "operations.md", start: "scrape_configs:", file: "prometheus.yaml",
      serve: ["shop.sqlite", "--token-file", "token.txt"],
      check: #"""
        python3 <<'END'
        import yaml
        alerts = open("\#(root)/docker/deploy/monitoring/alerts.yaml").read()
        for job in yaml.safe_load(open("prometheus.yaml"))["scrape_configs"]:
            print(job["static_configs"][0]["targets"][0])
            print('job="{}"'.format(job["job_name"]) in alerts)
        END
        curl -s -o answer -w '%{http_code}\n' -H "Authorization: Bearer $(cat token.txt)" \
          http://127.0.0.1:8080/metrics
        """#, output: "127.0.0.1:8080\nTrue\n200"),
    .init(
      page: "operations.md", start: "/var/lib/livefetch/audit.ndjson {", file: "shown",
      check: #"""
        \#(server)
        sed "s|/var/lib/livefetch|$PWD|; s/su livefetch livefetch/su $(id -un) $(id -gn)/" shown > rotate
        chmod 644 rotate
        start shop.sqlite --audit audit.ndjson
        mkdir bin
        printf '#!/bin/sh\necho "systemctl $*"; kill -HUP %s\n' $! > bin/systemctl
        chmod +x bin/systemctl
        for name in one two three; do
          for _ in {1..600}; do if [ -e audit.ndjson ]; then break; fi; sleep 0.1; done
          curl -s -o answer -X PATCH --json '{"population":1}' -H "X-Request-Id: $name" \
            "$address/v1/objects/City/1"
          PATH=$PATH:/usr/sbin logrotate -f -s "$PWD/state" rotate
        done
        stop
        zcat -f audit.ndjson.3.gz audit.ndjson.2.gz audit.ndjson.1 | jq -r .request
        """#,
      output: """
        systemctl try-reload-or-restart livefetch
        systemctl try-reload-or-restart livefetch
        systemctl try-reload-or-restart livefetch
        one
        two
        three
        """),
  ]

  /// The examples of containers and of the Debian package.
  static let deployments: [ShellExample] = [
    .init(
      page: "operations.md", start: "docker compose -f docker/compose.yaml exec",
      prepare: "\(docker)mv shop.sqlite store.sqlite",
      check: "sqlite3 store.sqlite .schema | grep note",
      output: "…store.sqlite: done\nCREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT);"),
    .init(
      page: "operations.md",
      start: #"docker compose -f docker/compose.yaml run --rm -v "$PWD/prices"#,
      prepare: #"\#(docker)mv shop.sqlite store.sqlite; printf 'sku,price\nA2,4.5\n' > prices.csv"#,
      check: "sqlite3 store.sqlite 'SELECT sku, price FROM Product ORDER BY id'",
      output: "Product: 1 inserted…A1|4.2\nA2|4.5"),
    .init(
      page: "operations.md",
      start: #"docker compose -f docker/compose.yaml run --rm -v "$PWD/shop"#, prepare: docker,
      check: "sqlite3 store.sqlite 'SELECT sku FROM Product'", output: "…store.sqlite: …A1"),
    .init(
      page: "operations.md", start: "docker compose -f docker/compose.yaml -f",
      prepare: "\(docker)cp shop.sqlite store-k3x9ab-20261123T140500Z.sqlite",
      check: "sqlite3 store.sqlite 'SELECT sku FROM Product'", output: "…store.sqlite: …A1"),
    .init(
      page: "operations.md", start: "docker run", prepare: docker,
      replace: [("docker run", "LIVEFETCH_TOKEN=secret docker run")], isEndless: true,
      output: "…LiveFetch listening on http://127.0.0.1:…"),
    .init(
      page: "operations.md", start: "systemctl stop",
      prepare: #"""
        mkdir bin
        printf '#!/bin/sh\necho "systemctl $*"\n' > bin/systemctl
        printf '#!/bin/sh\nshift 3; exec "$@"\n' > bin/runuser
        printf '#!/bin/sh\nshift 4; exec /usr/bin/install "$@"\n' > bin/install
        chmod +x bin/*
        """#,
      replace: [("/var/lib/livefetch/", "")],
      check: "[ ! -e new.sqlite ] && sqlite3 store.sqlite 'SELECT sku FROM Product'",
      output: """
        systemctl stop livefetch.socket livefetch
        store.sqlite: …
        systemctl start livefetch
        A1
        """),
    .init(
      page: "postgresql.md", start: "livefetch serve", needsDatabase: true,
      replace: [("postgres://app@db.example/shop", #""$DATABASE""#)], isEndless: true,
      output: "…LiveFetch listening on http://127.0.0.1:…"),
    .init(
      page: "postgresql.md", start: "livefetch copy", needsDatabase: true,
      prepare: #"""
        \#(server)
        rm shop.sqlite
        echo '{"entities": [{"name": "Product", "attributes": [{"name": "sku", "type": "String"}]}]}' \
          > shop.json
        start shop.sqlite --model shop.json
        curl -s -o answer --json '{"sku":"A1"}' "$address/v1/objects/Product"
        stop
        """#,
      replace: [
        // The second command copies into a new file.
        ("postgres://app@db.example/shop shop.sqlite", #""$DATABASE" copy.sqlite"#),
        ("postgres://app@db.example/shop", #""$DATABASE""#),
      ], check: "sqlite3 copy.sqlite 'SELECT sku FROM Product'",
      output: "Product: 1 objects, compared…Product: 1 objects, compared…A1"),
  ]
}
