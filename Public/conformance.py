#!/usr/bin/env python3
"""Checks a LiveFetch client against a real server, with lost connections, restarts and lost history.

    python3 conformance.py [--livefetch PROGRAM] [--seed N] [--rounds N] -- COMMAND…

COMMAND runs the client to be checked. It gets two more arguments, the server's address and a fetch
as JSON (the body of `POST /v1/fetch`), follows the fetch, and prints the whole result after the
snapshot and after every change: one line of JSON each, in the form of a snapshot (`token`, and
`sections` or `total`). It is ended by SIGTERM. Anything may go to its standard error.

Checked: every line equals a snapshot of the server, in the order of the saves, and the last line
equals the last one; the client resumes by its token, goes on after cut answers, 503 with
`Retry-After`, kill -9 of the server, pruned history and schema changes, and does not ask more often
than it has to. Python 3.9 or later and its standard library are enough.

All checks run, and each prints a line. After one that failed, the next one starts the client again.
The exit status is 0 if all passed, 1 if one failed, and 2 if the server or the client cannot be started.
"""

import argparse
import contextlib
import json
import queue
import random
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

SCHEMA = """
CREATE TABLE Team (id INTEGER PRIMARY KEY, name TEXT NOT NULL, league TEXT);
CREATE TABLE Player (id INTEGER PRIMARY KEY, name TEXT NOT NULL, points INTEGER, weight REAL,
  team INTEGER REFERENCES Team(id) ON DELETE SET NULL);
"""
FETCHES = {
    "all": {"entity": "Player", "sort": ["name"], "digest": True},
    "window": {"entity": "Player", "sort": ["-points", "name"], "limit": 5, "select": ["points"]},
    "sections": {
        "entity": "Player",
        "section": "team.league",
        "sort": ["team.name", "-points"],
        "where": "points > 10",
        "select": ["name", "points", "team.name"],
    },
    "ids": {"entity": "Player", "sort": ["weight"], "as": "ids"},
    "count": {"entity": "Player", "where": "team.league == 'A'", "as": "count"},
    "related": {"entity": "Player", "sort": ["-points"], "limit": 6, "expand": ["team"]},
    "groups": {
        "entity": "Player",
        "as": "dictionaries",
        "group": ["team.league"],
        "select": ["team.league", "n:@count", "sum:@sum.points"],
        "sort": ["team.league"],
    },
}
PATIENCE = 40  # seconds for a client to print what it has to


class Failed(Exception):
    pass


class Server:
    """The real server, on a port that stays the same when it starts again."""

    def __init__(self, program, folder):
        self.program, self.file, self.port = program, folder / "store.sqlite", 0
        store = sqlite3.connect(self.file)
        store.executescript(SCHEMA)
        store.close()
        self.begin()

    def begin(self, *options):
        self.process = None
        words = [self.program, "serve", str(self.file), "--port", str(self.port), *options]
        with open(self.file.with_suffix(".log"), "a") as log:
            self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=log, text=True)
        for line in self.process.stdout:
            found = re.search(r"listening on http://127\.0\.0\.1:(\d+)", line)
            if found:
                self.port = int(found[1])
                threading.Thread(target=self.process.stdout.read, daemon=True).start()
                return
        self.process.kill()
        self.process.wait()
        said = self.file.with_suffix(".log").read_text().strip()
        raise Failed(f"the server did not start: {said or self.program}")

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def end(self, how=signal.SIGTERM):
        if not self.is_running():
            return
        self.process.send_signal(how)
        self.process.wait(60)

    def ask(self, path, body):
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}",
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)


class Relay:
    """Stands between the client and the server: counts requests, and cuts and refuses on demand."""

    def __init__(self, server):
        self.server, self.connections, self.requests, self.fresh = server, set(), 0, 0
        self.cut_after, self.refuse_until, self.asked_while_refused = None, 0, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        try:
            upstream = socket.create_connection(("127.0.0.1", self.server.port))
        except OSError:
            return client.close()
        pair = (client, upstream)
        self.connections.add(pair)
        asked = []  # what came of the request that is not answered yet
        threading.Thread(target=self.answers, args=(upstream, client, asked), daemon=True).start()
        try:
            while data := client.recv(1 << 16):
                count = len(re.findall(rb"(?:^|\n)(?:GET|POST) [^\r\n]* HTTP/1\.1\r\n", data))
                self.requests += count
                if count and time.monotonic() < self.refuse_until:
                    self.asked_while_refused += 1
                    left = max(1, round(self.refuse_until - time.monotonic()))
                    problem = b'{"status":503,"code":"busy"}'
                    head = f"HTTP/1.1 503 Busy\r\nRetry-After: {left}\r\nContent-Length: {len(problem)}"
                    client.sendall(head.encode() + b"\r\nConnection: close\r\n\r\n" + problem)
                    break
                asked.append(data)
                upstream.sendall(data)
        except OSError:
            pass
        self.drop(pair)

    def answers(self, upstream, client, asked):
        try:
            while data := upstream.recv(1 << 16):
                request = b"".join(asked).lower()
                asked.clear()
                if request and b"since" not in request and b"last-event-id" not in request:
                    self.fresh += 1
                if self.cut_after is not None:
                    data, self.cut_after = data[: self.cut_after], None
                    client.sendall(data)
                    break
                client.sendall(data)
        except OSError:
            pass
        self.drop((client, upstream))

    def drop(self, pair):
        self.connections.discard(pair)
        for end in pair:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            end.close()

    def drop_all(self):
        for pair in list(self.connections):
            self.drop(pair)


class Client:
    """The client under test with one fetch, and what it printed."""

    def __init__(self, name, command, server):
        self.name, self.fetch, self.server = name, FETCHES[name], server
        self.relay, self.lines = Relay(server), queue.Queue()
        # What the server held, the last line, and the place among them to which it belongs.
        self.states, self.printed, self.place = [], None, 0
        address = f"http://127.0.0.1:{self.relay.port}"
        words = [*command, address, json.dumps(self.fetch)]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def record(self):
        """Notes what the server holds now, unless it was already the last state; whether it noted it."""
        state = plain(self.server.ask("/v1/fetch", self.fetch))
        is_new = not self.states or self.states[-1] != state
        if is_new:
            self.states.append(state)
        return is_new

    def check(self):
        """Reads lines until the client has printed what the server holds now. Each has to be a
        recorded state, and none may go back."""
        end = time.monotonic() + PATIENCE
        while self.printed != self.states[-1]:
            try:
                line = self.lines.get(timeout=max(0.01, end - time.monotonic()))
            except queue.Empty:
                raise self.failed(f"did not print the last state within {PATIENCE} s") from None
            if line is None:
                raise Failed(f"{self.name}: the client ended, status {self.process.wait()}")
            try:
                snapshot = json.loads(line)
                printed = plain(snapshot)
                if not isinstance(snapshot["token"], str):
                    raise ValueError
            except (ValueError, TypeError, LookupError, AttributeError):
                raise self.failed("printed what is no snapshot", line.strip()) from None
            if printed not in self.states[self.place :]:
                raise self.failed("printed what the server never held, or held before", printed)
            self.printed = printed
            self.place += self.states[self.place :].index(printed)

    def failed(self, what, printed=None):
        """The failure with the fetch, the states of the server that the client might have printed
        (without tokens and cursors), the line before, and what it printed."""
        expected = self.states[self.place + (self.printed is not None) :]
        if len(expected) > 3:
            expected = [*expected[:2], f"({len(expected) - 3} more)", expected[-1]]
        rows = [("fetch", self.fetch), ("printed before", self.printed), ("printed", printed)]
        rows += [("expected" if number == 0 else "or", state) for number, state in enumerate(expected)]
        shown = [
            f"\n      {name + ':':<16}{row if isinstance(row, str) else json.dumps(row)}"
            for name, row in rows
            if row is not None
        ]
        return Failed(f"{self.name}: {what}" + "".join(shown))

    def end(self):
        self.process.terminate()
        self.process.send_signal(signal.SIGCONT)  # a check that failed may have stopped it
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.relay.listener.close()
        self.relay.drop_all()


def plain(result):
    """A result without what may differ between equal ones: tokens and cursors. A client may keep
    related objects that nothing refers to any more."""
    kept = {name: result[name] for name in ("sections", "total", "count") if name in result}
    if "included" in result:
        used = {item["team"] for section in result["sections"] for item in section["items"]}
        teams = result["included"].get("Team", {})
        kept["teams"] = {id: teams[id] for id in sorted(teams) if int(id) in used}
    return kept


class Saves:
    """Random saves."""

    def __init__(self, server, source):
        self.server, self.random, self.count = server, source, 0
        self.save({"insert": "Team", "values": {"name": f"T{i}", "league": "ABC"[i % 3]}} for i in range(6))
        self.save(self.insert() for _ in range(12))

    def save(self, changes):
        self.server.ask("/v1/save", {"changes": list(changes)})

    def insert(self):
        self.count += 1
        source = self.random
        values = {
            "name": f"{source.choice('äÀbZ z')}{self.count}",
            "points": source.choice([None, *range(30)]),
            "weight": source.choice([None, 0.1, 2.5, 1e22, -3.75]),
            "team": source.choice([None, 1, 2, 3, 4, 5, 6]),
        }
        return {"insert": "Player", "values": values}

    def change(self):
        source = self.random
        kind = source.choice(["insert", "points", "points", "team", "weight", "delete", "league"])
        if kind == "insert":
            return self.insert()
        if kind == "league":
            where, values = f"id == {source.randint(1, 6)}", {"league": source.choice("ABC")}
            return {"update": "Team", "where": where, "values": values}
        where = f"id == {source.randint(1, self.count)}"
        if kind == "delete":
            return {"delete": "Player", "where": where}
        return {"update": "Player", "where": where, "values": {kind: self.insert()["values"][kind]}}

    def some(self):
        self.save(self.change() for _ in range(self.random.randint(1, 4)))


class Run:
    def __init__(self, program, command, folder, seed, rounds):
        self.rounds, self.command, self.clients = rounds, command, []
        self.server = Server(program, folder)
        self.saves = Saves(self.server, random.Random(seed))

    def start_clients(self):
        """Starts the clients, and the server if it has ended."""
        if not self.server.is_running():
            self.server.begin()
        for name in FETCHES:
            self.clients.append(Client(name, self.command, self.server))
        self.record()

    def record(self):
        """Notes what the server holds now; whether the result of a client has changed."""
        return any([client.record() for client in self.clients])

    def check(self):
        for client in self.clients:
            client.check()

    def step(self, count=1):
        """Saves until a result has changed: a save that changes none would let the next check pass at once."""
        for _ in range(count):
            self.saves.some()
            while not self.record():
                self.saves.some()

    def snapshots(self):
        """the first line is the snapshot"""
        self.check()

    def diffs(self):
        """every save is seen, one at a time and several in a row"""
        for number in range(self.rounds):
            self.step(1 + number % 3)
            self.check()

    def quiet(self):
        """while nothing changes the client waits and asks no more"""
        self.check()
        time.sleep(1)
        before = [client.relay.requests for client in self.clients]
        time.sleep(3)
        for client, count in zip(self.clients, before):
            if client.relay.requests > count + 2:
                asked = client.relay.requests - count
                raise Failed(f"{client.name}: asked {asked} times in 3 s in which nothing changed")
        # A client that never asks again does not wait.
        self.step(2)
        self.check()

    @contextlib.contextmanager
    def keeping_tokens(self):
        """Fails if a client requests a snapshot again, where its token is as good as before."""
        for client in self.clients:
            client.relay.fresh = 0
        yield
        for client in self.clients:
            if client.relay.fresh:
                raise Failed(f"{client.name}: {client.relay.fresh} requests without the last token")

    def lost_connections(self):
        """connections that are lost while the client waits, and answers that are cut short"""
        with self.keeping_tokens():
            for number in range(6):
                for client in self.clients:
                    if number % 2:
                        client.relay.cut_after = 17 * number + 40
                    else:
                        client.relay.drop_all()
                self.step(2)
                self.check()

    def refused(self):
        """503 with Retry-After is respected"""
        for client in self.clients:
            client.relay.asked_while_refused = 0
            client.relay.refuse_until = time.monotonic() + 4
            client.relay.drop_all()
        with self.keeping_tokens():
            self.step(2)
            self.check()
        for client in self.clients:
            if client.relay.asked_while_refused > 3:
                count = client.relay.asked_while_refused
                raise Failed(f"{client.name}: {count} requests within the 4 s of Retry-After")

    def killed(self):
        """kill -9 of the server, and a clean end; the client continues from its token"""
        with self.keeping_tokens():
            for how in (signal.SIGKILL, signal.SIGTERM):
                self.server.end(how)
                time.sleep(0.3)
                self.server.begin()
                self.step(2)
                self.check()

    def pruned(self):
        """history that is gone: the client takes a snapshot again"""
        for client in self.clients:
            client.process.send_signal(signal.SIGSTOP)
        self.server.end()
        self.server.begin("--keep-history", "1")
        self.step(5)
        self.server.end()
        self.server.begin("--keep-history", "1")
        for client in self.clients:
            client.process.send_signal(signal.SIGCONT)
        self.check()
        self.step()
        self.check()

    def await_column(self, entity, name):
        """Waits until the server's items have the column."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                answer = self.server.ask("/v1/fetch", {"entity": entity, "limit": 1})
            except urllib.error.HTTPError:
                answer = None
            if answer and name in answer["sections"][0]["items"][0]:
                return
            time.sleep(0.02)
        raise Failed(f"the server does not show the new column within {PATIENCE} s")

    def schema(self):
        """a schema that changes while it is served"""
        store = sqlite3.connect(self.server.file, timeout=20)
        store.execute("ALTER TABLE Team ADD COLUMN city TEXT")
        store.close()
        # A client may see the new column before the next save.
        self.await_column("Team", "city")
        self.record()
        self.step()
        self.check()

    def end_clients(self):
        for client in self.clients:
            client.end()
        self.clients = []

    def end(self):
        self.end_clients()
        self.server.end()


PHASES = (
    "snapshots",
    "diffs",
    "quiet",
    "lost_connections",
    "refused",
    "killed",
    "pruned",
    "schema",
)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--livefetch", default="livefetch", help="the server's program")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 31))
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("command", nargs="+")
    given = parser.parse_args()
    for word in (given.livefetch, given.command[0]):
        if shutil.which(word) is None:
            return refuse(f"there is no program {word}")
    # The client ends by SIGTERM also where this script was started with signals blocked.
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    with tempfile.TemporaryDirectory() as folder:
        try:
            run = Run(given.livefetch, given.command, Path(folder), given.seed, given.rounds)
        except (Failed, OSError) as failure:
            return refuse(failure)
        try:
            run.start_clients()
        except OSError as failure:
            run.end()
            return refuse(failure)
        print(f"seed {given.seed}", flush=True)
        try:
            failures = sum(not passes(run, phase) for phase in PHASES)
        finally:
            run.end()
    print(f"{failures} of {len(PHASES)} failed (seed {given.seed})" if failures else "all passed")
    return 1 if failures else 0


def passes(run, phase):
    """Runs a check and prints its line. After a failure the clients start again."""
    method, began = getattr(run, phase), time.monotonic()
    try:
        if not run.clients:
            run.start_clients()
            # Each check begins with clients that have printed the snapshot.
            run.check()
        method()
    except (Failed, OSError) as failure:
        print(f"FAIL  {method.__doc__}: {failure}", flush=True)
        run.end_clients()
        return False
    print(f"ok    {method.__doc__} ({time.monotonic() - began:.1f} s)", flush=True)
    return True


def refuse(reason):
    print(f"conformance.py: {reason}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
