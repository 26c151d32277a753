"""R4: clients that close their connection while they wait, half of them by FIN and half by RST, over long-polls. The
server has to close its side, so that its descriptors come back to what they were."""

import time

from report import Clock, Result
from server import Connection, Server, create, target
from waiting import WaitingClients, until

# Clients; seconds, fewer than the clients would wait; descriptors.
BATCH, NOTICED, SPARE = 500, 30, 4


def run(program, folder, cycles, seconds=None):
    file, query = folder / "vanish.sqlite", {"where": "n > 5", "sort": "-n", "limit": 50}
    create(
        file,
        "CREATE TABLE item(id INTEGER PRIMARY KEY, n INTEGER); INSERT INTO item VALUES (1, 9)")
    faults, slowest, grown, clock = [], 0, 0, Clock(seconds)
    with Server(program, file) as server:
        connection = Connection(server)
        token = connection.get("item", query)["token"]
        wave(server, query, token, BATCH, False)  # what the server makes once
        time.sleep(1)
        before, memory = server.descriptors(), server.memory()
        for number in range(max(1, cycles // BATCH)):
            if not wave(server, query, token, BATCH, reset=number % 2 == 1):
                faults.append(f"the clients of wave {number} did not all wait")
            took = until(lambda: server.descriptors() <= before + SPARE, NOTICED)
            if took is None:
                faults.append(f"{server.descriptors()} descriptors {NOTICED} s after wave {number},"
                              f" {before} before")
                break
            slowest = max(slowest, took)
            if clock.is_over():
                cycles = (number + 1) * BATCH
                break
        grown = server.memory() - memory
        token = connection.save([{"insert": "item", "values": {"n": 10}}])["token"]
        if connection.get("item", query)["count"] != 2:
            faults.append("the server does not answer as it should afterwards")
        after = server.descriptors()
    return Result("R4", f"{cycles} clients that vanish", faults, {
        "descriptors": f"{before} before, {after} after", "noticed within": f"{slowest:.2f} s",
        "memory grown": f"{grown / 1e6:.1f} MB"})


def wave(server, query, token, count, reset):
    before, group = server.descriptors(), WaitingClients(server.port, target("item", query))
    group.open(count, token)
    group.serve(0.1)
    held = until(lambda: server.descriptors() >= before + count - SPARE, 10)
    group.close_all(reset)
    return held is not None
