"""One line a target: what was done, the figures, and whether it holds."""

import sys
import time
from dataclasses import dataclass, field

SHOWN = 5  # faults that are written out


class Clock:
    """Whether a time is over; without seconds it never is."""

    def __init__(self, seconds=None):
        self.end = None if seconds is None else time.monotonic() + seconds

    def is_over(self):
        return self.end is not None and time.monotonic() > self.end


@dataclass
class Result:
    target: str
    what: str
    faults: list
    figures: dict = field(default_factory=dict)
    skipped: str = ""

    def print(self):
        figures = ", ".join(f"{name} {value}" for name, value in self.figures.items())
        verdict = "FAIL" if self.faults else f"skipped: {self.skipped}" if self.skipped else "pass"
        print(f"{self.target}  {self.what}: {figures or '-'}: {verdict}", flush=True)
        for fault in self.faults[:SHOWN]:
            print(f"    {fault}", file=sys.stderr, flush=True)
        if len(self.faults) > SHOWN:
            print(f"    and {len(self.faults) - SHOWN} more", file=sys.stderr, flush=True)
