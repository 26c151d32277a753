"""A served file: what a fault is done to. Starts `livefetch serve` on a free loopback port, ends it
by its process id, and says what the process uses. Entered: the program and an SQLite file."""

import http.client
import json
import os
import signal
import sqlite3
import subprocess
import urllib.parse
from contextlib import closing


class Server:
    failures = []  # of servers that died, or did not end with status 0

    def __init__(self, program, file, *flags, host="127.0.0.1", token=None, environment={}, log=os.devnull):
        self.program, self.file, self.flags, self.log = program, file, flags, log
        self.process, self.was_ended, self.host, self.port = None, False, host, 0
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.environment = os.environ | environment
        if token:
            self.flags += "--host", host, "--token", token

    def start(self, *flags):
        """Starts, and waits for the line that says where it listens."""
        command = [self.program, "serve", str(self.file), "--port", "0", *self.flags, *flags]
        self.was_ended = False
        with open(self.log, "a") as log:
            self.process = subprocess.Popen(
                command, env=self.environment, stdout=subprocess.PIPE, stderr=log, text=True)
        line = self.process.stdout.readline()
        if "listening on" not in line:
            raise RuntimeError(f"the server did not start: exit status {self.process.wait()}")
        self.port = int(line.rsplit(":", 1)[1])
        return self

    def end(self, by=signal.SIGTERM, within=30):
        """Ends the process and returns its exit status; a hung one is killed."""
        self.was_ended = True
        self.process.send_signal(by)
        try:
            return self.process.wait(within)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        """Ends the process where nothing else has done so, and keeps a status that is not 0."""
        if not self.process or self.was_ended:
            return
        status = self.process.poll()
        if status is None:
            status = self.end()
        if status:
            Server.failures.append(f"the server of {self.file} ended with status {status}")

    # -- What the process uses

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def memory(self):
        """Resident bytes."""
        with open(f"/proc/{self.process.pid}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def cpu(self):
        """Seconds of processor time so far."""
        with open(f"/proc/{self.process.pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Refused(Exception):
    """An answer that is not 2xx: its status, and the problem's code and detail."""

    def __init__(self, status, code, detail=None):
        super().__init__(f"{status} {code}: {detail}" if detail else f"{status} {code}")
        self.status, self.code = status, code


class Connection:
    """One kept connection to wherever the server listens now."""

    def __init__(self, server, timeout=70):
        self.http = http.client.HTTPConnection(server.host, server.port, timeout=timeout)
        self.headers = server.headers

    def open(self, method, path, body=None, headers={}):
        headers = self.headers | headers
        self.http.request(method, path, json.dumps(body) if body else None,
                          {"Content-Type": "application/json"} | headers if body else headers)
        answer = self.http.getresponse()
        if answer.status >= 300:
            text = answer.read()
            try:
                problem = json.loads(text)
            except ValueError:
                problem = {"code": text[:80]}
            raise Refused(answer.status, problem.get("code"), problem.get("detail"))
        return answer

    def get(self, entity, query):
        return json.loads(self.open("GET", target(entity, query)).read())

    def save(self, changes):
        return json.loads(self.open("POST", "/v1/save", {"changes": changes}).read())

    def close(self):
        self.http.close()


def target(entity, query):
    return f"/v1/objects/{entity}?{urllib.parse.urlencode(query)}"


def create(file, script):
    """Make an SQLite file, and keep nothing of it open."""
    with closing(sqlite3.connect(file)) as database:
        database.executescript(script)
