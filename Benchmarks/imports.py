"""The cost of loading a file, compared with SQLite's own shell."""

import shutil
import sqlite3
import time

import table
from harness import RUN, Missing, fresh_copy, output_of


def p9(bench):
    """import of the cities as CSV, with history on"""
    if not shutil.which("sqlite3"):
        raise Missing("the sqlite3 shell is not installed")
    cities = _csv(bench.base)
    empty = _without_cities(bench.base)
    followed = fresh_copy(empty, "followed.sqlite")
    if bench.program:
        bench.serve(followed).stop()

    def ours():
        target = fresh_copy(followed, "ours.sqlite")
        return _seconds([bench.program, "import", target, cities, "--into", "City", "--quiet"])

    def theirs():
        target = fresh_copy(empty, "theirs.sqlite")
        return _seconds(["sqlite3", target, f".import --csv --skip 1 '{cities}' City"])

    seen = bench.contest(ours=ours, theirs=theirs)
    table.row(
        "P9",
        "import of the cities as CSV, with history on",
        "s",
        seen["ours"],
        seen["theirs"],
        "sqlite3 .import, without",
        at_most=0.6,
    )


def _seconds(command):
    start = time.monotonic()
    output_of(command)
    return time.monotonic() - start


def _csv(base):
    file = RUN / "cities.csv"
    file.write_text(output_of(["sqlite3", "-csv", "-header", base, "SELECT * FROM City"]))
    return file


def _without_cities(base):
    empty = fresh_copy(base, "empty.sqlite")
    store = sqlite3.connect(empty)
    store.execute("DELETE FROM City")
    store.commit()
    store.execute("VACUUM")
    store.close()
    return empty
