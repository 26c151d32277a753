#!/usr/bin/env python3
"""make bench: measures LiveFetch against the limit and the peers, side by side, and prints a table.

--only P1,P2   some figures          --livefetch FILE   a binary already built
--rounds N     rounds of each (5)    --seconds N        seconds of each load (4)
--bare         without LiveFetch: only the limit and the peers

Ends with status 1 if a figure failed. One whose peer or tool is not installed is only reported.
"""

import argparse
import subprocess
import sys
import traceback
from pathlib import Path

import contest
import figures
import harness
import table
from harness import Failed, Missing, Server


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", default="")
    parser.add_argument("--livefetch", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--bare", action="store_true")
    return parser.parse_args()


def livefetch_program():
    command = ["swift", "build", "-c", "release", "--product", "livefetch"]
    if subprocess.run(command, stdout=sys.stderr).returncode:
        raise SystemExit("bench: livefetch does not build")
    return Path(harness.output_of(command + ["--show-bin-path"]).strip()) / "livefetch"


def main():
    given = arguments()
    wanted = [name.strip().upper() for name in given.only.split(",") if name.strip()]
    unknown = [name for name in wanted if name not in figures.ALL]
    if unknown:
        raise SystemExit(
            f"bench: no figure {', '.join(unknown)}; there are {', '.join(figures.ALL)}"
        )
    program = None if given.bare else given.livefetch or livefetch_program()
    harness.clear_run()
    harness.allow_many_descriptors()
    harness.build_programs()
    harness.install_tools()
    base, count = harness.build_data()
    print(f"{count:,} cities; medians of {given.rounds} interleaved rounds of {given.seconds} s")
    table.heading()
    failed = []
    for name in wanted or figures.ALL:
        bench = contest.Bench(base, program, given.rounds, given.seconds)
        try:
            figures.ALL[name](bench)
        except Exception as problem:
            table.not_measured(name, figures.ALL[name].__doc__, str(problem) or repr(problem))
            if isinstance(problem, Failed) or not isinstance(problem, Missing):
                traceback.print_exc(limit=-2)
                failed.append(name)
        finally:
            Server.stop_all()
    if failed:
        raise SystemExit(f"bench: failed: {', '.join(failed)}")


if __name__ == "__main__":
    try:
        main()
    finally:
        Server.stop_all()
        harness.clear_run(again=False)
