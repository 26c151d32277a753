"""Three servers over one PostgreSQL database behind the proxy of docker/compose.yaml's profile `postgres`."""

import itertools
import os
import re
import signal
import sys
import threading
import time
import types

from client import Client, Server, Unanswered, serving, texts
from proxies import LIMIT, ROOT, Balancer, free_port, service, wait_until

sys.path.append(str(ROOT / "Tests/Faults"))
from follower import Follower, compare  # noqa: E402
from postgres import Primary  # noqa: E402

TOKEN = "secret"
FETCH = "/v1/objects/note?sort=id&select=text"
ROUNDS = 1000  # 6 orders of 27: the chance that one of them does not occur is below 10^-15.


def run(livefetch, folder, *checks):
    """`checks`: of a stream, and of clients that leave."""
    variables = service("server-1")[1]
    environment = {
        **os.environ, "LIVEFETCH_TOKEN": TOKEN,
        "LIVEFETCH_SHUTDOWN_TIMEOUT": variables["LIVEFETCH_SHUTDOWN_TIMEOUT"]}
    with Primary(folder / "postgres") as primary:
        primary.run("CREATE TABLE note(id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, text text)")
        servers = [
            Server(livefetch, primary.target, folder / f"server-{number}.log", environment=environment)
            for number in (1, 2, 3)]
        with serving(*servers):
            port = free_port()
            proxy = Balancer(folder, port, [server.port for server in servers])
            client = Client(port, Authorization=f"Bearer {TOKEN}")
            try:
                check(servers, client, primary, *checks)
            finally:
                proxy.stop()


def check(servers, client, primary, check_stream, check_leaving):
    wait_until(lambda: client.open("GET", "/health/ready").status == 200, "balancer: start")
    assert Client(client.port).open("GET", FETCH).status == 401
    count = check_orders(servers, client)
    print(f"proxies: balancer: {count} times a save, its diff and the next one, each through one of three "
          "servers, in every order", flush=True)
    check_stream(client, client)
    print("proxies: balancer: every event at once", flush=True)
    check_leaving(client, [Client(server.port, **client.headers) for server in servers])
    print("proxies: balancer: the servers see that clients leave", flush=True)
    saves, repeated = check_restarts(servers, client, primary)
    print(f"proxies: balancer: 2 restarts and a kill, {saves} saves, none missed, {repeated} of them "
          "repeated", flush=True)


def check_orders(servers, client):
    """Saves through one server, gets the diff through another, and goes on with its token at the third.
    The proxy chooses the servers; this is repeated until each order has occurred."""
    token = client.json("GET", FETCH)["token"]
    wanted = set(itertools.permutations(range(len(servers))))
    for number in range(ROUNDS):
        client.insert(f"first {number}", **{"X-Request-Id": f"save-{number}"})
        diff = after(client, token, f"diff-{number}")
        assert texts(diff) == [f"first {number}"], diff
        client.insert(f"second {number}")
        diff = after(client, diff["to"], f"next-{number}")
        assert texts(diff) == [f"second {number}"], diff
        token = diff["to"]
        if number % 20 == 19:
            wanted -= orders(servers, number)
            if not wanted:
                return number + 1
    sys.exit(f"proxies: balancer: orders that did not occur: {wanted}")


def after(client, token, name):
    return client.json("GET", f"{FETCH}&since={token}&wait=30", headers={"X-Request-Id": name})


def orders(servers, last):
    """Which server has logged the save, the diff and the next diff of each round."""
    places = {}

    def find():
        for place, server in enumerate(servers):
            for line in server.lines():
                if found := re.search(r"\bid=((?:save|diff|next)-\d+)\b", line):
                    places[found[1]] = place
        return all(f"{kind}-{last}" in places for kind in ("save", "diff", "next"))

    wait_until(find, "the requests in the logs")
    return {
        tuple(places.get(f"{kind}-{number}") for kind in ("save", "diff", "next"))
        for number in range(last + 1)}


class Watcher(Follower):
    """Follows through the proxy. Its request may end with the server that answers it."""

    def note(self, fault):
        if getattr(fault, "status", None) in (502, 503):
            time.sleep(0.02)
        else:
            super().note(fault)


def check_restarts(servers, client, primary):
    """Ends each server, the last one by SIGKILL, and starts it again, while one client saves and two
    follow. Each server gets requests again before the next one ends."""
    proxy = types.SimpleNamespace(host="127.0.0.1", port=client.port, headers=client.headers)
    watchers = []
    for stream in (False, True):
        watcher = Watcher(proxy, "note", {"sort": "id", "select": "text"}, stream=stream)
        watcher.inserted = []
        watcher.heard = lambda diff, to=watcher.inserted: to.extend(texts(diff))
        watchers.append(watcher)
        watcher.start()
    wait_until(lambda: all(watcher.view.token for watcher in watchers), "the first snapshots")
    saver = Saver(client)
    saver.start()
    for server, by in zip(servers, (signal.SIGTERM, signal.SIGTERM, signal.SIGKILL)):
        saver.wait_for_next()
        server.end(by)
        saver.wait_for_next()
        before = len(server.lines())
        server.begin()
        server.wait()
        wait_until(
            lambda: any("id=restart-" in line for line in server.lines()[before:]),
            "a save at the server that was restarted")
    saver.ended.set()
    saver.join(LIMIT)
    assert not saver.is_alive() and not saver.fault, saver.fault
    for watcher in watchers:
        wait_until(lambda: len(watcher.inserted) >= len(saver.saved), "the last diff")
        assert watcher.inserted == saver.saved, (watcher.inserted, saver.saved)
    faults = compare(proxy, watchers, within=LIMIT)
    for watcher in watchers:
        watcher.ended.set()
    # The last event that they wait for.
    client.insert("end")
    for watcher in watchers:
        watcher.join(LIMIT)
        faults += watcher.faults
    assert not faults, faults
    rows = primary.run("SELECT text FROM note WHERE text LIKE 'restart %' ORDER BY id")
    assert rows == saver.saved, (rows, saver.saved)
    return len(saver.saved), saver.repeated


class Saver(threading.Thread):
    """Saves row after row. It repeats a save without an answer, with its key."""

    def __init__(self, client):
        super().__init__(daemon=True)
        self.client, self.saved, self.repeated, self.fault = client, [], 0, None
        self.ended = threading.Event()

    def run(self):
        try:
            for number in itertools.count():
                if self.ended.is_set():
                    return
                self.save(number)
                time.sleep(0.01)
        except Exception as fault:
            self.fault = fault

    def save(self, number):
        name = f"restart-{number}"
        while True:
            try:
                self.client.insert(f"restart {number}", **{"Idempotency-Key": name, "X-Request-Id": name})
                self.saved.append(f"restart {number}")
                return
            except (OSError, Unanswered):
                self.repeated += 1
                time.sleep(0.02)

    def wait_for_next(self):
        count = len(self.saved) + 10
        wait_until(lambda: len(self.saved) >= count or self.fault, "saves")
