"""R10: queries that would take an hour, and patterns that take other engines that long. Each is
answered with 504 within half a second of the limit, or at once, and others do not notice."""

import http.client
import threading
import time

from prober import Prober, compared
from report import Result
from server import Connection, Refused, Server, create, target

LIMIT, LATE = 2, 0.5  # seconds
MANY = 1000  # as many as one request may have
SCHEMA = """
CREATE TABLE tree(id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE leaf(id INTEGER PRIMARY KEY, n INTEGER, text TEXT, tree_id INTEGER REFERENCES tree(id));
CREATE INDEX leaf_tree ON leaf(tree_id);
INSERT INTO tree VALUES (1, 'one');
WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 4000)
  INSERT INTO leaf SELECT x, x, printf('%.*c', 3000, 'a'), 1 FROM c;
"""
PAIR = "SUBQUERY(tree.leaf, $a, SUBQUERY(tree.leaf, $b, $a.n * $b.n == -n).@count > 0).@count > 0"
LONG = [
    {"where": PAIR},
    {"where": "n < 0 OR " + PAIR, "count": "exact"},
    {"sort": "text:cd", "where": PAIR},
    {"as": "count", "where": PAIR},
    {"as": "dictionaries", "select": "n:@count", "where": PAIR},
]
PATTERNS = ["(a+)+$b", "(a|a)*b", "(.*)*x", "(a|aa)+$x", "((a*)*)*b", "(a?){50}a{50}b", ".*a.*a.*a.*b",
            "(([a-z])+.)+[A-Z]([a-z])+", "(x+x+)+y", "a{1,900}b"]


def run(program, folder, rounds):
    file, faults, late, odd = folder / "slow.sqlite", [], [], {}
    create(file, SCHEMA)
    with Server(program, file, "--query-timeout", str(LIMIT)) as server:
        prober = Prober(server, "tree", "id")
        time.sleep(3)
        before = prober.take()
        token = Connection(server).get("leaf", {"limit": 1})["token"]
        Connection(server).save([{"update": "leaf", "id": 1, "values": {"n": 1}}])
        for query in LONG * rounds + [
                {"where": f"text MATCHES '{pattern}'", "limit": 1} for pattern in PATTERNS]:
            seconds, outcome = ask(server, query)
            late.append(seconds)
            odd[outcome] = odd.get(outcome, 0) + 1
            if seconds > LIMIT + LATE:
                faults.append(f"{outcome} after {seconds:.2f} s: {query}")
            if query in LONG and outcome != "504 query-timeout":
                faults.append(f"{outcome}: {query}")
            if outcome.startswith("500"):
                faults.append(f"{outcome}: {query}")
        for method, body in (("DELETE", None), ("PATCH", {"n": 1})):
            seconds, outcome = ask(server, {"where": PAIR}, method, body)
            late.append(seconds)
            if seconds > LIMIT + LATE or outcome != "504 query-timeout":
                faults.append(f"{outcome} after {seconds:.2f} s: a batch by {method}")
            Connection(server).save([{"insert": "tree", "values": {"name": "two"}}])
        for since in (None, token):
            seconds, outcome = many(server, since)
            late.append(seconds)
            if seconds > LIMIT + LATE or outcome not in ("200", "504 query-timeout"):
                faults.append(f"{outcome} after {seconds:.2f} s: {MANY} fetches in one request since {since}")
        beside = prober.take()
        figure = compared(before, beside, faults)
        prober.end()
        faults += prober.faults
        abandoned(server, faults)
    answers = ", ".join(f"{count} × {outcome}" for outcome, count in odd.items())
    return Result("R10", f"{len(late)} queries without end", faults, {
        "answers": answers, "longest": f"{max(late):.2f} s", "others' p99": figure})


def many(server, since):
    """Many fetches without end in one request; those that did not come in time are named in it."""
    fetches = {f"f{number}": {"entity": "leaf", "where": f"n != {number} AND {PAIR}"}
               for number in range(MANY)}
    if since:
        fetches = {name: fetch | {"since": since} for name, fetch in fetches.items()}
    return asked(server, "POST", "/v1/live", {"fetches": fetches, "wait": 0})


def ask(server, query, method="GET", body=None):
    return asked(server, method, target("leaf", query), body)


def asked(server, method, path, body):
    """Seconds, and the status with the problem's code."""
    connection, began = Connection(server), time.monotonic()
    try:
        connection.open(method, path, body).read()
        outcome = "200"
    except Refused as refused:
        outcome = f"{refused.status} {refused.code}"
    except (OSError, http.client.HTTPException) as error:
        outcome = f"500 {error!r}"
    connection.close()
    return time.monotonic() - began, outcome


def abandoned(server, faults):
    """More of them at once than the server has threads for: it may refuse some, and goes on."""
    threads = [threading.Thread(target=ask, args=(server, LONG[0])) for _ in range(40)]
    for thread in threads:
        thread.start()
    time.sleep(0.5)
    began = time.monotonic()
    Connection(server).get("tree", {})
    took = time.monotonic() - began
    if took > LIMIT + LATE:
        faults.append(f"beside 40 of them a small fetch took {took:.2f} s")
    for thread in threads:
        thread.join()
