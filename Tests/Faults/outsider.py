"""R7: another process writes the file. Every watcher has the right diff within 200 ms of the commit,
and holds what a fresh snapshot says at the end."""

import random
import subprocess
import sys
import time

from follower import Follower, compare
from report import Clock, Result
from server import Server, create

SOON = 0.2  # seconds
SCHEMA = """
CREATE TABLE part(id INTEGER PRIMARY KEY, mark INTEGER, kind TEXT UNIQUE,
  whole INTEGER REFERENCES part(id) ON DELETE CASCADE);
INSERT INTO part(id, mark, kind) SELECT value, 0, 'k' || value FROM
  (WITH RECURSIVE c(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM c WHERE value < 40)
   SELECT value FROM c);
UPDATE part SET whole = id - 1 WHERE id % 10 > 1;
CREATE TRIGGER derived AFTER UPDATE OF mark ON part WHEN NEW.id = 1 BEGIN
  UPDATE part SET mark = NEW.mark WHERE id = 31; END;
"""
# What a shell would do: one commit a line that it reads, then the time of the commit.
OTHER = """
import sqlite3, sys, time
database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.execute("PRAGMA foreign_keys = ON")
for line in sys.stdin:
    database.executescript("BEGIN IMMEDIATE; " + line + "; COMMIT")
    print(time.monotonic(), flush=True)
"""


def statements(chance, count):
    for mark in range(1, count + 1):
        id = chance.randint(1, 40)
        yield mark, f"INSERT INTO part(mark) VALUES ({mark}); " + chance.choice([
            f"UPDATE part SET mark = {mark} WHERE id = {id}",
            f"INSERT OR REPLACE INTO part(id, mark, kind) VALUES ({id}, {mark}, 'k{id}')",
            f"INSERT OR REPLACE INTO part(mark, kind) VALUES ({mark}, 'k{id}')",
            f"INSERT INTO part(id, mark, kind) VALUES ({id}, {mark}, 'k{id}')"
            f" ON CONFLICT DO UPDATE SET mark = {mark}",
            f"DELETE FROM part WHERE id = {id}",
            f"UPDATE part SET mark = {mark} WHERE mark > {mark - 50}",
            f"UPDATE part SET mark = {mark} WHERE id = 1",
        ])


class Heard:
    """When a watcher first held a mark."""

    def __init__(self, follower):
        self.follower, self.first = follower, {}
        follower.heard = self

    def __call__(self, diff):
        now = time.monotonic()
        for section in self.follower.view.state["sections"]:
            for item in section["items"]:
                if item["mark"] not in self.first:
                    self.first[item["mark"]] = now


def run(program, folder, commits, seed, seconds=None):
    chance, clock, file = random.Random(seed), Clock(seconds), folder / "outsider.sqlite"
    faults, late = [], []
    create(file, SCHEMA)
    with Server(program, file) as server:
        watchers = [
            Follower(server, "part", {"sort": sort, "digest": "true"} | more, stream)
            for stream in (False, True)
            for sort, more in (("-mark,id", {"limit": 30}), ("id", {"section": "whole.kind"}))]
        heard = [Heard(watcher) for watcher in watchers]
        for thread in watchers:
            thread.start()
        faults += compare(server, watchers)
        other = subprocess.Popen([sys.executable, "-c", OTHER, file], text=True,
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        committed = {}
        for mark, statement in statements(chance, commits):
            if clock.is_over():
                break
            other.stdin.write(statement + "\n")
            other.stdin.flush()
            committed[mark] = float(other.stdout.readline())
            time.sleep(chance.choice([0, 0.02, 0.1]))
        other.stdin.close()
        other.wait()
        time.sleep(2 * SOON)
        faults += compare(server, watchers)
        for one in heard:
            # A mark that was overwritten before anyone looked is covered by what came next.
            latest = None
            for mark in sorted(committed, reverse=True):
                latest = min(filter(None, [latest, one.first.get(mark)]), default=None)
                late.append((latest or float("inf")) - committed[mark])
        for thread in watchers:
            thread.ended.set()
        faults += [fault for thread in watchers for fault in thread.faults]
    slow = [seconds for seconds in late if seconds > SOON]
    if slow:
        faults.append(f"{len(slow)} of {len(late)} diffs came later than 200 ms:"
                      f" {max(slow) * 1e3:.0f} ms")
    return Result("R7", f"{len(committed)} commits of another process (seed {seed})", faults, {
        "last heard after": f"{max(late) * 1e3:.0f} ms", "most often": f"{sorted(late)[len(late) // 2] * 1e3:.0f} ms"})
