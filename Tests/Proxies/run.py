#!/usr/bin/env python3
"""Tries the settings of nginx, HAProxy and Caddy in docker/deploy/ with the real proxies.

usage: run.py LIVEFETCH [nginx|haproxy|caddy]...

For each proxy: the address that the server sees, an event within a stream without delay, a long-poll
of more than 60 seconds' default limits, and a reload of the proxy under a client that follows a fetch
and misses no save. Listens on loopback only.
"""

import contextlib
import http.client
import json
import os
import pathlib
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

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LIMIT = 60  # Seconds until a step that does not come is a failure.
LONG_POLL = 60
SAVES = 200


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(condition, what):
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        with contextlib.suppress(OSError, http.client.HTTPException):
            if condition():
                return
        time.sleep(0.05)
    sys.exit(f"proxies: {what}: not within {LIMIT} s")


class BadGateway(http.client.HTTPException):
    """The proxy ended the request: Caddy does so with those that wait when it reloads."""


class Client:
    """Requests to one port, each on a connection of its own."""

    def __init__(self, port):
        self.port = port

    def open(self, method, path, body=None, headers=None, timeout=LIMIT + 30):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        given = {"Host": "livefetch.example", **(headers or {})}
        if body is not None:
            given["Content-Type"] = "application/json"
            body = json.dumps(body)
        connection.request(method, path, body, given)
        return connection.getresponse()

    def json(self, *arguments, **options):
        answer = self.open(*arguments, **options)
        body = answer.read()
        if answer.status == 502:
            raise BadGateway
        assert answer.status in (200, 201), (answer.status, body)
        return json.loads(body)

    def insert(self, text):
        self.json("POST", "/v1/objects/note", {"text": text})


class Nginx:
    name = "nginx"

    def __init__(self, folder, port, upstream):
        text = (ROOT / "docker/deploy/nginx.conf").read_text()
        text = text.replace("listen 80;", f"listen 127.0.0.1:{port};")
        text = text.replace("127.0.0.1:8080", f"127.0.0.1:{upstream}")
        temporary = "\n".join(
            f"{kind}_temp_path {folder}/{kind};"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        self.file = folder / "nginx.conf"
        self.file.write_text(
            f"pid {folder}/nginx.pid; error_log {folder}/error.log; daemon off;\n"
            f"events {{ worker_connections 512; }}\n"
            f"http {{ access_log off; {temporary}\n{text} }}\n")
        self.process = subprocess.Popen(["nginx", "-c", self.file, "-e", folder / "error.log"])

    def reload(self):
        self.process.send_signal(signal.SIGHUP)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(LIMIT)


class HAProxy:
    name = "haproxy"

    def __init__(self, folder, port, upstream):
        text = (ROOT / "docker/deploy/haproxy.cfg").read_text()
        text = text.replace("bind :80", f"bind 127.0.0.1:{port}")
        if os.getuid() != 0:
            text = re.sub(r"\n  (user|group|chroot) .*", "", text)
        text = text.replace("127.0.0.1:8080", f"127.0.0.1:{upstream}")
        self.file = folder / "haproxy.cfg"
        self.file.write_text(text)
        # -W: the main process replaces its worker on SIGUSR2.
        self.process = subprocess.Popen(
            ["haproxy", "-W", "-f", self.file, "-p", folder / "haproxy.pid"],
            stderr=(folder / "haproxy.log").open("w"))

    def reload(self):
        self.process.send_signal(signal.SIGUSR2)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(LIMIT)


class Caddy:
    """Without TLS: the other checks are about HTTP, and no authority gives a certificate for the name."""

    name = "caddy"

    def __init__(self, folder, port, upstream):
        self.admin = f"127.0.0.1:{free_port()}"
        self.file = folder / "Caddyfile"
        self.file.write_text(
            f"{{\n\tadmin {self.admin}\n\tdefault_bind 127.0.0.1\n}}\n"
            + (ROOT / "docker/deploy/Caddyfile").read_text())
        self.environment = {
            **os.environ, "HOME": str(folder), "XDG_DATA_HOME": f"{folder}/data",
            "XDG_CONFIG_HOME": f"{folder}/config", "SITE": f"http://livefetch.example:{port}",
            "UPSTREAM": f"127.0.0.1:{upstream}"}
        self.process = self.command("run", stderr=(folder / "caddy.log").open("w"))

    def command(self, name, *arguments, **options):
        return subprocess.Popen(
            ["caddy", name, "--adapter", "caddyfile", "--config", self.file, *arguments],
            env=self.environment, **options)

    def reload(self):
        # `--force`: also where the file is the same.
        command = self.command(
            "reload", "--address", self.admin, "--force", stderr=subprocess.DEVNULL)
        assert command.wait(LIMIT) == 0

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(LIMIT)


def check_address(proxy, log):
    """The server counts the client's address, not one that the client claims."""
    proxy.open("GET", "/v1", headers={
        "X-Forwarded-For": "192.0.2.1", "Forwarded": "for=192.0.2.2", "X-Request-Id": "address"})

    def logged():
        return any("id=address" in line for line in log.read_text().splitlines())

    wait_until(logged, "the request in the log")
    line = next(l for l in log.read_text().splitlines() if "id=address" in l)
    assert "address=127.0.0.1" in line, line


def check_stream(proxy, server):
    """Each event arrives before the next save is made."""
    stream = proxy.open(
        "GET", "/v1/objects/note?sort=id", headers={"Accept": "text/event-stream"})
    assert stream.status == 200
    assert next_event(stream)[0] == "snapshot"
    for number in range(20):
        server.insert(f"event {number}")
        kind, data = next_event(stream)
        assert kind == "diff" and f'"event {number}"' in data, (kind, data)
    stream.close()


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


def check_long_poll(proxy):
    """A wait of 60 s, the default limit of nginx, ends with a diff and not with 504."""
    begin = time.monotonic()
    diff = proxy.json("GET", f"/v1/objects/note?since=now&wait={LONG_POLL}")
    assert diff["items"]["inserted"] == [], diff
    assert time.monotonic() - begin >= LONG_POLL - 1


def check_reload(proxy, server, reload):
    """A client follows a fetch by long-polls while the proxy reloads five times; no save is missed."""
    snapshot = proxy.json("GET", "/v1/objects/note?sort=id&select=text")
    seen, failures, done = [], 0, threading.Event()
    token = snapshot["token"]

    def save():
        for number in range(SAVES):
            server.insert(f"reload {number}")
            if number % 40 == 20:
                reload()
            time.sleep(0.01)
        done.set()

    saver = threading.Thread(target=save)
    saver.start()
    end = time.monotonic() + LIMIT * 2
    while len(seen) < SAVES and time.monotonic() < end:
        try:
            diff = proxy.json(
                "GET", f"/v1/objects/note?sort=id&select=text&since={token}&wait=5")
        except (OSError, http.client.HTTPException):
            failures += 1  # A client asks again; its token still holds.
            time.sleep(0.02)
            continue
        token = diff["to"]
        seen += [entry["item"]["text"] for entry in diff["items"]["inserted"]]
    saver.join()
    assert seen == [f"reload {n}" for n in range(SAVES)], (len(seen), seen[-3:])
    return failures


@contextlib.contextmanager
def serving(livefetch, folder):
    store = folder / "notes.sqlite"
    with contextlib.closing(sqlite3.connect(store)) as database:
        database.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT)")
        database.commit()
    log = folder / "server.log"
    process = subprocess.Popen(
        [livefetch, "serve", store, "--port", "0", "--log-requests", "--trust-proxy",
         "127.0.0.1", "--allow-host", "livefetch.example"],
        stdout=subprocess.PIPE, stderr=log.open("w"), text=True)
    try:
        line = process.stdout.readline()
        yield int(re.search(r":(\d+)$", line.strip())[1]), log
    finally:
        process.terminate()
        process.wait(LIMIT)


def run(kind, livefetch):
    folder = pathlib.Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    try:
        with serving(livefetch, folder) as (upstream, log):
            port = free_port()
            process = kind(folder, port, upstream)
            try:
                check(kind.name, process, Client(port), Client(upstream), log)
            finally:
                process.stop()
    finally:
        shutil.rmtree(folder)


def check(name, process, proxy, server, log):
    wait_until(lambda: proxy.open("GET", "/health/ready").status == 200, f"{name}: start")
    check_address(proxy, log)
    print(f"proxies: {name}: the server sees the client's address", flush=True)
    check_stream(proxy, server)
    print(f"proxies: {name}: every event at once", flush=True)
    check_long_poll(proxy)
    print(f"proxies: {name}: a long-poll of {LONG_POLL} s", flush=True)
    failures = check_reload(proxy, server, process.reload)
    print(f"proxies: {name}: 5 reloads, {SAVES} saves, none missed, "
          f"{failures} requests repeated", flush=True)


def main():
    livefetch, *names = sys.argv[1:]
    kinds = [k for k in (Nginx, HAProxy, Caddy) if not names or k.name in names]
    missing = [k.name for k in kinds if not shutil.which(k.name, path="/usr/sbin:/usr/bin")]
    os.environ["PATH"] += ":/usr/sbin"
    if missing:
        sys.exit(f"proxies: not installed: {' '.join(missing)}")
    for kind in kinds:
        run(kind, livefetch)
    print(f"{len(kinds)} passed, 0 failed")


if __name__ == "__main__":
    main()
