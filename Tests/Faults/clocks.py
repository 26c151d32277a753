"""Clocks that jump: the date of a served file's system goes a month forward, then two back, and home
again, under watching clients. Nothing may be forgotten or end because of it: old tokens are continued
from, waits last as long as they were asked for, commits of other processes are noticed as soon as
ever, streams go on."""

import sqlite3
import time

from faulty import Faulty, build
from follower import Follower, compare
from report import Result
from server import Connection, Refused, Server, create
from view import View

DAY = 86_400
JUMPS = [30 * DAY, -30 * DAY, 3_600, -3_600, 0]
NOTICED = 1  # seconds
QUERY = {"sort": "-id", "limit": 20, "digest": "true", "select": "mark"}


def run(program, folder):
    what = f"{len(JUMPS)} jumps of the clock"
    library = build(folder)
    if not library:
        return Result("clocks", what, [], skipped="no C compiler")
    faulty, faults, file = Faulty(folder, library), [], folder / "clock.sqlite"
    create(file, "CREATE TABLE note(id INTEGER PRIMARY KEY AUTOINCREMENT, mark INTEGER)")
    with Server(program, file, environment=faulty.environment) as server:
        watchers = [Follower(server, "note", QUERY, stream) for stream in (False, True)]
        for thread in watchers:
            thread.start()
        faults += compare(server, watchers)
        trial = Trial(server, file, watchers, faults)
        trial.round("before")
        for jump in JUMPS:
            faulty.turn(jump)
            # Longer than the server's looks at its history are apart.
            time.sleep(11)
            trial.round(f"{jump:+} s")
        for thread in watchers:
            thread.ended.set()
        faults += [fault for thread in watchers for fault in thread.faults]
        status = server.end()
        if status != 0:
            faults.append(f"exit status {status}")
    return Result("clocks", what, faults, {
        "slowest notice of another process": f"{trial.slowest * 1e3:.0f} ms"})


class Trial:
    def __init__(self, server, file, watchers, faults):
        self.server, self.file, self.watchers, self.faults = server, file, watchers, faults
        self.slowest, self.mark = 0, 0
        self.oldest = View()
        self.oldest.begin(Connection(server).get("note", QUERY))
        self.first = self.oldest.token

    def round(self, name):
        connection = Connection(self.server)
        try:
            self.mark += 1
            connection.save([{"insert": "note", "values": {"mark": self.mark}}])
            self.notice(connection, name)
            self.wait(connection, name)
            self.faults += compare(self.server, self.watchers)
            # From the oldest token of all.
            connection.open("GET", f"/v1/changes?since={self.first}&wait=0").read()
            self.oldest.apply(connection.get("note", QUERY | {
                "since": self.oldest.token, "wait": 0}))
        except Refused as refused:
            self.faults.append(f"{name}: {refused}")
        connection.close()

    def notice(self, connection, name):
        """Another process saves."""
        self.mark += 1
        database = sqlite3.connect(self.file, timeout=5)
        database.execute("INSERT INTO note(mark) VALUES (?)", (self.mark,))
        database.commit()
        database.close()
        began = time.monotonic()
        while self.newest() != self.mark:
            if time.monotonic() > began + NOTICED:
                self.faults.append(f"{name}: another process's save is not reported in {NOTICED} s")
                break
            time.sleep(0.005)
        self.slowest = max(self.slowest, time.monotonic() - began)

    def newest(self):
        items = self.watchers[1].view.state["sections"][0]["items"]
        return items[0]["mark"] if items else None

    def wait(self, connection, name):
        """A wait of one second lasts one second."""
        token = connection.get("note", QUERY)["token"]
        began = time.monotonic()
        connection.get("note", QUERY | {"since": token, "wait": 1})
        took = time.monotonic() - began
        if not 0.9 < took < 2:
            self.faults.append(f"{name}: a wait of 1 s took {took:.2f} s")
