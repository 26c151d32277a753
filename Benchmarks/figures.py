"""The figures of the targets, each a function that measures LiveFetch beside its limit or peer and
prints its rows. With no LiveFetch program (--bare) only the other side is measured."""

import json
import subprocess
import time
from functools import partial

import pocketbase
import table
from harness import WORK, Server, Wrk, ask, fresh_copy, interleaved, lines_of, median, output_of, query

CITY = "/v1/objects/City"
SHANGHAI = f"{CITY}/1796236"
FETCH = dict(sort="-population", limit=50)
CHANGE = '{"population":240{n}}'  # keeps Shanghai among the largest, each time with another value
BARE_TOKEN = "k3-1-1"


def city_fetch(minimum, **more):
    return query(CITY, where=f"population >= {minimum}", **FETCH, **more).replace("%7Bn%7D", "{n}")


class Bench:
    """What one figure is measured with: its servers are its own and are ended after it."""

    def __init__(self, base, program, rounds, seconds):
        self.base, self.program, self.rounds, self.seconds = base, program, rounds, seconds

    def livefetch(self, name="livefetch.sqlite", source=None):
        if self.program:
            return self.serve(fresh_copy(source or self.base, name))

    def serve(self, file):
        return Server([self.program, "serve", file, "--port", 0], r"listening on http://127\.0\.0\.1:(\d+)")

    def limit(self):
        return Server([WORK / "limit", self.base, 2], r"(\d+)")

    def prepared(self, name):
        """A copy of the data with LiveFetch's history tables and triggers, not served."""
        if not self.program:
            return fresh_copy(self.base, name)
        self.serve(fresh_copy(self.base, name)).stop()
        return WORK / name

    def contest(self, rounds=None, **contestants):
        """Medians by name; None for LiveFetch where it is not measured."""
        names = {name: measure for name, measure in contestants.items() if self.program or name != "ours"}
        return {"ours": None, **interleaved(rounds or self.rounds, **names)}

    def token(self, server):
        return json.loads(ask(server.url + "/v1")[1])["token"] if server else BARE_TOKEN


def p1(bench):
    "fetch of 50 of the largest, never seen before"
    ours, limit, wrk = bench.livefetch(), bench.limit(), Wrk(32, bench.seconds)
    seen = bench.contest(ours=lambda: wrk.rate(ours, city_fetch("{n}")),
                         limit=lambda: wrk.rate(limit, "/fetch?min={n}"))
    table.row("P1", p1.__doc__, "/s", seen["ours"], seen["limit"], "bare C", at_least=1.0)
    limit.stop()
    peer = pocketbase.start(bench.base)
    other = wrk.rate(peer, pocketbase.fetch("{n}"))
    table.row("", "", "/s", seen["ours"], other, "PocketBase")


def p2(bench):
    "the same fetch again, nothing saved since"
    ours, limit, wrk = bench.livefetch(), bench.limit(), Wrk(32, bench.seconds)
    path, size, tag = city_fetch(1_000_000), 7857, ""
    if ours:
        headers, body = ask(ours.url + path)
        size, tag = len(body), headers["ETag"]
    seen = bench.contest(
        ours=lambda: wrk.rate(ours, path),
        limit=lambda: wrk.rate(limit, f"/static?size={size}"))
    table.row("P2", p2.__doc__, "/s", seen["ours"], seen["limit"], f"static {size} bytes", at_least=0.7)
    seen = bench.contest(
        ours=lambda: wrk.rate(ours, path, headers=[f"If-None-Match: {tag}"]),
        limit=lambda: wrk.rate(limit, "/empty", headers=['If-None-Match: "0123456789abcdef"']))
    table.row("", "  with If-None-Match", "/s", seen["ours"], seen["limit"], "static empty", at_least=0.8)


def poll(server, clients, rounds, path, token, *save):
    """The medians of one run, its first round left out: save, first, last (µs), bytes."""
    lines = lines_of("poll", server.port, clients, rounds + 1, path, token, *save)
    return [median(column) for column in zip(*lines[1:])]


def poll_livefetch(bench, server, clients, rounds):
    path = city_fetch(1_000_000, wait=60) + "&since={token}"
    return poll(server, clients, rounds, path, bench.token(server), "PATCH", SHANGHAI,
                CHANGE.replace("{n}", "00{n}"))


def p3(bench):
    "one save until its diff is at one client"
    ours, limit = bench.livefetch(), bench.limit()
    file = bench.prepared("prepared.sqlite")
    commits = lambda: median(map(float, output_of([WORK / "store", "commit", file, 200]).split()))
    trips = lambda: median(time for time, in lines_of("ping", limit.port, 500, "GET", "/empty", ""))
    seen = bench.contest(ours=lambda: poll_livefetch(bench, ours, 1, 50)[2], commit=commits, trip=trips)
    bound = 2 * (seen["commit"] + seen["trip"]) + 200
    name = f"2 × ({seen['commit']:.0f} commit + {seen['trip']:.0f} trip) + 200"
    table.row("P3", p3.__doc__, "µs", seen["ours"], bound, "= " + name, at_most=1.0)


def p4(bench):
    "one save until its diff is at the last of many"
    ours, limit = bench.livefetch(), bench.limit()
    size = int(poll_livefetch(bench, ours, 1, 1)[3]) if ours else 300
    last = {}
    for clients in (1_000, 10_000):
        seen = bench.contest(
            ours=lambda: poll_livefetch(bench, ours, clients, 5)[2] / 1e3,
            limit=lambda: poll(limit, clients, 5, f"/hold?size={size}", "", "GET", "/resume", "")[2] / 1e3)
        last[clients] = seen["ours"]
        bound = 1.3 if clients == 10_000 else None
        table.row("P4" if clients == 1_000 else "", f"one save until the last of {clients:,} has its diff",
                  "ms", seen["ours"], seen["limit"], "bare resume", at_most=bound)
    limit.stop()
    peer = pocketbase.start(bench.base)
    for name, topic in (("PocketBase", pocketbase.topic()),
                        ("PocketBase, filter", pocketbase.topic(1_000_000))):
        lines = lines_of("stream", peer.port, 1_000, 1 + 3 * bench.rounds, topic, "PATCH",
                         pocketbase.FIRST, CHANGE.replace("{n}", "00{n}"))
        other = median(line[2] for line in lines[1:]) / 1e3
        table.row("", "  1,000 beside the peer", "ms", last[1_000], other, name, at_most=0.25)


class Held:
    """Long polls, one for each path, that wait until this is closed."""

    def __init__(self, server, paths):
        file = WORK / f"paths-{server.port}"
        file.write_text("\n".join(paths) + "\n")
        self.process = subprocess.Popen([WORK / "load", "hold", str(server.port), file], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.count = int(self.process.stdout.readline() or 0)
        ask(server.url + "/v1")
        time.sleep(2)

    def close(self):
        left, _ = self.process.communicate()
        if int(left or 0) != self.count:
            raise ValueError(f"{self.count - int(left or 0)} of {self.count} did not keep waiting")


def codes(server):
    items = json.loads(ask(server.url + "/v1/objects/Country?select=code")[1])["sections"][0]["items"]
    return [item["code"] for item in items if item["code"] != "AD"]


def p5(bench):
    "a save beside 10,000 live fetches it does not touch"
    if not bench.program:
        return
    alone, beside = bench.livefetch("alone.sqlite"), bench.livefetch("beside.sqlite")
    names, token = codes(beside), bench.token(beside)
    fetch = lambda i, token: query(CITY, since=token, wait=60, **FETCH, where=f"country.code == "
                                   f"'{names[i % len(names)]}' AND population >= {100 + i // len(names)}")
    held = [Held(alone, [fetch(0, bench.token(alone))]),
            Held(beside, [fetch(i, token) for i in range(10_000)])]
    save = lambda server: median(time for time, in lines_of(
        "ping", server.port, 200, "PATCH", CITY + "/3041563", CHANGE.replace("240", "100")))
    seen = bench.contest(ours=partial(save, beside), one=partial(save, alone))
    for clients in held:
        clients.close()
    table.row("P5", p5.__doc__, "µs", seen["ours"], seen["one"], "beside one", at_most=1.2)


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
    table.row("P6", p6.__doc__, "KiB", connection, None, "", "≤ 10 KiB", at_most=10)
    table.row("", "  of a distinct live fetch of 50, with its cache", "KiB", both - connection, None, "",
              "≤ 12 KiB", at_most=12)


def p8(bench):
    "single-row saves, 64 clients"
    wrk = Wrk(64, bench.seconds)
    city = ('{"name":"Newtown {n}","country":3041565,"population":{n},"latitude":42.5,"longitude":1.5,'
            '"timezone":"Europe/Andorra","admin1":"03"}')
    ours, peer = bench.livefetch(), pocketbase.start(bench.base)
    seen = bench.contest(ours=lambda: wrk.rate(ours, CITY, "POST", city),
                         peer=lambda: wrk.rate(peer, pocketbase.RECORDS, "POST", city))
    table.row("P8", p8.__doc__, "/s", seen["ours"], seen["peer"], "PocketBase creates", at_least=5)
    Server.stop_all()
    ours, file = bench.livefetch(), bench.prepared("prepared.sqlite")
    values = dict(json.loads(city.replace("{n}", "1")), name="Newtown")
    changes = WORK / "save.json"
    changes.write_text(json.dumps({"changes": [{"insert": "City", "values": values}] * 1000}))
    batches = Wrk(4, bench.seconds)
    seen = bench.contest(
        ours=lambda: 1000 * batches.rate(ours, "/v1/save", "POST", f"@{changes}"),
        limit=lambda: float(output_of([WORK / "store", "insert", file, bench.seconds])))
    table.row("", "rows, 1,000 a save", "/s", seen["ours"], seen["limit"], "C, groups of 1,000", at_least=0.25)


def p10(bench):
    "process start to first answer"
    if not bench.program:
        return
    file = bench.prepared("prepared.sqlite")
    def start():
        server = bench.serve(file)
        ask(server.url + city_fetch(1_000_000))
        elapsed = time.monotonic() - server.started
        server.stop()
        return elapsed * 1e3
    seen = bench.contest(rounds=10, ours=start)
    table.row("P10", p10.__doc__, "ms", seen["ours"], None, "", "≤ 100 ms", at_most=100)


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
    table.row("P11", p11.__doc__, "bytes", diffs, snapshots, "as snapshots", at_most=0.05)


ALL = {name.__name__.upper(): name for name in (p1, p2, p3, p4, p5, p6, p8, p10, p11)}
