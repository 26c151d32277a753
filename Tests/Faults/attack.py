"""R10, by one caller with a key of its own: on many connections at once it asks the most expensive
that it can (nested SUBQUERYs, MATCHES over everything, sorts by functions, a thousand fetches in one
request, once and live, batches with such conditions). Clients with another key do not wait for it, for
their fetches, their saves and their diffs."""

import collections
import http.client
import itertools
import json
import os
import subprocess
import sys
import threading
import time

from prober import DiffProber, Prober, compared
from report import Result
from server import Connection, Refused, Server, create, target
from slow import LIMIT, LONG, MANY, PAIR, PATTERNS, SCHEMA

CONNECTIONS = 32
# The 99th percentile of saves and diffs next to the attack may be this many times that without, and so many seconds
# more on a busy machine.
TIMES, MORE = 3, 0.01
SORTS = ["text:cd", "-text:c", "n,text:d"]


def mix():
    """The requests of one connection, in their order."""
    gets = LONG + [{"where": f"text MATCHES '{pattern}'", "sort": "text:cd"} for pattern in PATTERNS]
    gets += [{"sort": sort, "limit": 1000} for sort in SORTS]
    for query in gets:
        yield "GET", target("leaf", query), None
    fetches = {f"f{number}": {"entity": "leaf", "where": f"n != {number} AND {PAIR}"}
               for number in range(MANY)}
    yield "POST", "/v1/live", {"fetches": fetches, "wait": 0}
    light = {f"f{number}": {"entity": "leaf", "where": f"n > {number}", "sort": "text:cd"}
             for number in range(MANY)}
    yield "POST", "/v1/live", {"fetches": light, "wait": 0}
    one = "SUBQUERY(tree.leaf, $a, $a.n * $a.n == -n - {0}).@count > 0 AND n == {0}"
    live = {f"f{number}": {"entity": "leaf", "where": one.format(number), "limit": 1, "since": "now"}
            for number in range(MANY)}
    yield "POST", "/v1/live", {"fetches": live, "wait": 2}
    yield "PATCH", target("leaf", {"where": PAIR}), {"n": 1}
    yield "DELETE", target("leaf", {"where": PAIR}), None


class Address:
    """Where the server listens, for a process that did not start it."""

    def __init__(self, port, key):
        self.host, self.port, self.headers = "127.0.0.1", port, {"Authorization": f"Bearer {key}"}


def attack(address, offset, until, outcomes):
    requests = list(mix())
    requests = requests[offset % len(requests):] + requests[:offset % len(requests)]
    connection = Connection(address)
    for method, path, body in itertools.cycle(requests):
        if time.monotonic() > until:
            return
        try:
            connection.open(method, path, body).read()
            outcome = "200"
        except Refused as refused:
            outcome = f"{refused.status} {refused.code}"
            if refused.status in (429, 503):
                time.sleep(0.05)  # far less than Retry-After asks for
        except (OSError, http.client.HTTPException) as error:
            outcome = type(error).__name__
            connection.close()
            connection = Connection(address)
        outcomes[outcome] += 1


def main(port, key, seconds):
    """Attacks for some seconds, then prints how often each outcome came. An attacker has a machine of its
    own, so it leaves the processors of this one to the server and its other client."""
    os.nice(19)
    outcomes, until = collections.Counter(), time.monotonic() + float(seconds)
    address = Address(int(port), key)
    threads = [threading.Thread(target=attack, args=(address, number, until, outcomes))
               for number in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps(outcomes))


def new_key(program, file, name):
    command = [program, "key", "create", str(file), "--name", name, "--scope", "read,write"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1]


def saves_and_diffs(server, seconds, faults):
    """The 99th percentiles of saves, and of the times until their diffs."""
    diffs = DiffProber(server, "tree", "name")
    time.sleep(seconds)
    times = diffs.take()
    diffs.end()
    faults += diffs.faults
    return times


def run(program, folder, seconds):
    file, faults = folder / "attack.sqlite", []
    create(file, SCHEMA)
    attacker, honest = (new_key(program, file, name) for name in ("attacker", "honest"))
    with Server(program, file, "--query-timeout", str(LIMIT)) as server:
        server.headers = {"Authorization": f"Bearer {honest}"}
        # One after the other, because the threads of this process would wait for each other.
        alone = saves_and_diffs(server, seconds / 2, faults)
        prober = Prober(server, "tree", "id")
        time.sleep(seconds / 2)
        before = prober.take()
        words = [sys.executable, __file__, str(server.port), attacker, str(2 * seconds)]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        time.sleep(seconds)
        figure = compared(before, prober.take(), faults)
        prober.end()
        times = dict(zip(("saves", "diffs"), zip(alone, saves_and_diffs(server, seconds, faults))))
        outcomes = json.loads(process.communicate(timeout=60)[0])
        faults += prober.faults
        if (status := server.process.poll()) is not None:
            faults.append(f"the server ended with status {status}")
    expected = {"200", "503 overloaded", "504 query-timeout", "400 answer-too-large"}
    faults += [f"{count} × {outcome}" for outcome, count in outcomes.items() if outcome not in expected]
    faults += [f"no {outcome}" for outcome in ("200", "504 query-timeout") if outcome not in outcomes]
    faults += [f"others' {name}: p99 {alone * 1e3:.1f} → {time * 1e3:.1f} ms"
               for name, (alone, time) in times.items() if time > TIMES * alone + MORE]
    answers = ", ".join(f"{count} × {outcome}" for outcome, count in sorted(outcomes.items()))
    return Result("R10", f"one caller with {CONNECTIONS} connections", faults, {
        "answers": answers, "others' p99": figure, **{
            f"of their {name}": f"{alone * 1e3:.1f} → {time * 1e3:.1f} ms"
            for name, (alone, time) in times.items()}})


if __name__ == "__main__":
    main(*sys.argv[1:])
