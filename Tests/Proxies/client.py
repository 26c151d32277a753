"""A server of LiveFetch, and requests to it or to a proxy in front of it."""

import contextlib
import http.client
import json
import re
import signal
import subprocess
import sys

from proxies import LIMIT


class Unanswered(http.client.HTTPException):
    """502 of a proxy whose connection was ended, or 503 of a server that is ending."""


class Client:
    """Requests to one port, each on a connection of its own."""

    def __init__(self, port, **headers):
        self.port, self.headers = port, {"Host": f"127.0.0.1:{port}", **headers}

    def open(self, *arguments, **options):
        return self.request(*arguments, **options).getresponse()

    def request(self, method, path, body=None, headers=None, source="127.0.0.1"):
        """Sends a request and returns its connection."""
        connection = http.client.HTTPConnection(
            "127.0.0.1", self.port, timeout=LIMIT + 30, source_address=(source, 0))
        given = {**self.headers, **(headers or {})}
        if body is not None:
            given["Content-Type"] = "application/json"
            body = json.dumps(body)
        connection.request(method, path, body, given)
        return connection

    def json(self, *arguments, **options):
        answer = self.open(*arguments, **options)
        body = answer.read()
        if answer.status in (502, 503):
            raise Unanswered(f"{answer.status} {body}")
        assert answer.status in (200, 201), (answer.status, body)
        return json.loads(body)

    def insert(self, text, **headers):
        self.json("POST", "/v1/objects/note", {"text": text}, headers)


def texts(diff):
    """The texts of the inserted rows, in their order."""
    return [entry["item"]["text"] for entry in diff["items"]["inserted"]]


def next_event(stream):
    """Returns the kind and the data of the next event; comments and other fields are passed over."""
    kind = None
    while raw := stream.readline():
        line = raw.decode().rstrip("\n")
        if line.startswith("event: "):
            kind = line[7:]
        elif line.startswith("data: "):
            data = line[6:]
        elif not line and kind:
            return kind, data
    sys.exit("proxies: the stream ended")


class Server:
    """`livefetch serve`, whose request log is `log`. It has the same port after a restart."""

    def __init__(self, livefetch, store, log, *flags, environment=None):
        self.log, self.port, self.environment = log, 0, environment
        self.command = [livefetch, "serve", store, "--log-requests", "--trust-proxy", "127.0.0.1", *flags]

    def begin(self):
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                [*self.command, "--port", str(self.port)], stdout=subprocess.PIPE, stderr=log,
                text=True, env=self.environment)

    def wait(self):
        """Waits for the line that says where it listens."""
        line = self.process.stdout.readline()
        found = re.search(r":(\d+)$", line.strip())
        assert found, f"the server did not start: {self.log.read_text()}"
        self.port = int(found[1])

    def end(self, by=signal.SIGTERM):
        self.process.send_signal(by)
        status = self.process.wait(LIMIT)
        assert status == (0 if by == signal.SIGTERM else -by), f"the server ended with status {status}"

    def lines(self):
        return self.log.read_text().splitlines()


@contextlib.contextmanager
def serving(*servers):
    """Starts all at the same time, and ends them."""
    begun = []
    try:
        for server in servers:
            server.begin()
            begun.append(server)
        for server in servers:
            server.wait()
        yield servers
        for server in servers:
            server.end()
    finally:
        for server in begun:
            server.process.kill()
            server.process.wait(LIMIT)
            server.process.stdout.close()
