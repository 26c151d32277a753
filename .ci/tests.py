#!/usr/bin/env python3
"""Runs the built tests: .ci/tests.py [arguments of `swift test`].

Failed tests are listed at the end with what they reported, and run once more, one at a time: a machine
that was too busy for a test does not fail the run, a fault does. Exit status 0 if all passed then.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml


def memory():
    """The folder of files in memory, if there is room: most tests wait for a disk otherwise. None for the usual
    folder, also if TMPDIR names it."""
    folder = "/dev/shm"
    has_room = os.access(folder, os.W_OK) and shutil.disk_usage(folder).free >= 4 << 30
    return folder if has_room and "TMPDIR" not in os.environ else None


def run(arguments, report, **environment):
    """Runs tests in a temporary folder, because some tests and the toolchain leave files there. Shows their
    output, and returns the exit status and the lines about failures."""
    with tempfile.TemporaryDirectory(dir=memory(), ignore_cleanup_errors=True) as folder:
        # As root, PostgreSQL runs as another user.
        os.chmod(folder, 0o1777)
        return run_in(folder, arguments, report, environment)


def run_in(folder, arguments, report, environment):
    command = ["swift", "test", "--skip-build", "--xunit-output", report, *arguments]
    problems = []
    environment = {**os.environ, "TMPDIR": folder, **environment}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment
    ) as process:
        for line in process.stdout:
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()
            text = line.decode(errors="replace")
            if "recorded an issue" in text or "Fatal error" in text:
                problems.append(text.rstrip()[:500])
    return process.returncode, problems


def tests(folder):
    """The failed tests and all tests of the reports in `folder`, as (type, test)."""
    cases = [
        case
        for report in os.listdir(folder)
        for case in xml.parse(os.path.join(folder, report)).iter("testcase")
    ]
    failed = {name(case) for case in cases if case.find("failure") is not None}
    return sorted(failed), {name(case) for case in cases}


def name(case):
    return case.get("classname"), case.get("name")


def pattern(failed):
    """A filter for tests. Nested types are separated by slashes there, and by points in a report."""
    return "^(%s)" % "|".join(
        re.escape(kind).replace(r"\.", "[./]") + "/" + re.escape(test) for kind, test in failed
    )


def main():
    with tempfile.TemporaryDirectory() as folder:
        status, problems = run(sys.argv[1:], os.path.join(folder, "tests.xml"))
        failed, ran = tests(folder)
    if status == 0:
        if not ran:
            print("No test ran.")
        return 0 if ran else 1
    print("\nFailed:", *problems, *map("/".join, failed), sep="\n  ")
    if not failed:
        print("The run stopped early: no report names a failed test.")
        return status
    print("\nOnce more, one at a time:", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        status, problems = run(
            ["--filter", pattern(failed)],
            os.path.join(folder, "tests.xml"),
            SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH="1",
        )
        again, repeated = tests(folder)
    missing = set(failed) - repeated
    if status != 0 or missing:
        print("\nFailed again:", *problems, *map("/".join, again), sep="\n  ")
        print("Not repeated:", len(missing))
        return status or 1
    return 0


sys.exit(main())
