"""R4: clients that lose their power while they wait: no FIN, no RST, no answer any more. The server
has to notice within a minute and close its side, of long-polls and of streams.

The clients are in a network of their own, joined to the server's by a cable; what cuts them off is a
route that swallows what they send. That needs root."""

import ctypes
import os
import subprocess
import threading
import time
from contextlib import contextmanager

from report import Result
from server import Connection, Server, create, target
from waiting import WaitingClients, until

POLLS, STREAMS, NOTICED, SPARE = 400, 40, 60, 4  # clients, clients, seconds, descriptors
NEW_NETWORK = 0x40000000


class Network:
    """Two ends of a cable: `here` on this machine, `there` in a network of its own."""

    def __init__(self):
        number = os.getpid()
        self.name = f"livefetch{number}"
        self.near, self.far = f"lfn{number}"[:15], f"lff{number}"[:15]
        third, fourth = number // 64 % 256, number % 64 * 4
        self.here, self.there = (f"10.213.{third}.{fourth + end}" for end in (1, 2))

    def inside(self, *command):
        ip("netns", "exec", self.name, "ip", *command)

    def lay(self):
        ip("netns", "add", self.name)
        ip("link", "add", self.near, "type", "veth", "peer", "name", self.far,
           "netns", self.name)
        ip("addr", "add", f"{self.here}/30", "dev", self.near)
        ip("link", "set", self.near, "up")
        self.inside("addr", "add", f"{self.there}/30", "dev", self.far)
        self.inside("link", "set", self.far, "up")

    def cut(self):
        self.inside("route", "add", "blackhole", f"{self.here}/32")

    def remove(self):
        subprocess.run(["ip", "link", "del", self.near], capture_output=True)
        subprocess.run(["ip", "netns", "del", self.name], capture_output=True)

    def call(self, work):
        """Do the work in a thread that has moved there: its sockets stay there."""
        failed = []

        def moved():
            libc = ctypes.CDLL(None, use_errno=True)
            with open(f"/run/netns/{self.name}") as network:
                if libc.setns(network.fileno(), NEW_NETWORK):
                    failed.append(OSError(ctypes.get_errno(), "setns"))
                    return
            try:
                work()
            except OSError as error:
                failed.append(error)

        thread = threading.Thread(target=moved)
        thread.start()
        thread.join()
        if failed:
            raise failed[0]


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True)


@contextmanager
def network():
    made = Network()
    try:
        made.lay()
        yield made
    finally:
        made.remove()


def run(program, folder):
    what = f"{POLLS} long-polls and {STREAMS} streams lose their power"
    if os.geteuid() != 0:
        return Result("R4", what, [], skipped="root alone can make a network")
    try:
        with network() as cable:
            return carry(program, folder, cable, what)
    except (subprocess.CalledProcessError, FileNotFoundError) as error:
        return Result("R4", what, [], skipped=f"no network of its own: {error}")


def carry(program, folder, cable, what):
    file, query, faults = folder / "power.sqlite", {"where": "n > 5", "sort": "-n"}, []
    create(
        file,
        "CREATE TABLE item(id INTEGER PRIMARY KEY, n INTEGER); INSERT INTO item VALUES (1, 9)")
    with Server(program, file, host=cable.here, token="power") as server:
        token = Connection(server).get("item", query)["token"]
        time.sleep(1)
        before = server.descriptors()
        polls = WaitingClients(server.port, target("item", query), server.host, server.headers)
        streams = WaitingClients(server.port, target("item", query), server.host,
                        server.headers | {"Accept": "text/event-stream"})
        cable.call(lambda: (polls.open(POLLS, token), streams.open(STREAMS, token)))
        if until(lambda: server.descriptors() >= before + POLLS + STREAMS, 10) is None:
            faults.append("the clients did not all wait")
        time.sleep(1)
        cable.cut()
        seconds = until(lambda: server.descriptors() <= before + SPARE, NOTICED)
        if seconds is None:
            left = server.descriptors() - before
            faults.append(f"{left} descriptors are left {NOTICED} s after the power went")
    figures = {"noticed within": f"{seconds:.1f} s"} if seconds else {}
    return Result("R4", what, faults, figures)
