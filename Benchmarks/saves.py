"""Figures of saving: many clients with one row each, few with a thousand each."""

import json

import pocketbase
import table
from contest import CITY
from harness import RUN, WORK, Server, Wrk, output_of


def p8(bench):
    "single-row saves, 64 clients"
    wrk = Wrk(64, bench.seconds)
    city = (
        '{"name":"Newtown {n}","country":3041565,"population":{n},"latitude":42.5,"longitude":1.5,'
        '"timezone":"Europe/Andorra","admin1":"03"}'
    )
    ours, peer = bench.livefetch(), pocketbase.start(bench.base)
    seen = bench.contest(
        ours=lambda: wrk.rate(ours, CITY, "POST", city),
        peer=lambda: wrk.rate(peer, pocketbase.RECORDS, "POST", city),
    )
    table.row("P8", p8.__doc__, "/s", seen["ours"], seen["peer"], "PocketBase creates", at_least=5)
    Server.stop_all()
    ours, file = bench.livefetch(), bench.prepared("prepared.sqlite")
    values = json.loads(city.replace("{n}", "0"))
    changes = RUN / "save.json"  # the rows that store.c inserts
    changes.write_text(
        json.dumps(
            {
                "changes": [
                    {"insert": "City", "values": {**values, "name": "Newtown", "population": i}}
                    for i in range(1_000)
                ]
            }
        )
    )
    batches = Wrk(4, bench.seconds)
    seen = bench.contest(
        ours=lambda: 1000 * batches.rate(ours, "/v1/save", "POST", f"@{changes}"),
        limit=lambda: float(output_of([WORK / "store", "insert", file, bench.seconds])),
    )
    table.row(
        "",
        "rows, 1,000 a save",
        "/s",
        seen["ours"],
        seen["limit"],
        "C, groups of 1,000",
        at_least=0.25,
    )
