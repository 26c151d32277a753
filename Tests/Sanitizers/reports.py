"""reports.py FOLDER: the sanitizers' reports, but for those of contended locks; exit status 1 where any
is left.

Swift's `Mutex` waits in the kernel where it is contended, and the kernel hands the lock over unseen
by the thread sanitizer. So a race is none where both accesses stand in closures that were given to
`Mutex.withLock`: their mangled type, which no other closure of the sources has, takes a value as
`inout sending` or returns one as `sending`."""

import re
import sys
from pathlib import Path

LOCKED = re.compile("YTXEfU")
ACCESS = re.compile(r"^  (?:Previous |Modifying |Read|Write|[Rr]ead|[Ww]rite|.*access)", re.M)


def reports(folder):
    for file in sorted(Path(folder).iterdir()):
        for part in re.split(r"^={18}\n", file.read_text(errors="replace"), flags=re.M):
            if re.search(r"(WARNING|ERROR|FATAL): (Thread|Address)Sanitizer", part):
                yield part


def is_locked(report):
    """Whether both accesses are within a lock, a few calls deep at most."""
    accesses = [part for part in report.split("\n\n") if ACCESS.search(part) and "#0 " in part][:2]
    frames = [re.findall(r"#[0-9] (\S+)", access) for access in accesses]
    return len(frames) == 2 and all(any(map(LOCKED.search, names)) for names in frames)


def main():
    every = list(reports(sys.argv[1]))
    left = [report for report in every if not is_locked(report)]
    if len(left) < len(every):
        print(f"{len(every) - len(left)} reports of contended locks left out")
    for report in left[:10]:
        print("\n".join(report.splitlines()[:30]))
    print(f"{len(left)} reports")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
