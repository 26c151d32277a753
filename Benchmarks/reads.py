"""Figures of reading: a fetch that was never seen, the same one again, the first one of all."""

import time
from functools import partial

import datasette
import pocketbase
import table
from contest import city_fetch
from harness import Wrk, ask, peer_or_none


def p1(bench):
    "fetch of 50 of the largest, never seen before"
    ours, limit, wrk = bench.livefetch(), bench.limit(), Wrk(32, bench.seconds)
    peers = {"PocketBase": pocketbase, "Datasette": datasette}
    servers = {name: peer_or_none(peer.start, bench.base) for name, peer in peers.items()}
    seen = bench.contest(
        ours=lambda: wrk.rate(ours, city_fetch("{n}")),
        limit=lambda: wrk.rate(limit, "/fetch?min={n}"),
        **{name: server and partial(wrk.rate, server, peers[name].fetch("{n}"))
           for name, server in servers.items()},
    )
    table.row("P1", p1.__doc__, "/s", seen["ours"], seen["limit"], "bare C", at_least=1.0)
    for name, server in servers.items():
        table.row("", "", "/s", seen["ours"], seen[name], name if server else f"no {name}")


def p2(bench):
    "the same fetch again, nothing saved since"
    ours, limit, wrk = bench.livefetch(), bench.limit(), Wrk(32, bench.seconds)
    path, size, tag = city_fetch(1_000_000), 7857, ""
    if ours:
        headers, body = ask(ours.url + path)
        size, tag = len(body), headers["ETag"]
    seen = bench.contest(
        ours=lambda: wrk.rate(ours, path), limit=lambda: wrk.rate(limit, f"/static?size={size}")
    )
    table.row(
        "P2", p2.__doc__, "/s", seen["ours"], seen["limit"], f"static {size} bytes", at_least=0.9
    )
    seen = bench.contest(
        ours=lambda: wrk.rate(ours, path, headers=[f"If-None-Match: {tag}"]),
        limit=lambda: wrk.rate(limit, "/empty", headers=['If-None-Match: "0123456789abcdef"']),
    )
    table.row(
        "", "  with If-None-Match", "/s", seen["ours"], seen["limit"], "static empty", at_least=0.9
    )


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
    table.row("P10", p10.__doc__, "ms", seen["ours"], None, "", "≤ 15 ms", at_most=15)
