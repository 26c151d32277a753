"""R6: a store that cannot be used for a while: disk full, locked by another process, read-only, or a
disk whose writes, syncs, truncations or reads fail.

Saves are refused with 507 or 503, reads and waiting clients go on, nothing refused is in the file,
and when the cause is gone saves succeed again without anyone's help. A full disk and a read-only one
are a small tmpfs that the script mounts, so they need root."""

import errno
import os
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import faulty
from follower import Follower, compare
from report import Result
from server import Connection, Refused, Server, create

QUERY = {"sort": "-id", "limit": 20, "digest": "true", "select": "mark"}
AGAIN = 10  # seconds until saves succeed after the cause is gone
READ = 0.5  # seconds that a read may take meanwhile
LOCK = """
import sqlite3, sys, time
database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
time.sleep(float(sys.argv[2]))
database.execute("ROLLBACK")
"""


class Trial:
    """A served file, a client that watches it, and the outcomes of saves and reads."""

    def __init__(self, program, file, environment={}):
        if not file.exists():
            create(
                file,
                "CREATE TABLE note(id INTEGER PRIMARY KEY AUTOINCREMENT, mark INTEGER, text TEXT)")
        self.server, self.file = Server(program, file, environment=environment), file
        self.faults, self.refusals, self.answered, self.mark = [], {}, [], 0
        self.asked, self.slowest, self.slowest_save = 0, 0, 0

    def __enter__(self):
        self.server.start()
        self.connection, self.saver = Connection(self.server), Connection(self.server)
        self.watchers = [Follower(self.server, "note", QUERY, stream) for stream in (False, True)]
        for thread in self.watchers:
            thread.start()
        return self

    def __exit__(self, *error):
        for thread in self.watchers:
            thread.ended.set()
        self.server.__exit__()

    def save(self, size=0):
        """One save: whether it was answered with success."""
        self.mark += 1
        try:
            self.saver.save(
                [{"insert": "note", "values": {"mark": self.mark, "text": "x" * size}}])
        except Refused as refused:
            outcome = f"{refused.status} {refused.code}"
            self.refusals[outcome] = self.refusals.get(outcome, 0) + 1
            if refused.status not in (503, 507):
                self.faults.append(f"a save was refused with {outcome}")
            return False
        self.answered.append(self.mark)
        return True

    def read(self):
        """A fetch never asked before has to be answered soon."""
        self.asked += 1
        began = time.monotonic()
        try:
            self.connection.get("note", {"where": f"mark < {self.asked}", "limit": 5})
        except Refused as refused:
            self.faults.append(f"a read was refused with {refused}")
        took = time.monotonic() - began
        self.slowest = max(self.slowest, took)
        if took > READ:
            self.faults.append(f"a read took {took:.2f} s meanwhile")

    def recover(self):
        """The cause is gone: seconds until a save succeeds; watchers and file have to be right."""
        began = time.monotonic()
        while not self.save():
            if time.monotonic() - began > AGAIN:
                self.faults.append(f"saves are refused {AGAIN} s after the cause is gone")
                break
            time.sleep(0.05)
        took = time.monotonic() - began
        self.faults += compare(self.server, self.watchers)
        self.faults += [fault for thread in self.watchers for fault in thread.faults]
        self.check()
        return took

    def check(self):
        database = sqlite3.connect(self.file)
        if (outcome := database.execute("PRAGMA integrity_check").fetchone()[0]) != "ok":
            self.faults.append(f"integrity_check: {outcome}")
        there = sorted(mark for mark, in database.execute("SELECT mark FROM note"))
        database.close()
        if there != self.answered:
            odd = sorted(set(there) ^ set(self.answered))
            self.faults.append(f"answered saves and the file differ in {odd[:5]}")

    def result(self, what, took):
        outcome = ", ".join(f"{count} × {name}" for name, count in self.refusals.items()) or "none"
        return Result("R6", what, self.faults, {
            "refused": outcome, "slowest read": f"{self.slowest * 1e3:.0f} ms",
            "saves again after": f"{took:.2f} s"})


@contextmanager
def small_disk(folder, size):
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder],
                   check=True, capture_output=True)
    try:
        yield folder
    finally:
        if not mounted("umount", folder):
            subprocess.run(["umount", "--lazy", folder], capture_output=True)


def mounted(*command):
    """Carry out a mount command; one that finds the disk busy, again for some seconds."""
    latest = time.monotonic() + 5
    while True:
        result = subprocess.run(command, capture_output=True)
        if result.returncode == 0 or time.monotonic() > latest:
            return result.returncode == 0
        time.sleep(0.1)


def full(program, folder):
    """Saves until the disk is full, then a while more; then room is made."""
    with small_disk(folder / "full", "24m") as disk:
        filler = disk / "filler"
        filler.write_bytes(bytes(16 << 20))
        with Trial(program, disk / "full.sqlite") as trial:
            tries = 0
            while sum(trial.refusals.values()) < 20 and tries < 2000:
                trial.save(size=60_000)
                trial.read()
                tries += 1
            if not any(text.startswith("507") for text in trial.refusals):
                trial.faults.append("a full disk was never reported (507)")
            filler.unlink()
            took = trial.recover()
            return trial.result("disk full", took)


def locked(program, folder, seconds):
    """Another process holds the write lock."""
    with Trial(program, folder / "locked.sqlite") as trial:
        trial.save()
        holder = subprocess.Popen([sys.executable, "-c", LOCK, trial.file, str(seconds)],
                                  stdout=subprocess.PIPE, text=True)
        holder.stdout.readline()
        saver = threading.Thread(target=lambda: save_until(trial, holder), daemon=True)
        saver.start()
        while saver.is_alive():
            trial.read()
            time.sleep(0.01)
        took = trial.recover()
        result = trial.result(f"locked {seconds:g} s by another process", took)
        result.figures["slowest save"] = f"{trial.slowest_save:.1f} s"
        return result


def save_until(trial, holder):
    """Save while the other process lives."""
    while holder.poll() is None:
        began = time.monotonic()
        trial.save()
        trial.slowest_save = max(trial.slowest_save, time.monotonic() - began)


def read_only(program, folder):
    """Started on a disk that may not be written; written again after a restart."""
    with small_disk(folder / "only", "24m") as disk:
        with Trial(program, disk / "only.sqlite") as trial:
            trial.save()
        if not mounted("mount", "-o", "remount,ro", disk):
            return Result("R6", "read-only disk", ["the ended server holds its file"])
        faults = refused_saves(Server(program, disk / "only.sqlite"))
        mounted("mount", "-o", "remount,rw", disk)
        with Server(program, disk / "only.sqlite") as server:
            Connection(server).save([{"insert": "note", "values": {"mark": 2}}])
        return Result("R6", "read-only disk", faults[0], {"refused": faults[1]})


def refused_saves(server):
    faults, outcome = [], "nothing"
    with server:
        connection = Connection(server)
        try:
            connection.save([{"insert": "note", "values": {"mark": 1}}])
            faults.append("a save to a read-only file was answered with success")
        except Refused as refused:
            outcome = str(refused)
            if refused.status == 500:
                faults.append(f"a save was refused with {outcome}")
        if Connection(server).get("note", {})["count"] != 1:
            faults.append("a read-only file is not read")
    return faults, outcome


# Name, calls, error, and the bytes of a save. The server copies the log into the file after a thousand pages,
# and SQLite truncates the file then. Ten saves of 700,000 bytes have more pages.
BROKEN = [
    ("writes", faulty.WRITE, errno.EIO, 3_000), ("syncs", faulty.SYNC, errno.EIO, 3_000),
    ("truncations", faulty.CUT, errno.EIO, 700_000), ("quota", faulty.WRITE, errno.EDQUOT, 3_000),
    ("all but reads", faulty.WRITE | faulty.SYNC | faulty.CUT, errno.EIO, 3_000),
]


def broken(program, folder, name, calls, error, size):
    """System calls on the file fail, at once or a few calls later; then they work again."""
    disk = faulty.Faulty(folder, folder / "faulty.so")
    file = folder / f"{name.replace(' ', '-')}.sqlite"
    with Trial(program, file, disk.environment) as trial:
        failures = 0
        for _ in range(5):
            trial.save(size=3_000)  # the rows that reads return
        for spared in (0, 1, 2, 3, 5, 8):
            trial.save(size)
            disk.fail(calls, error, spared)
            for _ in range(10):
                trial.save(size)
                trial.read()
            failures += disk.work()
            took = trial.recover()
        if not failures:
            trial.faults.append("nothing failed")
        result = trial.result(f"{name} fail with {errno.errorcode[error]}", took)
        result.figures["calls failed"] = failures
        return result


def unreadable(program, folder):
    """Reads of the file fail for a while: what is asked is refused, or answered from memory; watchers
    go on afterwards."""
    disk, faults, refused = faulty.Faulty(folder, folder / "faulty.so"), [], {}
    with Trial(program, folder / "unreadable.sqlite", disk.environment) as trial:
        for _ in range(200):
            trial.save(size=30_000)
        disk.fail(faulty.READ, errno.EIO)
        for number in range(50):
            try:
                Connection(trial.server).get("note", {"where": f"text CONTAINS 'y{number}'"})
            except Refused as outcome:
                refused[str(outcome)] = refused.get(str(outcome), 0) + 1
                if outcome.status != 503:
                    faults.append(f"a read was refused with {outcome}")
        failures = disk.work()
        outcome = [fault for thread in trial.watchers for fault in thread.faults]
        for thread in trial.watchers:
            thread.faults = [fault for fault in thread.faults if ": 503" not in fault]
        took = trial.recover()
        result = trial.result("reads fail with EIO", took)
        result.faults += faults + ([] if failures else ["nothing failed"])
        result.figures["reads refused"] = sum(refused.values())
        result.figures["calls failed"] = failures
        result.figures["watchers refused"] = len(outcome)
        return result


def run(program, folder, seconds):
    yield locked(program, folder, seconds)
    if faulty.build(folder):
        for kind in BROKEN:
            yield broken(program, folder, *kind)
        yield unreadable(program, folder)
    else:
        yield Result("R6", "system calls that fail", [], skipped="no C compiler")
    for name, what in ((full, "disk full"), (read_only, "read-only disk")):
        if os.geteuid() != 0:
            yield Result("R6", what, [], skipped="a tmpfs is mounted by root alone")
            continue
        try:
            yield name(program, folder)
        except subprocess.CalledProcessError as error:
            yield Result("R6", what, [], skipped=f"no tmpfs: {error.stderr.decode().strip()}")
