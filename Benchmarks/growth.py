#!/usr/bin/env python3
"""growth.py --livefetch FILE [--picture FILE.svg]: how cost grows with the rows of a table, with the
rows that changed since a token, and with the clients that wait. Prints the medians in milliseconds,
and draws them with both axes in powers of ten."""

import argparse
import http.client
import json
import math
import sqlite3
import time
from pathlib import Path

import harness
from contest import Bench
from harness import RUN, Server, ask, median, query
from live import poll

ROWS = (1_000, 10_000, 100_000, 1_000_000)
CLIENTS = (1, 10, 100, 1_000, 10_000)
TIMES = 60  # requests of each kind
PATH = "/v1/objects/item"
SCHEMA = """
CREATE TABLE item(id INTEGER PRIMARY KEY, rank INTEGER, kind INTEGER, name TEXT);
WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < {rows})
  INSERT INTO item SELECT x, x * 7919 % {rows}, x % 20, 'item ' || x FROM n;
CREATE INDEX item_rank ON item(rank);
"""


class Client:
    """One kept connection, whose requests never repeat."""

    def __init__(self, server):
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
        self.number = 0

    def ask(self, method, path, body=None):
        self.connection.request(method, path, body, {"Content-Type": "application/json"})
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise harness.Missing(f"{method} {path[:80]}: {answer.status} {text[:200]}")
        return text

    def time(self, request, times=TIMES):
        """The median of a request's milliseconds; `request` returns one for a number."""
        seen = []
        for _ in range(times):
            self.number += 1
            words = request(self.number)
            began = time.perf_counter()
            self.ask(*words)
            seen.append((time.perf_counter() - began) * 1e3)
        return median(seen)


def by_rows(bench, rows):
    file = RUN / "growth.sqlite"
    file.unlink(missing_ok=True)
    with sqlite3.connect(file) as database:
        database.executescript(SCHEMA.format(rows=rows))
    database.close()
    server = bench.serve(file)
    client = Client(server)
    page = {"sort": "-rank", "limit": 50}
    slow = max(5, min(TIMES, 3_000_000 // rows))
    seen = {
        "a page by an index": client.time(
            lambda n: ("GET", query(PATH, where=f"rank < {rows - n}", **page))),
        "a count without an index": client.time(
            lambda n: ("GET", query(PATH, **{"where": f"name CONTAINS 'm {n}'", "as": "count"})), slow),
        "sums of 20 groups": client.time(
            lambda n: ("GET", query(PATH, **{
                "where": f"rank != {n}", "as": "dictionaries", "group": "kind",
                "select": "kind,total:@sum.rank"})), slow),
        "a save": client.time(
            lambda n: ("PATCH", f"{PATH}/{n}", json.dumps({"name": f"changed {n}"}))),
    }

    def diff(number):
        path = query(PATH, where=f"rank <= {rows + number}", **page)
        token = json.loads(client.ask("GET", path))["token"]
        client.ask("PATCH", f"{PATH}/{number}", json.dumps({"rank": rows + number - 1}))
        return "GET", path + f"&wait=0&since={token}"

    seen["a diff of a page"] = client.time(diff)
    server.stop()
    return seen


def by_changes(bench):
    """A diff of a page from a token behind which more and more rows changed. A token names a state,
    whatever the fetch that it came with."""
    server = bench.serve(RUN / "growth.sqlite")
    client = Client(server)
    path = query(PATH, where="rank >= 0", sort="-rank", limit=50)
    seen, changed = {}, 0
    token = json.loads(client.ask("GET", path))["token"]
    for rows in (1, 10, 100, 1_000, 10_000, 100_000):
        batch = query(PATH, where=f"id > {changed} AND id <= {rows}")
        client.ask("PATCH", batch, json.dumps({"name": f"batch {rows}"}))
        changed = rows
        seen[rows] = client.time(lambda n: (
            "GET", query(PATH, where=f"rank >= {-n}", sort="-rank", limit=50)
            + f"&wait=0&since={token}"), 9)
    server.stop()
    return seen


def by_clients(bench):
    server = bench.serve(RUN / "growth.sqlite")
    seen = {}
    for clients in CLIENTS:
        path = query(PATH, where="rank >= 0", sort="-rank", limit=50) + "&wait=60&since={token}"
        token = json.loads(ask(server.url + "/v1")[1])["token"]
        save = "PATCH", f"{PATH}/1", '{"rank":99{n}}'
        seen[clients] = poll(server, clients, 7, path, token, *save)[2] / 1e3
    server.stop()
    return seen


# -- The picture

WIDTH, PANEL, GAP, LEFT, RIGHT, TOP = 720, 190, 58, 56, 190, 26
COLOURS = ("#1f6feb", "#b35900", "#1a7f37", "#8250df", "#cf222e")
# Attributes only: the server's Content-Security-Policy refuses styles inside a picture. In the dark
# scheme manual.css inverts pictures.
TEXT = 'font-family="system-ui, sans-serif" font-size="12" fill="#333"'


def picture(panels):
    height = TOP + len(panels) * (PANEL + GAP)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" {TEXT}>',
             f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>']
    for number, (title, across, curves) in enumerate(panels):
        parts += panel(TOP + number * (PANEL + GAP), title, across, curves)
    return "\n".join(parts) + "\n</svg>\n"


def panel(top, title, across, curves):
    """One panel: each curve has a name and milliseconds by a number."""
    xs = [math.log10(x) for curve in curves.values() for x in curve]
    ys = [math.log10(y) for curve in curves.values() for y in curve.values()]
    low, high = math.floor(min(ys)), math.ceil(max(ys))
    first, last = min(xs), max(xs)
    bottom, right = top + PANEL, WIDTH - RIGHT

    def place(x, y):
        across = LEFT + (right - LEFT) * (math.log10(x) - first) / (last - first)
        return round(across, 1), round(bottom - PANEL * (math.log10(y) - low) / (high - low), 1)

    yield f'<text font-weight="600" x="{LEFT}" y="{top - 9}">{title} (ms)</text>'
    for power in range(low, high + 1):
        y = place(10**first, 10**power)[1]
        yield f'<path stroke="#e6e6e6" d="M{LEFT} {y}H{right}"/>'
        yield f'<text x="{LEFT - 6}" y="{y + 4}" text-anchor="end">{10.0**power:g}</text>'
    yield f'<path fill="none" stroke="#999" d="M{LEFT} {top}V{bottom}H{right}"/>'
    for x in sorted({x for curve in curves.values() for x in curve}):
        yield f'<text x="{place(x, 1)[0]}" y="{bottom + 15}" text-anchor="middle">{x:,}</text>'
    yield (f'<text x="{(LEFT + right) / 2}" y="{bottom + 31}" text-anchor="middle">{across}</text>')
    labels = []
    for colour, (name, curve) in zip(COLOURS, curves.items()):
        points = " ".join("%s,%s" % place(x, y) for x, y in curve.items())
        yield f'<polyline fill="none" stroke="{colour}" stroke-width="1.6" points="{points}"/>'
        labels.append((place(*list(curve.items())[-1])[1], colour, name))
    lowest = top
    for y, colour, name in sorted(labels):
        y = max(y, lowest)
        lowest = y + 14
        yield f'<text x="{right + 8}" y="{y + 4}" fill="{colour}">{name}</text>'


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--livefetch", type=Path, required=True)
    parser.add_argument("--picture", type=Path)
    given = parser.parse_args()
    harness.clear_run()
    harness.allow_many_descriptors()
    harness.build_programs()
    bench = Bench(None, given.livefetch, 1, 1)
    curves = {}
    for rows in ROWS:
        for name, milliseconds in by_rows(bench, rows).items():
            print(f"{rows:>9,} rows  {name:<26} {milliseconds:9.3f} ms", flush=True)
            curves.setdefault(name, {})[rows] = milliseconds
    changes, clients = by_changes(bench), by_clients(bench)
    for number, milliseconds in changes.items():
        print(f"{number:>9,} changed rows  a diff of a page {milliseconds:9.3f} ms")
    for number, milliseconds in clients.items():
        print(f"{number:>9,} clients  a save until the last has its diff {milliseconds:9.3f} ms")
    if given.picture:
        given.picture.write_text(picture([
            ("By the rows of the table", "rows", curves),
            ("By the rows that changed since the token, of 1,000,000", "changed rows",
             {"a diff of a page": changes}),
            ("By the clients that wait for one fetch", "clients", {"a save until the last diff": clients}),
        ]))


if __name__ == "__main__":
    try:
        main()
    finally:
        Server.stop_all()
        harness.clear_run(again=False)
