"""LONG: two hours of ordinary and less ordinary work on one file.

Clients save all the time; others watch for a while by long-poll or stream and go. Beside them: a
backup every few minutes, restarts (each third by kill -9), a column that is added and dropped, and
minutes in which each sync of the disk takes 50 ms. Every diff is checked by its digest. Each sample
of memory, descriptors, sizes and latencies becomes a line of a CSV file, and at the end the last
quarter is compared with the second one: what grows is a fault. With `--report FILE` the messages of
the server are in `FILE.log`."""

import csv
import os
import random
import signal
import sqlite3
import statistics
import subprocess
import threading
import time

from faulty import Faulty, build
from follower import Follower, compare
from kills import SCHEMA, Saver
from report import Clock, Result
from server import Connection, Refused, Server, create, target

WRITERS, WATCHERS = 4, 24
ROWS = 5000  # pairs of rows that are kept: each save adds one and deletes an old one
STEPS = 12  # of a run: each has a change of the schema, each third a slow disk, the first half restarts
SYNC = 0.05  # seconds that a sync of the slow disk takes longer
COLUMNS = ("seconds", "step", "disk", "memory", "descriptors", "wal", "file", "fetch50", "fetch99",
           "save50", "save99", "saves", "diffs")
# The last quarter's median may be so many times the second one's, and so much more.
FLAT = {"memory": (1.15, 16e6), "descriptors": (1.1, 10), "wal": (1.5, 8e6), "file": (1.2, 4e6),
        "fetch50": (1.5, 2e-3), "save50": (1.5, 5e-3)}


class Writer(Saver):
    """A saver that waits between two saves, times each, and keeps the number of rows."""

    def __init__(self, server, writer, saving):
        super().__init__(server, writer, saving)
        self.times = []

    def save(self, connection):
        try:
            began = time.monotonic()
            super().save(connection)
            self.times.append(time.monotonic() - began)
            time.sleep(0.05)
            self.delete_old(connection)
        except Refused as fault:
            if fault.code == "shutting-down":
                raise ConnectionResetError from fault
            raise

    def delete_old(self, connection):
        old = self.number - ROWS // WRITERS
        if old > 0 and old % 10 == 0:
            query = {"where": f"writer == {self.writer} AND number <= {old}"}
            connection.open("DELETE", target("entry", query)).read()


class Visitor(Follower):
    """A follower that fetches again where the schema has changed, which is no fault."""

    changed = 0

    def note(self, fault):
        if isinstance(fault, Refused) and (fault.code in ("schema-changed", "token-expired")):
            self.changed += 1
            self.view.token = None
            return
        super().note(fault)

    def replace(self, snapshot):
        self.changed += 1
        self.view.begin(snapshot)


def query(chance):
    writer = chance.randrange(WRITERS)
    return chance.choice([
        {"where": f"writer == {writer}", "sort": "-number,side", "limit": 40},
        {"where": f"writer == {writer} AND size < 50", "section": "side", "sort": "-size,-number",
         "limit": 60, "count": "exact"},
        {"where": f"writer != {writer}", "sort": "-id", "limit": 20, "offset": 5},
    ]) | {"digest": "true"}


class Audience(threading.Thread):
    """Watchers that come and go: each stays for up to a minute."""

    def __init__(self, server, chance, longest):
        super().__init__(daemon=True)
        self.server, self.chance, self.longest = server, chance, longest
        self.present, self.faults, self.came, self.diffs, self.changed = [], [], 0, 0, 0
        self.ended = threading.Event()

    def run(self):
        while not self.ended.wait(0.5):
            now = time.monotonic()
            for visitor in [v for v in self.present if v.leaves < now]:
                self.present.remove(visitor)
                self.leave(visitor)
            while len(self.present) < WATCHERS:
                visitor = Visitor(self.server, "entry", query(self.chance), self.came % 2 == 1)
                visitor.leaves = now + self.chance.uniform(1, self.longest)
                visitor.start()
                self.came += 1
                self.present.append(visitor)

    def leave(self, visitor):
        visitor.ended.set()
        self.diffs += visitor.view.diffs
        self.changed += visitor.changed
        self.faults += visitor.faults


class Sampler:
    """Measures a small fetch, and every so often writes a line of the CSV file."""

    def __init__(self, path, server, file, writers, audience, every):
        self.file, self.server, self.path = open(path, "w", newline=""), server, file
        self.lines = csv.writer(self.file)
        self.lines.writerow(COLUMNS)
        self.writers, self.audience, self.every = writers, audience, every
        self.began = self.last = time.monotonic()
        self.fetches, self.rows, self.asked = [], [], 0

    def probe(self):
        """One fetch that was never asked before."""
        self.asked += 1
        connection, began = Connection(self.server, 30), time.monotonic()
        try:
            connection.get("entry", {"where": f"size != {self.asked + 1000}", "limit": 5,
                                     "sort": "-id"})
            self.fetches.append(time.monotonic() - began)
        finally:
            connection.close()

    def sample(self, step, disk):
        if time.monotonic() < self.last + self.every:
            return
        self.last = time.monotonic()
        saves = []
        for writer in self.writers:
            times, writer.times = writer.times, []
            saves += times
        row = (round(self.last - self.began), step, disk, self.server.memory(),
               self.server.descriptors(), size(f"{self.path}-wal"), size(self.path),
               *percentiles(self.fetches), *percentiles(saves),
               sum(len(writer.answered) for writer in self.writers),
               self.audience.diffs)
        self.fetches = []
        self.rows.append(dict(zip(COLUMNS, row)))
        self.lines.writerow(row)
        self.file.flush()

    def growth(self):
        """What is no longer as it was, as text."""
        quiet = [row for row in self.rows if not row["disk"]]
        quarter = len(quiet) // 4
        for name, (ratio, extra) in FLAT.items() if quarter >= 3 else ():
            before = statistics.median(row[name] for row in quiet[quarter : 2 * quarter])
            after = statistics.median(row[name] for row in quiet[-quarter:])
            if after > before * ratio + extra:
                yield f"{name}: {after:g} in the last quarter, {before:g} in the second"


def size(path):
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0


def percentiles(times):
    if len(times) < 2:
        return 0, 0
    parts = statistics.quantiles(times, n=100)
    return round(parts[49], 5), round(parts[98], 5)


def change(program, file, step):
    """Add a column, or drop it again."""
    sql = ("ALTER TABLE entry ADD COLUMN remark TEXT" if step % 2 == 0 else
           "ALTER TABLE entry DROP COLUMN remark")
    done = subprocess.run([program, "alter", str(file), sql], capture_output=True, text=True)
    return [] if done.returncode == 0 else [f"alter: {done.stderr.strip()}"]


def run(program, folder, seconds, seed, report=None):
    chance, file = random.Random(seed), folder / "long.sqlite"
    library = build(folder)
    faulty = Faulty(folder, library) if library else None
    create(file, SCHEMA)
    minute = seconds / STEPS / 10  # one in a run of two hours
    server = Server(program, file, "--backup-every", "5m" if seconds > 1200 else "1m", "--keep", "3",
                    "--keep-history", "20000", environment=faulty.environment if faulty else {},
                    log=f"{report}.log" if report else os.devnull)
    saving, faults, restarts = threading.Event(), [], 0
    writers = [Writer(server, number, saving) for number in range(WRITERS)]
    with server:
        audience = Audience(server, chance, max(5, min(60, minute)))
        sampler = Sampler(report or folder / "long.csv", server, file, writers, audience,
                          max(0.5, minute / 4))
        for thread in (*writers, audience):
            thread.start()
        saving.set()
        for step in range(STEPS):
            # The second half shows one process.
            plan = ([(2, "restart")] if step < STEPS // 2 else []) + [(5, "change")]
            plan += [(7, "slow"), (9, "fast")] if step % 3 == 1 else []
            began, disk = time.monotonic(), ""
            for at, act in plan + [(10, "end")]:
                clock = Clock(began + at * minute - time.monotonic())
                while not clock.is_over():
                    sampler.probe()
                    sampler.sample(step, disk)
                    time.sleep(0.1)
                if act == "restart":
                    restarts += 1
                    server.end(signal.SIGKILL if step % 3 == 2 else signal.SIGTERM)
                    server.start()
                if act == "change":
                    faults += change(program, file, step)
                if act in ("slow", "fast") and faulty:
                    faulty.slow(SYNC if act == "slow" else 0)
                    disk = "slow" if act == "slow" else ""
        saving.clear()
        audience.ended.set()
        audience.join(10)
        while any(writer.busy for writer in writers):
            time.sleep(0.01)
        faults += compare(server, audience.present, within=20)
        for writer in writers:
            writer.ended = True
        saving.set()
        for visitor in audience.present:
            audience.leave(visitor)
        faults += audience.faults + [fault for writer in writers for fault in writer.faults]
        faults += sampler.growth()
        copies = sorted(folder.glob("long.sqlite.backups/*.sqlite"))
        faults += [f"{copy.name} is damaged" for copy in copies if not sound(copy)]
        if not copies:
            faults.append("no backup was made")
    last = sampler.rows[-1]
    return Result("LONG", f"{seconds / 60:.0f} minutes (seed {seed})", faults, {
        "saves": last["saves"], "diffs": audience.diffs, "watchers": audience.came,
        "restarts": restarts, "changes of the schema": STEPS, "fetched again": audience.changed,
        "backups kept": len(copies), "memory": f"{last['memory'] / 1e6:.0f} MB",
        "descriptors": last["descriptors"], "file": f"{last['file'] / 1e6:.1f} MB"})


def sound(copy):
    database = sqlite3.connect(copy)
    outcome = database.execute("PRAGMA integrity_check").fetchone()[0]
    database.close()
    return outcome == "ok"
