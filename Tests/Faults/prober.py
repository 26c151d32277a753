"""An honest client beside the others: one small fetch after another, each never asked before, and how
long each took."""

import statistics
import threading
import time

from server import Connection

MORE = 0.002  # seconds that a machine's own noise may add to a 99th percentile


class Prober(threading.Thread):
    def __init__(self, server, entity, attribute):
        super().__init__(daemon=True)
        self.connection, self.entity, self.attribute = Connection(server), entity, attribute
        self.ended, self.times, self.faults = threading.Event(), [], []
        self.start()

    def run(self):
        asked = 0
        while not self.ended.is_set():
            asked += 1
            began = time.monotonic()
            try:
                self.connection.get(self.entity, {
                    "where": f"{self.attribute} < {asked}", "limit": 5, "sort": "id"})
            except Exception as fault:
                self.faults.append(f"an honest client: {fault!r}")
                return
            self.times.append(time.monotonic() - began)
            time.sleep(0.003)

    def take(self):
        """The 99th percentile since the last time, in seconds."""
        times, self.times = self.times, []
        return statistics.quantiles(times, n=100)[98] if len(times) > 1 else float("inf")

    def end(self):
        self.ended.set()
        self.join(10)
        self.connection.close()


class DiffProber(threading.Thread):
    """An honest client that saves, and another one that waits for the diff."""

    def __init__(self, server, entity, attribute):
        super().__init__(daemon=True)
        self.entity, self.attribute = entity, attribute
        self.saver, self.waiter = Connection(server), Connection(server)
        self.ended, self.saves, self.diffs, self.faults = threading.Event(), [], [], []
        self.start()

    def run(self):
        try:
            token = self.waiter.get(self.entity, {"limit": 5})["token"]
            number = 0
            while not self.ended.is_set():
                number += 1
                saved = threading.Thread(target=self.save, args=(number,))
                began = time.monotonic()
                saved.start()
                diff = self.waiter.get(self.entity, {"limit": 5, "since": token, "wait": 30})
                self.diffs.append(time.monotonic() - began)
                saved.join()
                token = diff["to"]
                if [item["changed"] for item in diff["items"]["updated"]] != [{self.attribute: f"{number}"}]:
                    raise ValueError(f"a diff of save {number}: {diff}")
                time.sleep(0.01)
        except Exception as fault:
            self.faults.append(f"an honest client: {fault!r}")

    def save(self, number):
        began = time.monotonic()
        try:
            self.saver.save([{"update": self.entity, "id": 1, "values": {self.attribute: f"{number}"}}])
        except Exception as fault:
            self.faults.append(f"an honest save: {fault!r}")
        self.saves.append(time.monotonic() - began)

    def take(self):
        """The 99th percentiles of saves and of diffs since the last time, in seconds."""
        times, self.saves, self.diffs = (self.saves, self.diffs), [], []
        return [statistics.quantiles(each, n=100)[98] if len(each) > 1 else float("inf") for each in times]

    def end(self):
        self.ended.set()
        self.join(40)
        self.saver.close()
        self.waiter.close()


def compared(before, beside, faults):
    """The figure; a fault where the percentile more than doubled."""
    if beside > 2 * before + MORE:
        faults.append(f"others' p99 {beside * 1e3:.1f} ms, {before * 1e3:.1f} before")
    return f"{beside * 1e3:.1f} ms (before {before * 1e3:.1f})"
