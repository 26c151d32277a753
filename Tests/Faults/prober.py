"""An honest client beside the others: one small fetch after another, each never asked before, and how
long each took."""

import statistics
import threading
import time

from server import Connection, Refused

MORE = 0.004  # seconds that a machine's own noise may add to a 99th percentile


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
            except (Refused, OSError) as fault:
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


def compared(before, beside, faults):
    """The figure; a fault where the percentile more than doubled."""
    if beside > 2 * before + MORE:
        faults.append(f"others' p99 {beside * 1e3:.1f} ms, {before * 1e3:.1f} before")
    return f"{beside * 1e3:.1f} ms (before {before * 1e3:.1f})"
