"""Figures of LiveFetch over PostgreSQL, which is started here on a socket with its own settings for
durability: a fetch, a save until its diff, what the history costs other programs, an old token, many
clients of several servers."""

import itertools
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import time
from pathlib import Path

import table
from contest import CHANGE, CITY, SHANGHAI, city_fetch
from harness import RUN, Failed, Missing, Wrk, ask, lines_of, median, output_of, query
from live import PACE, poll, poll_limit

TABLES = """
CREATE TABLE "Country" (id bigint PRIMARY KEY, code text NOT NULL, name text NOT NULL, continent text,
  capital text, population bigint, "areaKm2" float8, currency text);
CREATE TABLE "City" (id bigint PRIMARY KEY, name text NOT NULL, country bigint REFERENCES "Country",
  population bigint, latitude float8, longitude float8, timezone text, admin1 text);
"""
INDEXES = """
CREATE INDEX ON "City" (population);
CREATE INDEX ON "City" (country, population);
VACUUM ANALYZE;
"""
COMMITS = 360_000  # of an hour with 100 a second


class Cluster:
    """A PostgreSQL server; its programs run as the user that owns the data."""

    def __init__(self):
        found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"),
                       key=lambda path: float(path.parts[-3]), reverse=True)
        if not found:
            raise Missing("PostgreSQL is not installed")
        self.programs = found[0].parent
        # The path of a socket has at most 107 bytes.
        self.folder = Path(output_of(["mktemp", "-d", "/tmp/livefetch-bench-XXXXXX"]).strip())
        self.process = self.log = None
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise

    def start(self):
        self.user = []
        if os.getuid() == 0:
            self.user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]
            shutil.chown(self.folder, "postgres", "postgres")
        data = self.folder / "data"
        output_of(
            [*self.user, self.programs / "initdb", "-D", data, "-U", "tester", "-A", "trust", "-E",
             "UTF8", "--no-locale"], cwd="/")
        self.log = open(RUN / "postgres.log", "w", encoding="utf-8")
        self.process = subprocess.Popen(
            [*self.user, self.programs / "postgres", "-D", data, "-k", self.folder, "-c",
             "listen_addresses=", "-c", "max_connections=200"],
            stdout=self.log, stderr=self.log, cwd="/")
        while subprocess.run([self.programs / "pg_isready", "-q", "-h", self.folder]).returncode:
            if self.process.poll() is not None:
                raise Failed("PostgreSQL does not start")
            time.sleep(0.05)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process:
            self.process.send_signal(signal.SIGINT)
            self.process.wait()
        if self.log:
            self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def target(self, database):
        return f"host={self.folder} user=tester dbname={database}"

    def create(self, database, script=""):
        self.run("postgres", f"CREATE DATABASE {database};")
        if script:
            self.run(database, script)
        return self.target(database)

    def run(self, database, script):
        output_of([self.programs / "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d",
                   self.target(database)], input=script)

    def pgbench(self, database, *options):
        return output_of([self.programs / "pgbench", "-h", self.folder, "-U", "tester", *options,
                          database])

    def world(self, base, database="world"):
        """The benchmarks' data."""
        self.create(database, TABLES)
        store = sqlite3.connect(base)
        for name in ("Country", "City"):
            rows = store.execute(f"SELECT * FROM {name}").fetchall()
            text = "\n".join("\t".join(map(field, row)) for row in rows)
            self.run(database, f'COPY "{name}" FROM STDIN;\n{text}\n\\.\n')
        store.close()
        self.run(database, INDEXES)
        return self.target(database)


def field(value):
    """A value as COPY reads it."""
    if value is None:
        return "\\N"
    return re.sub(r"[\\\t\n\r]", lambda found: "\\" + found[0], str(value))


def p14(bench):
    "PostgreSQL: fetch of 50 of the largest, never seen before"
    with Cluster() as cluster:
        target = cluster.world(bench.base)
        ours = bench.serve(target) if bench.program else None
        limit, wrk = bench.program_of_limit("limit-postgres", target, 16), Wrk(32, bench.seconds)
        seen = bench.contest(
            ours=lambda: wrk.rate(ours, city_fetch("{n}")),
            limit=lambda: wrk.rate(limit, "/fetch?min={n}"),
        )
        table.row("P14", p14.__doc__, "/s", seen["ours"], seen["limit"], "libpq in C", at_least=0.7)
        size = len(ask(ours.url + city_fetch(1_000_000))[1]) if ours else 7857
        seen = bench.contest(
            ours=lambda: wrk.rate(ours, city_fetch(1_000_000)),
            limit=lambda: wrk.rate(limit, f"/static?size={size}"),
        )
        table.row("", "  the same fetch again", "/s", seen["ours"], seen["limit"],
                  f"static {size} bytes", at_least=0.7)
        file = bench.livefetch()
        for search in ("CONTAINS[cd]", "CONTAINS[c]"):
            seen = bench.contest(
                ours=lambda: search_time(ours, search),
                file=(lambda: search_time(file, search)) if file else None,
            )
            table.row("", f"  {search} over every name, without an index", "ms", seen["ours"],
                      seen["file"], "over the SQLite file")
        stop(ours, limit, file)


def search_time(server, search):
    """Milliseconds of a search that was never made before."""
    Wrk.next_literal += 1
    condition = f"name {search} 'san' AND population != {Wrk.next_literal}"
    path = query(CITY, where=condition, **{"as": "count"})
    start = time.monotonic()
    ask(server.url + path)
    return (time.monotonic() - start) * 1e3


def p15(bench):
    "PostgreSQL: one save until its diff is at one client"
    with Cluster() as cluster:
        target = cluster.world(bench.base)
        ours, limit = bench.serve(target) if bench.program else None, bench.limit()
        script = RUN / "commit.sql"
        script.write_text(f"\\set n random(24000000, 24099999)\n\\sleep {PACE} us\n"
                          'UPDATE "City" SET population = :n WHERE id = 1796236;\n')
        ping = limit.port, 50, "GET", "/empty", "", PACE
        path = city_fetch(1_000_000, wait=60) + "&since={token}"
        seen = bench.contest(
            ours=lambda: poll(ours, 1, 50, path, bench.token(ours), "PATCH", SHANGHAI, CHANGE)[2],
            commit=lambda: commit_time(cluster, script),
            trip=lambda: median(time for time, in lines_of("ping", *ping)),
        )
        bound = 2 * (seen["commit"] + seen["trip"]) + 10_000
        name = f"2 × ({seen['commit']:.0f} commit + {seen['trip']:.0f} trip) + 10,000"
        table.row("P15", p15.__doc__, "µs", seen["ours"], bound, "= " + name, at_most=1.0)
        stop(ours, limit)


def commit_time(cluster, script):
    """Microseconds of an UPDATE with its commit, at the pace of the saves."""
    text = cluster.pgbench("world", "-n", "-c1", "-t50", "-r", "-f", script)
    return 1e3 * float(re.search(r"([\d.]+)\s+(?:\d+\s+)?UPDATE", text)[1])


def p16(bench):
    "PostgreSQL: pgbench with the history's triggers"
    if not bench.program:
        return
    with Cluster() as cluster:
        for name in ("plain", "tracked"):
            cluster.create(name)
            cluster.pgbench(name, "-i", "-q", "-s10")
        bench.serve(cluster.target("tracked")).stop()
        run = "-n", "-c8", "-j2", f"-T{bench.seconds}"
        seen = bench.contest(
            ours=lambda: rate(cluster.pgbench("tracked", *run)),
            plain=lambda: rate(cluster.pgbench("plain", *run)),
        )
        table.row("P16", p16.__doc__, "/s", seen["ours"], seen["plain"], "without", at_least=0.7)


def p17(bench):
    "PostgreSQL: a diff behind 360,000 commits of other programs"
    if not bench.program:
        return
    with Cluster() as cluster:
        target = cluster.world(bench.base)
        ours = bench.serve(target)
        token = json.loads(ask(ours.url + city_fetch(1_000_000))[1])["token"]
        minimums = itertools.count(1_000_000)
        script = RUN / "change.sql"
        script.write_text("\\set n random(1, 9)\n\\set id random(1, 12000000)\n"
                          'UPDATE "City" SET population = population + :n WHERE id = '
                          '(SELECT id FROM "City" WHERE id >= :id ORDER BY id LIMIT 1);\n')
        cluster.run("world", "ALTER DATABASE world SET synchronous_commit = off;")
        cluster.pgbench("world", "-n", "-c8", "-j2", f"-t{COMMITS // 8}", "-f", script)
        ours.settle()

        def diff():
            # Another fetch each time: the same one again is answered from the cache.
            path = city_fetch(next(minimums), wait=0)
            start = time.monotonic()
            ask(f"{ours.url}{path}&since={token}")
            return (time.monotonic() - start) * 1e3

        seen = bench.contest(ours=diff)
        table.row("P17", p17.__doc__, "ms", seen["ours"], None, "", "≤ 10,000 ms", at_most=10_000)
        stop(ours)


def p18(bench):
    "PostgreSQL: one save until the last of 10,000 has it"
    if not bench.program:
        return
    limit = bench.limit()
    with Cluster() as cluster:
        target = cluster.world(bench.base)
        path = city_fetch(1_000_000, wait=60) + "&since={token}"
        bare = 10_000, 5, "/hold?size=300", "", "GET", "/resume", ""
        last = lambda servers: poll(
            servers, 10_000, 5, path, bench.token(servers[0]), "PATCH", SHANGHAI, CHANGE)[2]
        resumed = None
        for count in (1, 2, 3):
            ours = [bench.serve(target) for _ in range(count)]
            seen = bench.contest(
                ours=lambda: last(ours) / 1e3,
                limit=None if resumed else lambda: poll_limit(limit, *bare)[2] / 1e3,
            )
            resumed = resumed or seen["limit"]
            table.row("" if count > 1 else "P18", p18.__doc__ if count == 1 else
                      f"  at {count} servers", "ms", seen["ours"], resumed, "bare resume at one")
            stop(*ours)
    stop(limit)


def rate(text):
    return float(re.search(r"tps = ([\d.]+)", text)[1])


def stop(*servers):
    for server in servers:
        if server:
            server.stop()
