"""The contestants of one figure: LiveFetch, the limit, and rounds that take turns."""

import json

from harness import RUN, WORK, Server, ask, fresh_copy, interleaved, query

CITY = "/v1/objects/City"
SHANGHAI = f"{CITY}/1796236"
FETCH = dict(sort="-population", limit=50)
CHANGE = '{"population":240{n}}'  # {n} is five digits: Shanghai stays among the largest
BARE_TOKEN = "k3-1-1"


def city_fetch(minimum, **more):
    return query(CITY, where=f"population >= {minimum}", **FETCH, **more).replace("%7Bn%7D", "{n}")


class Bench:
    """The servers of one figure, which are ended after it."""

    def __init__(self, base, program, rounds, seconds):
        self.base, self.program, self.rounds, self.seconds = base, program, rounds, seconds

    def livefetch(self, name="livefetch.sqlite", options=()):
        if self.program:
            return self.serve(fresh_copy(self.base, name), options)

    def serve(self, file, options=()):
        words = [self.program, "serve", file, "--port", 0, *options]
        return Server(words, r"listening on http://127\.0\.0\.1:(\d+)")

    def limit(self):
        return self.program_of_limit("limit", self.base, 2)

    def program_of_limit(self, name, store, workers):
        return Server([WORK / name, store, workers], r"(\d+)")

    def prepared(self, name):
        """A copy of the data with LiveFetch's history tables and triggers, not served."""
        if not self.program:
            return fresh_copy(self.base, name)
        self.serve(fresh_copy(self.base, name)).stop()
        return RUN / name

    def contest(self, rounds=None, **contestants):
        """Medians by name; None for LiveFetch with --bare, and for contestants that are None."""
        if not self.program:
            contestants["ours"] = None
        there = {name: measure for name, measure in contestants.items() if measure}
        nothing = dict.fromkeys(contestants)
        return {**nothing, **interleaved(rounds or self.rounds, **there)}

    def token(self, server):
        return json.loads(ask(server.url + "/v1")[1])["token"] if server else BARE_TOKEN
