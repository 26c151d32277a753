"""Figures of the Swift library in processor time: a program that uses it, and the compiler."""

import subprocess
from pathlib import Path

import table
from harness import HERE, RUN, WORK, Missing, median, note, output_of

PACKAGE = HERE / "library"
SOURCES = HERE.parent / "Sources"
FUNCTIONS = 20
FUNCTION = """
func f{n}(_ a: Int, _ b: Int, _ s: String) -> Bool {{
  let result = a * 2 + b / 3 - a * (b + 7) > 5 && s == "x"
  return result
}}
"""


def p19(bench):
    "the Swift library beside its store, GRDB and the compiler alone"
    if not bench.program:
        return
    build = _build()
    _type_checking(bench, build / "Modules")
    program = build / "LibraryBenchmark"
    _saves(_measured(bench, program, "saves"))
    _results(_measured(bench, program, "results"))
    _rows(_measured(bench, program, "rows", RUN / "readings.sqlite"))
    _first(_measured(bench, program, "first", RUN / "readings.sqlite"))


def _build():
    note("building the program that uses the library")
    options = ["-c", "release", "--package-path", PACKAGE, "--scratch-path", WORK / "library"]
    output_of(["swift", "build", *options])
    return Path(output_of(["swift", "build", *options, "--show-bin-path"]).strip())


def _measured(bench, program, figure, *files):
    """The medians of the seconds that the program prints, by name."""
    seen = []
    for _ in range(bench.rounds):
        for file in files:
            for suffix in ("", "-wal", "-shm"):
                Path(f"{file}{suffix}").unlink(missing_ok=True)
        lines = output_of([program, figure, *files]).splitlines()
        pairs = [line.split("\t") for line in lines]
        seen.append({name: float(seconds) for name, seconds in pairs})
    return {name: median([one[name] for one in seen]) for name in seen[0]}


def _type_checking(bench, modules):
    seen = bench.contest(
        ours=lambda: _milliseconds(modules, "LiveFetchPredicates"),
        without=lambda: _milliseconds(modules),
    )
    what = "type-checking a calculation, with our operators"
    table.row("P19", what, "ms", seen["ours"], seen["without"], "without them", at_most=2)


def _milliseconds(modules, *imports):
    """The compiler's time for one function."""
    file = RUN / "Expressions.swift"
    lines = [f"import {module}\n" for module in ("Foundation", *imports)]
    file.write_text("".join(lines + [FUNCTION.format(n=n) for n in range(FUNCTIONS)]))
    maps = [*SOURCES.glob("*/module.modulemap"), *SOURCES.glob("*/include/module.modulemap")]
    options = [word for path in maps for word in ("-Xcc", f"-fmodule-map-file={path}")]
    checked = subprocess.run(
        ["swiftc", "-typecheck", "-I", modules, *options,
         "-Xfrontend", "-debug-time-function-bodies", file],
        capture_output=True, text=True)
    times = [line.split("ms\t") for line in checked.stderr.splitlines()]
    if checked.returncode or len(times) != FUNCTIONS:
        raise Missing(f"swiftc: {checked.stderr.strip()[-300:]}")
    return median([float(words[0]) for words in times])


def _saves(seen):
    for count in (5_000, 10_000, 20_000):
        what = f"a context's save of {count:,} inserts"
        table.row("", what, "s", seen[f"context {count}"], seen[f"store {count}"], "its store's")
    # Four times as many take four times as long, and not sixteen times.
    table.row(
        "", "a context's save of 20,000 inserts", "s", seen["context 20000"], seen["context 5000"],
        "of 5,000", at_most=5)
    table.row(
        "", "2,000 of 8,000 members removed", "s", seen["members 8000"], seen["members 2000"],
        "500 of 2,000", at_most=5)


def _results(seen):
    for name, what in (
        ("draft", "an edit of a draft over 8,000 results"),
        ("store", "a change of a data store of 100,000 results"),
    ):
        one, whole = (seen[f"{name}, {part}"] * 1e3 for part in ("one", "all"))
        table.row("", what, "ms", one, whole, "the first fetch of all", at_most=0.1)


def _rows(seen):
    for name, what, most in (
        ("structures", "100,000 rows as structures", 1.5),
        ("objects", "100,000 rows as managed objects", 3),
    ):
        records = seen["records"]
        table.row("", what, "s", seen[name], records, "GRDB's Codable records", at_most=most)


def _first(seen):
    for part, rows, most in (("all", "100,000 rows", 3), ("window", "50 of 100,000 rows", None)):
        for kind, what in (("controller", "a results controller"), ("live", "a live sequence")):
            ours, theirs = (seen[f"{name}, {part}"] * 1e3 for name in (kind, "observation"))
            table.row(
                "", f"the first fetch of {what}, {rows}", "ms", ours, theirs,
                "GRDB's ValueObservation", at_most=most)
