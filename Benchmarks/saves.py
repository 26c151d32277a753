"""Figures of saving: many clients with one row each, few with a thousand each."""

import json

import pocketbase
import table
from contest import CITY
from harness import RUN, WORK, Server, Wrk, output_of, peer_or_none

NEWTOWN = dict(  # the row that store.c inserts
    name="Newtown", country=3041565, latitude=42.5, longitude=1.5, timezone="Europe/Andorra"
)


def p8(bench):
    "single-row saves, 64 clients"
    single_rows(bench)
    Server.stop_all()
    thousands(bench)


def single_rows(bench):
    wrk = Wrk(64, bench.seconds)
    city = json.dumps({**NEWTOWN, "admin1": "03", "population": "{n}"}).replace('"{n}"', "{n}")
    ours, peer = bench.livefetch(), peer_or_none(pocketbase.start, bench.base)
    seen = bench.contest(
        ours=lambda: wrk.rate(ours, CITY, "POST", city),
        peer=peer and (lambda: wrk.rate(peer, pocketbase.RECORDS, "POST", city)),
    )
    name = "PocketBase creates" if peer else "no PocketBase"
    table.row("P8", p8.__doc__, "/s", seen["ours"], seen["peer"], name, at_least=6)


def thousands(bench):
    ours, file = bench.livefetch(), bench.prepared("prepared.sqlite")
    inserts = [
        {"insert": "City", "values": {**NEWTOWN, "admin1": "03", "population": i}}
        for i in range(1_000)
    ]
    body = RUN / "save.json"
    body.write_text(json.dumps({"changes": inserts}))
    wrk = Wrk(4, bench.seconds)
    seen = bench.contest(
        ours=lambda: 1_000 * wrk.rate(ours, "/v1/save", "POST", f"@{body}"),
        limit=lambda: float(output_of([WORK / "store", "insert", file, bench.seconds])),
    )
    name = "C, groups of 1,000"
    table.row("", "rows, 1,000 a save", "/s", seen["ours"], seen["limit"], name, at_least=0.8)
