"""R2: kill -9 at random times, under saving and watching clients.

After each kill: the file passes SQLite's check, every answered save is in it, none by half (a save is
two rows that belong together). After each restart: every client comes back with `since`, gets diffs
and no snapshot, and holds what a fresh snapshot says."""

import http.client
import random
import shutil
import signal
import sqlite3
import threading
import time

from follower import Follower, compare
from report import Clock, Result
from server import Connection, Refused, Server, create

CLIENTS = 32
SCHEMA = """
CREATE TABLE entry(id INTEGER PRIMARY KEY AUTOINCREMENT, writer INTEGER NOT NULL,
  number INTEGER NOT NULL, side TEXT NOT NULL, size INTEGER NOT NULL);
CREATE INDEX entry_writer ON entry(writer, number);
"""


class Saver(threading.Thread):
    """Saves pairs of rows one after the other, and remembers which were answered."""

    def __init__(self, server, writer, saving):
        super().__init__(daemon=True)
        self.server, self.writer, self.saving = server, writer, saving
        self.number, self.answered, self.faults = 0, [], []
        self.busy, self.ended = False, False

    def run(self):
        while not self.ended:
            self.saving.wait()
            self.busy = True
            try:
                connection = Connection(self.server, timeout=10)
                while self.saving.is_set() and not self.ended:
                    self.save(connection)
            except (Refused, ValueError) as fault:
                self.faults.append(f"save: {fault}")
            except (OSError, http.client.HTTPException):
                time.sleep(0.02)
            self.busy = False
            connection.close()

    def save(self, connection):
        self.number += 1
        number = self.number
        connection.save([
            {"insert": "entry", "values": {
                "writer": self.writer, "number": number, "side": side, "size": number * 7 % 100}}
            for side in ("left", "right")])
        self.answered.append(number)


def queries():
    """32 fetches, no two alike: by section or not, by window or not."""
    for writer in range(CLIENTS):
        shape = writer // 2 % 4
        query = {"where": f"writer == {writer}", "sort": "-number,side", "limit": 40,
                 "digest": "true"}
        if shape == 1:
            query |= {"section": "side", "sort": "-size,number", "count": "exact"}
        if shape == 2:
            query |= {"where": f"writer >= {writer}", "sort": "-id", "offset": 5}
        if shape == 3:
            query |= {"where": f"writer == {writer} AND size < 30", "section": "-size", "limit": 300,
                      "sort": "-number"}
        yield query


def copy(file, folder):
    """A copy of the file and its log as the kill left them. In the file itself SQLite would write the log
    back and delete it, and the server would not start on that log."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name in (file.name, file.name + "-wal"):
        if (file.parent / name).exists():
            shutil.copy(file.parent / name, folder / name)
    return folder / file.name


def check(file, savers, seen):
    """What is wrong with the file, as text."""
    database = sqlite3.connect(file)
    faults = []
    outcome = database.execute("PRAGMA integrity_check").fetchone()[0]
    if outcome != "ok":
        faults.append(f"integrity_check: {outcome}")
    for saver in savers:
        first = seen.get(saver.writer, 0)
        rows = dict(database.execute(
            "SELECT number, count(DISTINCT side) FROM entry WHERE writer = ? AND number > ?"
            " GROUP BY number", (saver.writer, first)))
        faults += [f"save {n} of {saver.writer} half there" for n, k in rows.items() if k != 2]
        lost = [n for n in saver.answered if n > first and n not in rows]
        faults += [f"answered save {n} of {saver.writer} lost" for n in lost]
        seen[saver.writer] = saver.number
    database.close()
    return faults


def run(program, folder, kills, seed, seconds=None):
    chance, clock = random.Random(seed), Clock(seconds)
    file = folder / "kills.sqlite"
    create(file, SCHEMA)
    server, saving, faults, seen = Server(program, file), threading.Event(), [], {}
    savers = [Saver(server, writer, saving) for writer in range(CLIENTS)]
    with server:
        watchers = [Follower(server, "entry", query, stream=i % 2 == 1)
                    for i, query in enumerate(queries())]
        for thread in watchers + savers:
            thread.start()
        for number in range(kills):
            if clock.is_over():
                kills = number
                break
            faults += compare(server, watchers, within=20)
            saving.set()
            time.sleep(chance.uniform(0.02, 0.6))
            server.end(signal.SIGKILL)
            saving.clear()
            while any(saver.busy for saver in savers):
                time.sleep(0.005)
            faults += check(copy(file, folder / "copy"), savers, seen)
            server.start()
        faults += compare(server, watchers, within=20)
        faults += check(file, savers, {})
        for thread in savers:
            thread.ended = True
        for thread in watchers:
            thread.ended.set()
    faults += [fault for thread in watchers + savers for fault in thread.faults]
    answered = sum(len(saver.answered) for saver in savers)
    resumed = sum(watcher.resumed for watcher in watchers)
    diffs = sum(watcher.view.diffs for watcher in watchers)
    if not answered or not resumed:
        faults.append("no save was answered, or no watcher resumed")
    return Result("R2", f"{kills} kill -9 (seed {seed})", faults, {
        "answered saves": answered, "resumed": resumed, "diffs": diffs})
