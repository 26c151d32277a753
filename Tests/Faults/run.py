#!/usr/bin/env python3
"""run.py [--soak] [--only R1,R2] [--seed N] … LIVEFETCH: faults done to real servers.

Starts the program on files of its own and on free loopback ports, does to it what the targets name,
and prints one line a target. Exit status 1 when one fails. Without --soak the short forms run."""

import argparse
import random
import resource
import sys
import tempfile
from pathlib import Path

import attack
import clocks
import crowded
import damaged
import fuzz
import hostile
import idle
import kills
import longrun
import ordered
import outages
import outsider
import poweroff
import primary
import rounds
import slow
import stalled
import storage
import tokens
import vanish
from report import Result
from server import Server


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", help="the built livefetch")
    parser.add_argument("--soak", action="store_true", help="the long forms")
    parser.add_argument("--each", type=float, help="seconds that each target takes, about")
    parser.add_argument("--only", default="", help="targets, by comma: R1,R2")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--kills", type=int, help="R2, R12: how many (20 and 10, soak 200)")
    parser.add_argument("--rounds", type=int, help="R1: how many saves (1000, soak 10000)")
    parser.add_argument("--clients", type=int, help="R3: how many wait (2000, soak 10000)")
    parser.add_argument("--minutes", type=float, help="R3: how long (0.3, soak 10)")
    parser.add_argument("--cycles", type=int, help="R4: how many vanish (4000, soak 100000)")
    parser.add_argument("--seconds", type=float, help="R5: of saves (9, soak 600)")
    parser.add_argument("--commits", type=int, help="R7: of the other process (200, soak 5000)")
    parser.add_argument("--locked", type=float, help="R6, R13: seconds of a lock (6, soak 30)")
    parser.add_argument("--slow", type=float, default=0.1, help="R8: seconds that an answer may take (0.1)")
    parser.add_argument("--report", help="LONG: the CSV file for the samples")
    return parser.parse_args()


def targets(given):
    each = given.each

    def of(value, short, long):
        if value is not None:
            return value
        return 1 << 40 if each else long if given.soak else short

    def lasting(value, short, long):
        """For what is a time itself."""
        return value if value is not None else each or (long if given.soak else short)

    program, seed = given.program, given.seed
    return {
        "R1": lambda folder: rounds.run(program, folder, of(given.rounds, 1000, 10000), seed, each),
        "R2": lambda folder: kills.run(program, folder, of(given.kills, 20, 200), seed, each),
        "R3": lambda folder: idle.run(
            program, folder, given.clients or (10000 if given.soak else 2000),
            lasting(given.minutes and given.minutes * 60, 18, 600) / 60),
        "R4": lambda folder: vanished(given, folder, of(given.cycles, 4000, 100_000)),
        "R5": lambda folder: stalled.run(program, folder, lasting(given.seconds, 9, 600), seed),
        "R6": lambda folder: storage.run(
            program, folder, given.locked or (30 if given.soak else 6)),
        "R7": lambda folder: outsider.run(
            program, folder, of(given.commits, 200, 5000), seed, each),
        "R8": lambda folder: fuzz.run(program, folder, lasting(None, 10, 600), seed, given.slow),
        "R9": lambda folder: hostile.run(
            program, folder, lasting(None, 6, 60), closing=60 if given.soak else 0),
        "R10": lambda folder: expensive(
            program, folder, 4 if given.soak else 1, lasting(None, 8, 60)),
        "R11": lambda folder: crowded.run(program, folder),
        "R12": lambda folder: primary.run(program, folder, of(given.kills, 10, 200), seed, each),
        "R13": lambda folder: outages.run(
            program, folder, given.locked or (30 if given.soak else 6), seed),
        "ORDER": lambda folder: ordered.run(program, folder, lasting(None, 10, 600), seed),
        "TOKENS": lambda folder: tokens.run(program, folder, lasting(None, 5, 600), seed),
        "DAMAGE": lambda folder: damaged.run(
            program, folder, of(None, 40, 1000), seed, each),
        "LONG": lambda folder: longrun.run(
            program, folder, lasting(None, 60, 7200), seed, given.report),
        "CLOCKS": lambda folder: clocks.run(program, folder),
    }


def expensive(program, folder, rounds, seconds):
    yield slow.run(program, folder, rounds)
    yield attack.run(program, folder, seconds)


def vanished(given, folder, cycles):
    yield vanish.run(given.program, folder, cycles, given.each)
    yield poweroff.run(given.program, folder)


def main():
    given = arguments()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    chosen = [name for name in given.only.upper().split(",") if name]
    known = targets(given)
    if unknown := set(chosen) - set(known):
        sys.exit(f"there is no target {', '.join(unknown)}; there are {', '.join(known)}")
    failed = False
    for name, carry in known.items():
        if chosen and name not in chosen:
            continue
        with tempfile.TemporaryDirectory(prefix="livefetch-faults-") as folder:
            results = carry(Path(folder))
            for result in [results] if isinstance(results, Result) else results:
                result.print()
                failed = failed or bool(result.faults)
        if Server.failures:
            Result(name, "servers that did not end well", Server.failures[:]).print()
            Server.failures.clear()
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
