"""R8: requests that no client would send: bytes of HTTP changed at random, JSON of the right and the
wrong shapes, parameters put together from pieces. The server may not end, answer 500, or take more
than 100 ms (or `--slow`) over one. What is slow is asked again, since a busy machine is slow too."""

import json
import random
import time
import urllib.parse

from report import Result
from server import Server, create
from wire import request, send

# Overload and time limits, and what this server or HTTP version does not have.
REFUSALS = (501, 503, 504, 505)
SCHEMA = """
CREATE TABLE country(id INTEGER PRIMARY KEY, name TEXT, code TEXT UNIQUE);
CREATE TABLE city(id INTEGER PRIMARY KEY, name TEXT, population INTEGER, founded DATE, share REAL,
  picture BLOB, isCapital BOOLEAN, country_id INTEGER REFERENCES country(id));
INSERT INTO country VALUES (1, 'Peru', 'PE'), (2, 'Norway', 'NO');
INSERT INTO city VALUES (1, 'Lima', 7737002, '1535-01-18', 0.5, x'00ff', 1, 1),
  (2, 'Oslo', 580000, NULL, NULL, NULL, 1, 2), (3, '', -1, '', 1e300, x'', 0, NULL);
"""
WORDS = """name population country country.name country.city city founded share picture isCapital id SELF
AND OR NOT == != < <= > >= IN BETWEEN BEGINSWITH[cd] CONTAINS[c] LIKE MATCHES ENDSWITH ANY ALL NONE ( ) {
} , 'Lima' "" 'a*' '(a+)+$' 1 -1 0x1F 1e308 9223372036854775808 nil TRUE TRUEPREDICATE @count .@count
.@sum.population + - * / ** %@ %K %ld $x SUBQUERY(city,$c,$c.id>0).@count FUNCTION( length( TERNARY( now()
CAST( #name : . .. [FIRST] [SIZE] [0] é \U0001f600 ' \\ ; -- \0 desc -name name:cd -population:nullslast
""".split()
PARAMETERS = """where sort section limit offset after select expand as group having distinct count
subentities digest int64 since wait explain arg var.x nonsense""".split()
VALUES = ["objects", "ids", "count", "dictionaries", "exact", "true", "false", "now", "0", "1", "-1", "",
          "99999999999999999999", "n:@count,people:@sum.population", "*"]
PATHS = ["/", "/v1", "/v1/model", "/v1/objects/city", "/v1/objects/city/1", "/v1/objects/city/1/name",
         "/v1/objects/country/x", "/v1/fetch", "/v1/live", "/v1/save", "/v1/changes", "/v1/fetches/x",
         "/openapi.json", "/health/ready", "/metrics", "/v1/objects/%00", "/v1/objects/city/%2e%2e",
         "/v1/objects/city/1/picture", "//", "/v1/objects/city/"]
METHODS = ["GET", "GET", "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "get", ""]


class Maker:
    def __init__(self, chance):
        self.chance, self.pick = chance, chance.choice

    def text(self):
        words = [self.pick(WORDS) for _ in range(self.chance.randint(1, 9))]
        return self.pick([" ", " ", ""]).join(words)

    def json(self, depth=0):
        kind = self.chance.randrange(9 if depth < 5 else 6)
        if kind == 0:
            return self.pick([None, True, False])
        if kind == 1:
            return self.pick([0, 1, -1, 2**53, 2**63, -(2**63), 1e308, 0.1, 10**30])
        if kind < 6:
            return self.pick([self.text(), self.pick(WORDS), self.pick(VALUES), "city", "c1"])
        if kind == 6:
            return [self.json(depth + 1) for _ in range(self.chance.randint(0, 4))]
        keys = ["insert", "update", "delete", "id", "values", "temporaryID", "ifMatch", "base",
                "changes", "entity", "fetches", "wait", "add", "remove", "name", "population",
                "country", "arguments", "variables", "mergePolicy", *PARAMETERS]
        return {self.pick(keys): self.json(depth + 1) for _ in range(self.chance.randint(0, 5))}

    def body(self):
        values = {self.pick(["name", "population", "country", "founded", "share", "picture", "id",
                             "isCapital", "nothing"]): self.json(3)
                  for _ in range(self.chance.randint(0, 4))}
        entity, id = self.pick(["city", "country", "nothing"]), self.pick([1, 2, 9, "x", None])
        made = self.pick([
            self.json(), values, {"entity": entity, "where": self.text(), "wait": 0},
            {"entity": entity, "sort": [self.text()], "select": self.json(4), "as": self.pick(VALUES)},
            {"changes": [{"insert": entity, "values": values}, {"delete": entity, "id": id}]},
            {"changes": [{"update": entity, "id": id, "values": values, "base": self.json(4)}]},
            {"changes": [self.json(1), self.json(1)]},
            {"fetches": {"a": {"entity": entity, "where": self.text()}, "b": self.json(2)}, "wait": 0},
        ])
        data = json.dumps(made).encode()
        return self.broken(data) if self.chance.random() < 0.2 else data

    def target(self):
        names = self.chance.sample(PARAMETERS, self.chance.randint(0, 4))
        query = {name: self.text() if self.chance.random() < 0.6 else self.pick(VALUES)
                 for name in names} | {"wait": "0"}
        path = self.pick(PATHS)
        return f"{path}?{urllib.parse.urlencode(query)}" if self.chance.random() < 0.8 else path

    def broken(self, data):
        """Some bytes changed, taken out, doubled or put in."""
        data = bytearray(data)
        for _ in range(self.chance.randint(1, 6)):
            at = self.chance.randrange(len(data) + 1)
            kind = self.chance.randrange(4)
            if kind == 0:
                data[at:at + 1] = bytes([self.chance.randrange(256)])
            elif kind == 1:
                del data[at:at + self.chance.randint(1, 8)]
            elif kind == 2:
                data[at:at] = data[at:at + self.chance.randint(1, 40)]
            else:
                data[at:at] = self.pick([b"\r\n", b"\0", b"\n", b":", b" ", b"%", b"\xff", b"\r\n\r\n",
                                         b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n"])
        return bytes(data)

    def request(self):
        method, body = self.pick(METHODS), None
        if method in ("POST", "PUT", "PATCH"):
            body = self.body()
        headers = [(name, self.pick(["*", '"x"', "bytes=0-1", "bytes=9-1", "text/event-stream", "x",
                                     "return=minimal", "max-affected=0", "gzip", "identity;q=0"]))
                   for name in self.chance.sample(
                       ["Range", "If-Match", "If-None-Match", "Prefer", "Accept-Encoding",
                        "Idempotency-Key", "Last-Event-ID", "Origin"], self.chance.randint(0, 2))]
        data = request(method, self.target(), body, headers)
        return self.broken(data) if self.chance.random() < 0.4 else data


def quickest(port, data, slow):
    """The answer or the end of the connection; where it took over `slow` seconds, the quickest of five."""
    answer = send(port, data, ends=True, time_limit=2 * slow)
    if answer.seconds <= slow or not (answer.data or answer.is_closed):
        return answer
    return min((send(port, data, ends=True, time_limit=50 * slow) for _ in range(4)),
               key=lambda one: one.seconds)


def run(program, folder, seconds, seed, slow=0.1):
    maker, file, faults, statuses = Maker(random.Random(seed)), folder / "fuzz.sqlite", [], {}
    refusals = {}
    create(file, SCHEMA)
    slowest, sent = 0, 0
    with Server(program, file) as server:
        until = time.monotonic() + seconds
        while time.monotonic() < until and len(faults) < 20:
            data = maker.request()
            sent += 1
            try:
                answer = quickest(server.port, data, slow)
                if not answer.data and not answer.is_closed:
                    # It waits for the rest of the request; others must not.
                    statuses["unfinished"] = statuses.get("unfinished", 0) + 1
                    data = request("GET", "/v1/objects/city")
                    answer = quickest(server.port, data, slow)
            except OSError as error:
                faults.append(f"{error!r} after {data[:300]!r}")
                if server.process.poll() is not None:
                    break
                continue
            slowest = max(slowest, answer.seconds)
            kind = f"{answer.status // 100}xx" if answer.status else "closed"
            statuses[kind] = statuses.get(kind, 0) + 1
            failed = (answer.status or 0) >= 500
            if failed:
                name = f"{answer.status} {answer.code}"
                refusals[name] = refusals.get(name, 0) + 1
            if failed and answer.status not in REFUSALS or answer.seconds > slow:
                faults.append(f"{answer.status} after {answer.seconds * 1e3:.0f} ms: {data[:600]!r}")
        if (status := server.process.poll()) is not None:
            faults.append(f"the server ended with status {status}")
        elif server.end() != 0:
            faults.append("the server did not end well")
    outcome = ", ".join(f"{count} × {kind}" for kind, count in sorted(statuses.items()))
    return Result("R8", f"{sent} odd requests (seed {seed})", faults, {
        "answers": outcome,
        "5xx": ", ".join(f"{count} × {name}" for name, count in sorted(refusals.items())) or "none",
        "slowest": f"{slowest * 1e3:.0f} ms"})
