"""Figures of live fetches: the delay and the size of a diff, and the cost of waiting."""

import json
import socket
import subprocess
from functools import partial

import pocketbase
import table
from contest import CHANGE, CITY, FETCH, SHANGHAI, city_fetch
from harness import (
    RUN,
    WORK,
    Missing,
    ask,
    environment,
    lines_of,
    median,
    output_of,
    peer_or_none,
    query,
)

PACE = 30_000  # µs between saves, as `load poll` lets its clients settle


def poll(server, clients, rounds, path, token, *save, credentials=None):
    """The medians of one run, its first round left out: save, first, last (µs), bytes. The clients
    are spread over a list of servers; the first gets the saves."""
    servers = server if isinstance(server, list) else [server]
    ports = ",".join(str(each.port) for each in servers)
    lines = lines_of(
        "poll", ports, clients, rounds + 1, path, token, *save, credentials=credentials
    )
    return [median(column) for column in zip(*lines[1:])]


def poll_limit(*arguments):
    """The same of the limit. The library's own loop sleeps now and then on requests that came when
    exactly 128 sockets, or a multiple, were ready at once (LiveFetch's does not): then again."""
    for _ in range(4):
        try:
            return poll(*arguments)
        except Missing as problem:
            last = problem
    raise last


def poll_livefetch(bench, server, clients, rounds, path=city_fetch(1_000_000, wait=60)):
    path += "&since={token}"
    return poll(server, clients, rounds, path, bench.token(server), "PATCH", SHANGHAI, CHANGE)


def p3(bench):
    "one save until its diff is at one client"
    ours, limit = bench.livefetch(), bench.limit()
    file = bench.prepared("prepared.sqlite")
    # At the pace of the saves: after 30 ms of rest a commit takes several times as long as without.
    store = [WORK / "store", "commit", file, 50, PACE]
    commits = lambda: median(map(float, output_of(store).split()))
    ping = limit.port, 50, "GET", "/empty", "", PACE
    trips = lambda: median(time for time, in lines_of("ping", *ping))
    seen = bench.contest(
        ours=lambda: poll_livefetch(bench, ours, 1, 50)[2], commit=commits, trip=trips
    )
    bare = seen["commit"] + seen["trip"]
    name = f"= {seen['commit']:.0f} commit + {seen['trip']:.0f} trip"
    table.row("P3", p3.__doc__, "µs", seen["ours"], bare, name, at_most=1.25)


def p4(bench):
    "one save until its diff is at the last of many"
    ours, limit = bench.livefetch(), bench.limit()
    size = int(poll_livefetch(bench, ours, 1, 1)[3]) if ours else 300
    for clients in (1_000, 10_000):
        bare = clients, 5, f"/hold?size={size}", "", "GET", "/resume", ""
        seen = bench.contest(
            ours=lambda: poll_livefetch(bench, ours, clients, 5)[2] / 1e3,
            limit=lambda: poll_limit(limit, *bare)[2] / 1e3,
        )
        table.row(
            "P4" if clients == 1_000 else "",
            f"one save until the last of {clients:,} has its diff",
            "ms",
            seen["ours"],
            seen["limit"],
            "bare resume",
            at_most=1.15,
        )
    limit.stop()
    peer = peer_or_none(pocketbase.start, bench.base)
    if not peer:
        return table.row("", "  1,000 beside the peer", "ms", None, None, "no PocketBase")
    # Like is compared with like where the peer filters too.
    for name, topic, bound in (
        ("PocketBase, filter", pocketbase.topic(1_000_000), 0.25),
        ("PocketBase, no filter", pocketbase.topic(), None),
    ):
        seen = bench.contest(
            ours=lambda: poll_livefetch(bench, ours, 1_000, 5)[2] / 1e3,
            peer=partial(last_event, peer, topic),
        )
        table.row(
            "", "  1,000 beside the peer", "ms", seen["ours"], seen["peer"], name, at_most=bound)


def last_event(peer, topic):
    """Milliseconds from a save at PocketBase until the last of 1,000 streams has its event."""
    save = topic, "PATCH", pocketbase.FIRST, CHANGE
    lines = lines_of("stream", peer.port, 1_000, 4, *save)
    return median(line[2] for line in lines[1:]) / 1e3


class Held:
    """Long polls, one per path, that wait until this is closed. The constructor returns when the
    server only holds them."""

    def __init__(self, server, paths, credentials=None):
        file = RUN / f"paths-{server.port}"
        file.write_text("\n".join(paths) + "\n")
        self.process = subprocess.Popen(
            [WORK / "load", "hold", str(server.port), file],
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment(credentials),
        )
        self.count = int(self.process.stdout.readline() or 0)
        server.settle()

    def close(self):
        left, _ = self.process.communicate()
        if int(left or 0) != self.count:
            raise ValueError(f"{self.count - int(left or 0)} of {self.count} did not keep waiting")


class HeldTogether:
    """The same over POST /v1/live, a thousand fetches on a connection."""

    def __init__(self, server, fetches):
        self.sockets = []
        for start in range(0, len(fetches), 1_000):
            named = {str(i): fetch for i, fetch in enumerate(fetches[start : start + 1_000])}
            body = json.dumps({"fetches": named, "wait": 60}).encode()
            head = (
                "POST /v1/live HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\n\r\n"
            )
            client = socket.create_connection(("127.0.0.1", server.port))
            client.sendall(head.encode() + body)
            self.sockets.append(client)
        server.settle()

    def close(self):
        for client in self.sockets:
            client.setblocking(False)
            try:
                raise ValueError(f"answered: {client.recv(300)}")
            except BlockingIOError:
                client.close()


def countries_but_andorra(server):
    snapshot = json.loads(ask(server.url + "/v1/objects/Country?select=code")[1])
    codes = [item["code"] for item in snapshot["sections"][0]["items"]]
    return [code for code in codes if code != "AD"]


def p5(bench):
    "a save beside 10,000 live fetches it does not touch"
    if not bench.program:
        return
    alone, beside = bench.livefetch("alone.sqlite"), bench.livefetch("beside.sqlite")
    polled, crowd = bench.livefetch("polled.sqlite"), bench.livefetch("crowd.sqlite")
    codes = countries_but_andorra(beside)

    def fetch(i):
        code, minimum = codes[i % len(codes)], 100 + i // len(codes)
        return f"country.code == '{code}' AND population >= {minimum}"

    def poll(i, token):
        return query(CITY, where=fetch(i), since=token, wait=60, **FETCH)

    def member(i, token):
        return dict(
            entity="City", where=fetch(i), since=token, sort=["-population"], limit=FETCH["limit"]
        )

    tokens = {server: bench.token(server) for server in (alone, beside, polled, crowd)}
    held = [
        HeldTogether(alone, [member(0, tokens[alone])]),
        HeldTogether(beside, [member(i, tokens[beside]) for i in range(10_000)]),
        Held(polled, [poll(i, tokens[polled]) for i in range(10_000)]),
        Held(crowd, [poll(0, tokens[crowd])] * 10_000),
    ]
    andorra = f"{CITY}/3041563", CHANGE.replace("240", "100")
    save = lambda server: median(
        time for time, in lines_of("ping", server.port, 200, "PATCH", *andorra)
    )
    seen = bench.contest(
        ours=partial(save, beside),
        one=partial(save, alone),
        polled=partial(save, polled),
        crowd=partial(save, crowd),
    )
    for clients in held:
        clients.close()
    table.row("P5", p5.__doc__, "µs", seen["ours"], seen["one"], "beside one", at_most=1.2)
    # The cost of waiting connections, whatever they wait for.
    name = "10,000 long polls of one fetch"
    table.row("", "  as long polls", "µs", seen["polled"], seen["crowd"], name)


def p6(bench):
    "memory of a waiting connection"
    if not bench.program:
        return

    def grown(name, path):
        server = bench.livefetch(name)
        ask(server.url + city_fetch(1_000_000))
        before, token = server.memory(), bench.token(server)
        held = Held(server, [path(i) + f"&since={token}" for i in range(10_000)])
        after = server.memory()
        held.close()
        server.stop()
        return (after - before) / 10_000 / 1024

    connection = grown("same.sqlite", lambda i: city_fetch(1_000_000, wait=60))
    both = grown("distinct.sqlite", lambda i: city_fetch(1_000_000 + i, wait=60))
    table.row("P6", p6.__doc__, "KiB", connection, None, "", "≤ 6 KiB", at_most=6)
    table.row(
        "",
        "  of a distinct live fetch of 50, with its cache",
        "KiB",
        both - connection,
        None,
        "",
        "≤ 2 KiB",
        at_most=2,
    )


def p7(bench):
    "a diff in all cities, beyond one in 50"
    if not bench.program:
        return
    server = bench.livefetch(options=["--max-items", 1_000_000])
    everything = query(CITY, section="country.name", sort="-population", wait=60)
    seen = bench.contest(
        ours=lambda: poll_livefetch(bench, server, 1, 50, everything)[2],
        window=lambda: poll_livefetch(bench, server, 1, 50)[2],
    )
    beyond = seen["ours"] - seen["window"]
    table.row("P7", p7.__doc__, "µs", beyond, None, "", "≤ 50 µs", at_most=50)


def p11(bench):
    "bytes of 1,000 saves seen through 50 items"
    if not bench.program:
        return
    server = bench.livefetch()
    path = server.url + city_fetch(1_000_000)
    snapshot = json.loads(ask(path)[1])
    items, token, diffs, snapshots = snapshot["sections"][0]["items"], snapshot["token"], 0, 0
    for i in range(1_000):
        city = items[i * 7 % 50]
        values = {"population": int(city["population"] * (0.99 + i % 21 / 1000))}
        ask(f"{server.url}{CITY}/{city['id']}", "PATCH", values)
        diff = ask(f"{path}&since={token}&wait=0")[1]
        token = json.loads(diff)["to"]
        diffs += len(diff)
        snapshots += len(ask(path)[1])
    table.row("P11", p11.__doc__, "bytes", diffs, snapshots, "as snapshots", at_most=0.04)
