"""A client that never lets go of a fetch: by long-poll or by stream, it comes back with `since`
whenever the connection ends, wherever the server listens then. Events that cannot be true, and
every answer that refuses it, is kept in `faults`."""

import http.client
import json
import threading
import time

from server import Connection, Refused, target
from view import View, Wrong


class Follower(threading.Thread):
    def __init__(self, server, entity, query, stream=False):
        super().__init__(daemon=True)
        self.server, self.entity, self.query, self.stream = server, entity, query, stream
        self.view, self.faults, self.resumed = View(), [], 0
        self.ended, self.fresh = threading.Event(), False  # fresh: of this connection
        self.heard = lambda diff: None  # called with every diff, in this thread

    def run(self):
        while not self.ended.is_set():
            connection, self.fresh = Connection(self.server), False
            try:
                self.follow(connection)
            except (Wrong, Refused, ValueError) as fault:
                self.note(fault)
            except (OSError, http.client.HTTPException):
                time.sleep(0.02)  # the server is gone, or went in the middle of an answer
            finally:
                connection.close()

    def note(self, fault):
        if isinstance(fault, Refused) and fault.status == 503 and fault.code == "shutting-down":
            return
        self.faults.append(f"{'stream' if self.stream else 'poll'} {self.query}: {fault}")
        self.view.token = None  # begins anew
        time.sleep(0.1)

    def follow(self, connection):
        if self.view.token is None:
            self.view.begin(connection.get(self.entity, self.query))
            self.fresh = True
        self.read(connection) if self.stream else self.poll(connection)

    def poll(self, connection):
        while not self.ended.is_set():
            self.take(connection.get(self.entity, self.query | {"since": self.view.token}))

    def read(self, connection):
        where = target(self.entity, self.query | {"since": self.view.token})
        answer = connection.open("GET", where, headers={"Accept": "text/event-stream"})
        name = None
        while not self.ended.is_set():
            line = answer.readline()
            if not line:
                return
            if line.startswith(b"event: "):
                name = line[7:].strip()
            if line.startswith(b"data: ") and line.endswith(b"\n"):
                message = json.loads(line[6:])
                if name == b"error":
                    raise Refused(*(message.get(key) for key in ("status", "code", "detail")))
                if name == b"snapshot":
                    self.replace(message)
                elif name == b"diff":
                    self.take(message)
                else:
                    raise Wrong(f"event {name}: {line[:120]}")

    def replace(self, snapshot):
        """A snapshot in place of a diff, which a stream gets whose token has expired."""
        raise Wrong(f"a snapshot at {snapshot['token']}")

    def take(self, diff):
        self.resumed += not self.fresh
        self.fresh = True
        self.view.apply(diff)
        self.heard(diff)


def compare(server, followers, within=10):
    """While nobody saves: does each hold what a fresh snapshot says? The faults, as text."""
    connection, faults = Connection(server), []
    latest = time.monotonic() + within
    for follower in followers:
        fresh = connection.get(follower.entity, follower.query)
        while not (follower.view.state and follower.view.equals(fresh)):
            if time.monotonic() > latest:
                faults.append(f"{follower.query}: {follower.view.difference(fresh)}")
                break
            time.sleep(0.01)
    connection.close()
    return faults
