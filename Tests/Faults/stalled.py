"""R5: stream readers that stop reading, beside fast ones. The fast ones see each save as soon as
without them, memory stays flat, and a stalled reader that goes on reading reaches the truth in few
diffs."""

import http.client
import json
import random
import socket
import sqlite3
import statistics
import time

from follower import Follower, compare
from report import Result
from server import Connection, Server, target
from view import View

FAST, STALLED, SIZE = 8, 64, 20_000  # readers, readers, bytes of a saved text
SLOWER, EXTRA = 2.0, 0.05  # the fast ones' median may be so many times, and seconds, later
GROWTH = 16e6  # bytes, over the second half


class Stalled:
    """A stream with a small window that nobody reads until `finish`."""

    def __init__(self, server, query):
        self.server, self.query, self.view = server, query, View()
        self.was_cut = False
        connection = Connection(server)
        self.view.begin(connection.get("note", query))
        connection.close()
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.settimeout(20)
        self.socket.connect(("127.0.0.1", server.port))
        where = target("note", query | {"since": self.view.token})
        self.socket.sendall(f"GET {where} HTTP/1.1\r\nHost: localhost\r\n"
                            "Accept: text/event-stream\r\n\r\n".encode())

    def finish(self, fresh):
        """Read until it holds what is fresh; how many diffs that took. Who took nothing for longer
        than the server waits was cut off, and asks on from where it is."""
        latest = time.monotonic() + 20
        try:
            answer = http.client.HTTPResponse(self.socket)
            answer.begin()
            while not self.view.equals(fresh) and time.monotonic() < latest:
                line = answer.readline()
                if line.startswith(b"data: "):
                    self.view.apply(json.loads(line[6:]))
        except ConnectionResetError:
            self.ask_on(fresh, latest)
        self.socket.close()
        return self.view.diffs

    def ask_on(self, fresh, latest):
        self.was_cut = True
        connection = Connection(self.server)
        while not self.view.equals(fresh) and time.monotonic() < latest:
            self.view.apply(connection.get("note", self.query | {"since": self.view.token}))
        connection.close()


class Load:
    """Saves at a steady pace; how late each fast reader heard of each."""

    def __init__(self, server, followers, chance):
        self.connection, self.chance = Connection(server), chance
        self.began, self.late, self.rows = {}, [], 20
        for follower in followers:
            follower.heard = self.heard

    def heard(self, diff):
        now = time.monotonic()
        for entry in diff["items"]["updated"] + diff["items"]["moved"]:
            if (mark := entry["changed"].get("mark")) in self.began:
                self.late.append(now - self.began[mark])

    def run(self, seconds):
        self.late, until = [], time.monotonic() + seconds
        while time.monotonic() < until:
            mark = len(self.began) + 1
            self.began[mark] = time.monotonic()
            self.connection.save([{"update": "note", "id": self.chance.randint(1, self.rows),
                                   "values": {"mark": mark, "text": text(self.chance)}}])
            time.sleep(0.01)
        time.sleep(0.3)
        return self.late


def text(chance):
    return f"{chance.random():.17f}" * (SIZE // 19)


def run(program, folder, seconds, seed):
    chance, file = random.Random(seed), folder / "stalled.sqlite"
    database = sqlite3.connect(file)
    database.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, mark INTEGER, text TEXT)")
    database.executemany("INSERT INTO note VALUES (?, 0, '')", [(id,) for id in range(1, 21)])
    database.commit()
    database.close()
    query, faults = {"sort": "-mark", "limit": 15, "digest": "true"}, []
    with Server(program, file) as server:
        fast = [Follower(server, "note", query, stream=True) for _ in range(FAST)]
        for thread in fast:
            thread.start()
        faults += compare(server, fast)
        load = Load(server, fast, chance)
        alone = load.run(seconds / 3)
        stalled = [Stalled(server, query) for _ in range(STALLED)]
        beside = load.run(seconds / 3)
        memory = server.memory()
        beside += load.run(seconds / 3)
        growth = server.memory() - memory
        faults += compare(server, fast)
        fresh = load.connection.get("note", query)
        diffs = [reader.finish(fresh) for reader in stalled]
        faults += [f"a stalled reader: {reader.view.difference(fresh)}"
                   for reader in stalled if not reader.view.equals(fresh)]
        for thread in fast:
            thread.ended.set()
        faults += [fault for thread in fast for fault in thread.faults]
    without, with_them = statistics.median(alone), statistics.median(beside)
    if with_them > without * SLOWER + EXTRA:
        faults.append(f"fast readers hear after {with_them * 1e3:.1f} ms, {without * 1e3:.1f} alone")
    if growth > GROWTH:
        faults.append(f"memory grew by {growth / 1e6:.1f} MB in the last {seconds / 3:.0f} s")
    return Result("R5", f"{STALLED} stalled streams, {len(load.began)} saves of {SIZE} bytes", faults, {
        "fast readers hear after": f"{with_them * 1e3:.1f} ms (alone {without * 1e3:.1f})",
        "memory": f"{memory / 1e6:.0f} MB", "grown": f"{growth / 1e6:.1f} MB",
        "diffs a stalled reader read": max(diffs),
        "cut off": sum(reader.was_cut for reader in stalled)})
