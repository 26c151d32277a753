#!/usr/bin/env python3
"""Tries the settings of nginx, HAProxy and Caddy in docker/deploy/ with the real proxies.

usage: run.py LIVEFETCH [nginx|haproxy|caddy|balancer]...

For each proxy: the address that the server sees, an event within a stream without delay, the end of the
requests whose clients leave, a long-poll of more than 60 seconds' default limits, and reloads of the
proxy, which end no long-poll and no stream. `balancer` is the proxy of docker/compose.yaml in front of
three servers over one PostgreSQL database; they are restarted. All run at the same time. Listens on
loopback only.
"""

import concurrent.futures
import contextlib
import http.client
import json
import pathlib
import re
import shutil
import sqlite3
import sys
import tempfile
import threading
import time

import cluster
from client import Client, Server, next_event, serving, texts
from proxies import LIMIT, Caddy, HAProxy, Nginx, check_installed, free_port, wait_until

LONG_POLL = 60
SAVES = 200
KINDS = {"nginx": Nginx, "haproxy": HAProxy, "caddy": Caddy, "balancer": None}


def check_address(proxy, server):
    """The server counts the client's address: neither the proxy's nor one that the client claims."""
    proxy.open("GET", "/v1", source="127.0.0.2", headers={
        "X-Forwarded-For": "192.0.2.1", "Forwarded": "for=192.0.2.2", "X-Request-Id": "address"})

    def logged():
        return [line for line in server.lines() if re.search(r"\bid=address\b", line)]

    wait_until(logged, "the request in the log")
    assert [re.search(r"\baddress=(\S+)", line)[1] for line in logged()] == ["127.0.0.2"], logged()


def check_stream(proxy, saver):
    """Each event arrives before the next save is made."""
    stream = proxy.open(
        "GET", "/v1/objects/note?sort=id", headers={"Accept": "text/event-stream"})
    assert stream.status == 200
    assert next_event(stream)[0] == "snapshot"
    for number in range(20):
        saver.insert(f"event {number}")
        kind, data = next_event(stream)
        assert kind == "diff" and f'"event {number}"' in data, (kind, data)
    stream.close()


def check_leaving(proxy, servers):
    """A long-poll and a stream end at the servers when their clients leave, before their own end."""
    def waiting():
        text = "".join(server.open("GET", "/metrics").read().decode() for server in servers)
        return sum(int(count) for count in re.findall(r"^livefetch_live_waiting (\d+)$", text, re.M))

    connections = [
        proxy.request("GET", f"/v1/objects/note?since=now&wait={LONG_POLL}"),
        proxy.request("GET", "/v1/objects/note", headers={"Accept": "text/event-stream"})]
    wait_until(lambda: waiting() == 2, "two clients that wait")
    for connection in connections:
        connection.close()
    wait_until(lambda: waiting() == 0, "no client that waits", limit=LONG_POLL / 2)


def check_long_poll(proxy):
    """A wait of 60 s, the default limit of nginx, ends with a diff and not with 504."""
    begin = time.monotonic()
    diff = proxy.json("GET", f"/v1/objects/note?since=now&wait={LONG_POLL}")
    assert texts(diff) == [], diff
    assert time.monotonic() - begin >= LONG_POLL - 1


def check_reload(proxy, saver, reload):
    """A client follows a fetch by long-polls and another one by a stream while the proxy reloads five times.
    No request ends without its answer, and no save is missed."""
    path = "/v1/objects/note?sort=id&select=text"
    stream = proxy.open("GET", path, headers={"Accept": "text/event-stream"})
    assert next_event(stream)[0] == "snapshot"
    token = proxy.json("GET", path)["token"]
    seen, streamed, failures, ended = [], [], [], threading.Event()

    def save():
        for number in range(SAVES):
            saver.insert(f"reload {number}")
            if number % 40 == 20:
                reload()
            time.sleep(0.01)

    def follow():
        nonlocal token
        while len(seen) < SAVES and not ended.is_set():
            try:
                diff = proxy.json("GET", f"{path}&since={token}&wait=5")
            except (OSError, http.client.HTTPException) as failure:
                failures.append(failure)
                time.sleep(0.02)
                continue
            token = diff["to"]
            seen.extend(texts(diff))

    with concurrent.futures.ThreadPoolExecutor() as pool:
        follower = pool.submit(follow)
        try:
            save()
            follower.result(LIMIT)
        finally:
            ended.set()
    while len(streamed) < SAVES:
        streamed.extend(texts(json.loads(next_event(stream)[1])))
    stream.close()
    expected = [f"reload {n}" for n in range(SAVES)]
    assert seen == expected, (len(seen), seen[-3:])
    assert streamed == expected, (len(streamed), streamed[-3:])
    assert not failures, failures


def run(name, livefetch):
    """Returns after the checks of one proxy; the logs are shown if one fails."""
    folder = pathlib.Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    try:
        if name == "balancer":
            cluster.run(livefetch, folder, check_stream, check_leaving)
        else:
            check(name, livefetch, folder)
    except BaseException:
        for log in folder.glob("*.log"):
            print(f"proxies: {name}: {log.name}:", log.read_text()[-2000:], sep="\n", file=sys.stderr)
        raise
    finally:
        shutil.rmtree(folder)


def check(name, livefetch, folder):
    store = folder / "notes.sqlite"
    with contextlib.closing(sqlite3.connect(store)) as database:
        database.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT)")
        database.commit()
    server = Server(livefetch, store, folder / "server.log", "--allow-host", "livefetch.example")
    with serving(server):
        port = free_port()
        process = KINDS[name](folder, port, server.port)
        try:
            check_proxy(name, process, Client(port, Host="livefetch.example"), server)
        finally:
            process.stop()


def check_proxy(name, process, proxy, server):
    wait_until(lambda: proxy.open("GET", "/health/ready").status == 200, f"{name}: start")
    check_address(proxy, server)
    print(f"proxies: {name}: the server sees the client's address", flush=True)
    saver = Client(server.port)
    check_stream(proxy, saver)
    print(f"proxies: {name}: every event at once", flush=True)
    check_leaving(proxy, [saver])
    print(f"proxies: {name}: the server sees that clients leave", flush=True)
    check_long_poll(proxy)
    print(f"proxies: {name}: a long-poll of {LONG_POLL} s", flush=True)
    check_reload(proxy, saver, process.reload)
    print(f"proxies: {name}: 5 reloads, {SAVES} saves, none missed, 0 requests repeated", flush=True)


def main():
    livefetch, *names = sys.argv[1:]
    unknown = set(names) - KINDS.keys()
    if unknown:
        sys.exit(f"proxies: unknown: {' '.join(unknown)}")
    names = names or list(KINDS)
    check_installed({"caddy" if name == "balancer" else name for name in names})
    with concurrent.futures.ThreadPoolExecutor() as pool:
        runs = [pool.submit(run, name, livefetch) for name in names]
    failed = [name for name, done in zip(names, runs) if done.exception()]
    for done in runs:
        if fault := done.exception():
            print("proxies:", repr(fault), file=sys.stderr)
    print(f"{len(names) - len(failed)} passed, {len(failed)} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
