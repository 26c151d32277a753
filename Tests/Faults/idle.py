"""R3: many idle long-polls. What they cost while nothing happens, and that each is answered, and the
process gone with status 0, soon after SIGTERM."""

import signal
import threading
import time

from report import Result
from server import Connection, Server, create, target
from waiting import WaitingClients

CPU, MEMORY, SOON = 0.01, 150e6, 5  # of one core, bytes, seconds


def run(program, folder, clients, minutes):
    file, query = folder / "idle.sqlite", {"where": "n > 5", "sort": "-n", "limit": 50}
    create(
        file,
        "CREATE TABLE item(id INTEGER PRIMARY KEY, n INTEGER);"
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 1000)"
        " INSERT INTO item SELECT x, x FROM c")
    with Server(program, file) as server:
        token = Connection(server).get("item", query)["token"]
        group = WaitingClients(server.port, target("item", query))
        group.open(clients, token)
        group.serve(2)
        used, began = server.cpu(), time.monotonic()
        group.serve(minutes * 60)
        share = (server.cpu() - used) / (time.monotonic() - began)
        memory = server.memory()
        faults = list(group.faults)
        if len(group.buffers) != clients:
            faults.append(f"{clients - len(group.buffers)} of {clients} connections ended")
        seconds, status, answered = finish(server, group)
    if answered < clients:
        faults.append(f"{answered} of {clients} answered after SIGTERM")
    if share >= CPU:
        faults.append(f"{share:.2%} of a core while idle, allowed {CPU:.0%}")
    if memory >= MEMORY:
        faults.append(f"{memory / 1e6:.0f} MB, allowed {MEMORY / 1e6:.0f}")
    if status != 0 or seconds > SOON:
        faults.append(f"exit status {status} after {seconds:.1f} s, allowed 0 within {SOON} s")
    return Result("R3", f"{clients} idle long-polls, {minutes:g} min", faults, {
        "CPU": f"{share:.2%}", "memory": f"{memory / 1e6:.0f} MB",
        "answered after SIGTERM": answered, "gone after": f"{seconds:.2f} s"})


def finish(server, group):
    """SIGTERM: seconds to the end of the process, its status, how many were answered."""
    group.repeats, before, began = False, group.answered, time.monotonic()
    server.process.send_signal(signal.SIGTERM)
    gone = []

    def wait():
        gone.extend([server.process.wait(), time.monotonic() - began])

    waiter = threading.Thread(target=wait, daemon=True)
    waiter.start()
    while waiter.is_alive() and time.monotonic() - began < 30:
        group.serve(0.05)
    group.serve(0.5)
    status, seconds = gone or (None, 30.0)
    return seconds, status, group.answered - before
