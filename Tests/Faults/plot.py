#!/usr/bin/env python3
"""plot.py SAMPLES.csv PICTURE.svg: draws the samples of the long run (run.py --only LONG --report),
one panel for each quantity over time. The axes of latencies are logarithmic. The background shows
the periods with a slow disk."""

import csv
import math
import sys
from pathlib import Path

WIDTH, PANEL, GAP, LEFT, RIGHT, TOP = 720, 110, 34, 52, 12, 22
LEAST = 0.1  # milliseconds: the lowest latency that is drawn
# The title, the columns of the samples with their labels, and the unit in which values are shown.
PANELS = [
    ("Memory (MB)", {"memory": ""}, 1e6),
    ("Descriptors", {"descriptors": ""}, 1),
    ("Files (MB)", {"wal": "write-ahead log", "file": "database"}, 1e6),
    ("A fetch (ms)", {"fetch50": "median", "fetch99": "99th percentile"}, 1e-3),
    ("A save (ms)", {"save50": "median", "save99": "99th percentile"}, 1e-3),
]
COLOURS = ("#1f6feb", "#b35900")
# Attributes only: the server's Content-Security-Policy refuses styles inside a picture. In the dark
# scheme manual.css inverts pictures.
TEXT = 'font-family="system-ui, sans-serif" font-size="12" fill="#333"'


def main(source, picture):
    with open(source, newline="") as file:
        rows = list(csv.DictReader(file))
    end = float(rows[-1]["seconds"])
    height = TOP + len(PANELS) * (PANEL + GAP)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" {TEXT}>',
             f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>']
    for number, (title, columns, unit) in enumerate(PANELS):
        parts += panel(rows, end, TOP + number * (PANEL + GAP), title, columns, unit)
    Path(picture).write_text("\n".join(parts) + "\n</svg>\n")


def panel(rows, end, top, title, columns, unit):
    """Yields the SVG elements of one panel; `end` is in seconds, `top` in pixels."""
    is_latency = unit == 1e-3
    largest = max(float(row[name]) for row in rows for name in columns) / unit
    limit = 10 ** math.ceil(math.log10(largest)) if is_latency else rounded_up(largest)
    bottom, right = top + PANEL, WIDTH - RIGHT

    def x(seconds):
        return round(LEFT + (right - LEFT) * seconds / end, 1)

    def y(value):
        share = value / unit / limit
        if is_latency:
            share = 1 + math.log10(max(share, LEAST / limit)) / math.log10(limit / LEAST)
        return round(bottom - PANEL * share, 1)

    yield f'<text font-weight="600" x="{LEFT}" y="{top - 6}">{title}</text>'
    for index, name in enumerate(filter(None, columns.values())):
        yield (f'<text fill="{COLOURS[index]}" x="{right - 130 * index}" y="{top - 6}"'
               f' text-anchor="end">{name}</text>')
    for begin, finish in slow_periods(rows):
        yield (f'<rect fill="#fae9cf" x="{x(begin)}" y="{top}" width="{round(x(finish) - x(begin), 1)}"'
               f' height="{PANEL}"/>')
    yield f'<path fill="none" stroke="#999" d="M{LEFT} {top}V{bottom}H{right}"/>'
    yield f'<text x="{LEFT - 6}" y="{top + 9}" text-anchor="end">{limit:g}</text>'
    yield f'<text x="{LEFT - 6}" y="{bottom}" text-anchor="end">{LEAST if is_latency else 0}</text>'
    step = next(step for step in (10, 20, 60, 300, 600, 1200) if end / step <= 12 or step == 1200)
    for seconds in range(0, int(end) + 1, step):
        label = f"{seconds // 60}" if step >= 60 else f"{seconds} s"
        yield f'<text x="{x(seconds)}" y="{bottom + 14}" text-anchor="middle">{label}</text>'
    for index, name in enumerate(columns):
        points = " ".join(f"{x(float(row['seconds']))},{y(float(row[name]))}" for row in rows)
        yield (f'<polyline fill="none" stroke="{COLOURS[index]}" stroke-width="1.3"'
               f' points="{points}"/>')


def slow_periods(rows):
    """Yields the periods with a slow disk, as pairs of seconds."""
    begin = None
    for row in rows:
        if row["disk"] and begin is None:
            begin = float(row["seconds"])
        if not row["disk"] and begin is not None:
            yield begin, float(row["seconds"])
            begin = None


def rounded_up(value):
    """Returns the smallest of 1, 2 and 5 times the powers of ten that is not less than `value`."""
    power = 1e-6
    while True:
        for factor in (1, 2, 5):
            if factor * power >= value:
                return factor * power
        power *= 10


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
