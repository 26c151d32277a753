"""R11: clients that ask for more than the server can do. Others are answered in time, what is refused
is never made, and the memory of answers and bodies has a bound."""

import http.client
import signal
import socket
import sqlite3
import threading
import time
from contextlib import closing

from report import Result
from server import Connection, Refused, Server, create, target
from slow import PAIR as ENDLESS, SCHEMA

LIMIT = 3  # seconds of --query-timeout
# A scan of 12 MB; a second or so.
SCAN = "text CONTAINS 'b'"
LONG = "id <= 40 AND SUBQUERY(tree.leaf, $a, $a.n * n == -1 OR $a.text ENDSWITH 'b').@count > 0"


def run(program, folder, flags=("--query-timeout", str(LIMIT))):
    yield queries(program, folder, 4, flags)
    yield queries(program, folder, 40, flags)
    yield batches(program, folder, flags)
    yield shutdown(program, folder, flags)
    yield unread(program, folder, (*flags, "--max-memory-in-flight", str(64 << 20)))
    yield bodies(program, folder, (*flags, "--max-memory-in-flight", str(64 << 20)))


def ask(server, method, path, body=None, timeout=120):
    """Seconds, and the status with the problem's code; nothing where the connection ended."""
    connection, began = Connection(server, timeout), time.monotonic()
    try:
        connection.open(method, path, body).read()
        outcome = "200"
    except Refused as refused:
        outcome = f"{refused.status} {refused.code}"
    except (OSError, http.client.HTTPException):
        outcome = "no answer"
    connection.close()
    return time.monotonic() - began, outcome


class Loop:
    """Threads that each repeat one request, and what they were answered."""

    def __init__(self, server, count, method, path, body=None):
        self.server, self.request, self.isOver = server, (method, path, body), False
        self.seconds, self.outcome = [], {}
        self.threads = [threading.Thread(target=self.repeat) for _ in range(count)]
        for thread in self.threads:
            thread.start()

    def repeat(self):
        while not self.isOver:
            seconds, outcome = ask(self.server, *self.request)
            self.seconds.append(seconds)
            self.outcome[outcome] = self.outcome.get(outcome, 0) + 1
            if outcome.startswith("503"):
                time.sleep(1)

    def end(self):
        self.isOver = True
        for thread in self.threads:
            thread.join()

    def __str__(self):
        return ", ".join(f"{count} × {outcome}" for outcome, count in sorted(self.outcome.items()))


def queries(program, folder, count, flags):
    file, faults = folder / f"queries{count}.sqlite", []
    create(file, SCHEMA)
    with Server(program, file, *flags) as server:
        path = target("leaf", {"where": SCAN, "limit": 1})
        alone = ask(server, "GET", path)[0]
        loop = Loop(server, count, "GET", target("leaf", {"where": ENDLESS}))
        time.sleep(1)
        waits = []
        for number in range(10):
            seconds, outcome = ask(server, "GET", path + f"&offset={number}")
            waits.append(seconds)
            if outcome != "200":
                faults.append(f"a small query: {outcome} after {seconds:.2f} s")
        loop.end()
        # Each of the others is tried for 50 ms first.
        if max(waits) > 1 + 0.05 * count:
            faults.append(f"a small query took {max(waits):.2f} s")
        if max(loop.seconds) > LIMIT * 1.5 + 1:
            faults.append(f"an endless query was answered after {max(loop.seconds):.2f} s")
    return Result("R11", f"{count} connections with endless queries", faults, {
        "a small query": f"{max(waits):.2f} s ({alone:.2f} s alone)", "the endless": str(loop),
        "their longest": f"{max(loop.seconds):.2f} s"})


def batches(program, folder, flags):
    file, faults = folder / "batches.sqlite", []
    create(file, SCHEMA)
    with Server(program, file, *flags) as server:
        loop = Loop(server, 2, "PATCH", target("leaf", {"where": ENDLESS}), {"n": 1})
        time.sleep(1)
        waits = []
        for _ in range(4):
            seconds, outcome = ask(server, "POST", "/v1/objects/tree", {"name": "two"})
            waits.append(seconds)
            if outcome != "200":
                faults.append(f"a save: {outcome} after {seconds:.2f} s")
        loop.end()
        if max(waits) > LIMIT + 1.5:
            faults.append(f"a save took {max(waits):.2f} s")
    return Result("R11", "2 clients that loop a batch", faults, {
        "one save": f"{max(waits):.2f} s", "the batches": str(loop),
        "their longest": f"{max(loop.seconds):.2f} s"})


def shutdown(program, folder, flags, count=30):
    """Saves queue up, then the server is asked to end."""
    file, faults, answers = folder / "shutdown.sqlite", [], {}
    create(file, SCHEMA)
    server = Server(program, file, "--query-timeout", "10").start()

    def change(number):
        where = f"(id == {number} AND n > 0) OR ({LONG})"
        seconds, outcome = ask(server, "PATCH", target("leaf", {"where": where}), {"n": -number})
        answers[number] = outcome

    threads = [threading.Thread(target=change, args=(number,)) for number in range(1001, 1001 + count)]
    for thread in threads:
        thread.start()
        time.sleep(0.02)
    time.sleep(1)
    began = time.monotonic()
    status = server.end(signal.SIGTERM, within=120)
    took = time.monotonic() - began
    for thread in threads:
        thread.join()
    with closing(sqlite3.connect(file)) as database:
        made = {row[0] for row in database.execute("SELECT id FROM leaf WHERE n < 0")}
    refused = [number for number, outcome in answers.items() if outcome != "200"]
    lies = [number for number in refused if number in made]
    lies += [number for number, outcome in answers.items() if outcome == "200" and number not in made]
    if lies:
        faults.append(f"{len(lies)} of {count} answers are not what happened")
    if status != 0 or took > 21:
        faults.append(f"exit status {status} after {took:.1f} s")
    outcome = {}
    for answer in answers.values():
        outcome[answer] = outcome.get(answer, 0) + 1
    return Result("R11", f"{count} saves queued at SIGTERM", faults, {
        "answers": str(outcome), "made": len(made), "refused and made": len(lies),
        "ended after": f"{took:.1f} s"})


def unread(program, folder, flags, count=16):
    """Answers of 12 MB that nobody reads."""
    file, faults, sockets, heads = folder / "unread.sqlite", [], [], {}
    create(file, SCHEMA)
    with Server(program, file, *flags) as server:
        before = server.memory()
        for number in range(count):
            client = socket.socket()
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect((server.host, server.port))
            client.send(f"GET /v1/objects/leaf?offset={number % 2} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            sockets.append(client)
        for client in sockets:
            client.settimeout(60)
            head = client.recv(12).decode()
            heads[head[9:]] = heads.get(head[9:], 0) + 1
        memory = server.memory() - before
        small = ask(server, "GET", target("tree", {}))[1]
        for client in sockets:
            client.close()
        if memory > 200 << 20:
            faults.append(f"{memory >> 20} MB are held for answers that nobody reads")
        if not small.startswith(("200", "503")):
            faults.append(f"a small fetch: {small}")
        after = until_served(server)
        if after is None:
            faults.append("it does not serve large answers again")
    return Result("R11", f"{count} unread answers of 12 MB", faults, {
        "statuses": str(heads), "memory": f"{memory >> 20} MB", "a small fetch": small})


def bodies(program, folder, flags, count=60):
    """Bodies of 16 MB that are not finished."""
    file, faults, sockets, refused = folder / "bodies.sqlite", [], [], 0
    create(file, SCHEMA)
    with Server(program, file, *flags) as server:
        before, piece = server.memory(), b" " * (1 << 20)
        for _ in range(count):
            client = socket.create_connection((server.host, server.port))
            client.settimeout(20)
            head = "POST /v1/save HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            client.send(f"{head}Content-Length: {16 << 20}\r\n\r\n".encode())
            sockets.append(client)
            try:
                for _ in range(15):
                    client.sendall(piece)
            except OSError:
                pass
        time.sleep(0.5)
        memory = server.memory() - before
        for client in sockets:
            client.settimeout(0.05)
            try:
                refused += client.recv(12).endswith(b"503")
            except OSError:
                pass
            client.close()
        if memory > 200 << 20:
            faults.append(f"{memory >> 20} MB are held for bodies that do not end")
        if until_served(server) is None:
            faults.append("it does not serve large answers again")
    return Result("R11", f"{count} unfinished bodies of 15 MB", faults, {
        "refused": refused, "memory": f"{memory >> 20} MB"})


def until_served(server):
    """Seconds until a large answer is given again."""
    began = time.monotonic()
    while time.monotonic() < began + 20:
        if ask(server, "GET", target("leaf", {}))[1] == "200":
            return time.monotonic() - began
        time.sleep(0.1)
    return None
