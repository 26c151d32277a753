"""R9: 1,300 hostile texts in every place where a request names or says something; requests that
two servers would read differently; floods of headers; clients that never finish a request. Each is
answered with 4xx (or served as the odd text that it is), never with 5xx, and says nothing of the
server's own; what is malformed closes its connection; an honest client beside them does not notice."""

import json
import socket
import threading
import time
import urllib.parse

from prober import Prober, compared
from report import Result
from server import Server, create
from waiting import until
from wire import request, send

SCHEMA = """
CREATE TABLE country(id INTEGER PRIMARY KEY, name TEXT, code TEXT UNIQUE);
CREATE TABLE city(id INTEGER PRIMARY KEY, name TEXT, population INTEGER, founded DATE, picture BLOB,
  country_id INTEGER REFERENCES country(id));
INSERT INTO country VALUES (1, 'Peru', 'PE'); INSERT INTO city VALUES (1, 'Lima', 7, NULL, NULL, 1);
"""
NAUGHTY = [
    "", " ", ".", "..", "/", "\\", "'", '"', "`", ";", "--", "#", "%", "%%", "%s%s%n", "%@", "$x", "{", "}", "[",
    "]", "(", ")", "*", "?", "&", "|", "=", ",", ":", "@", "^", "~", "\0", "\t", "\n", "\r", "\r\n", "\x01", "\x7f",
    "\x80", "\x85", "\u00a0", "\u200b", "\u202e", "\ufeff", "\ufffe", "\uffff", "\U0010ffff", "\u0301", "ß", "İ",
    "ﷺ", "👩‍👩‍👧‍👦", "Z͑ͫ̓ͪ̂ͫ", "null", "nil", "NULL", "undefined", "true", "NaN", "Infinity", "-0", "0x7fffffff",
    "9223372036854775807", "9223372036854775808", "-9223372036854775809", "1e309", "1e-400", "1" * 400,
    "00000000000000001", "1_000", "１２３", "0" * 5000, "a" * 6000, "é" * 2000, "(" * 3000, "[" * 3000, "{" * 3000,
    "NOT " * 1000, "-" * 2000, "'" * 1001, "a." * 1500, "a,b" * 1000, "1 OR 1=1", "' OR '1'='1", "'; DROP TABLE city; --",
    '"; DROP TABLE city; --', "1; ATTACH DATABASE '/tmp/x' AS y", "UNION SELECT sql FROM sqlite_schema",
    "sqlite_master", "livefetch_store", "livefetch_position", "rowid", "_rowid_", "oid", "load_extension('x')",
    "readfile('/etc/passwd')", "writefile('x','y')", "randomblob(1000000000)", "zeroblob(2147483647)",
    "FUNCTION('system', 'id')", "CAST('x', 'NSData')", "FUNCTION(SELF, 'exit')", "SELF.self.self.self",
    "name.name", "country.country.country", "country.city.country.city.name", "@count", "city.@count.@count",
    "@avg.name", "SUBQUERY(city, $x, $x.y == 1)", "SUBQUERY(SELF, $x, TRUEPREDICATE)", "$x == $y", "%K == %@",
    "name MATCHES '('", "name MATCHES '[z-a]'", "name MATCHES '(?=a)'", "name MATCHES '\\\\'",
    "name MATCHES '(a{1000}){1000}'", "name LIKE '" + "*" * 900 + "'", "name ==[cdnlzq] 'x'", "id IN {" + "1," * 900 + "1}",
    "population BETWEEN {1}", "population == 1/0", "population == 9223372036854775807 + 1", "population ** 9999 > 1",
    "leftshift:by:(1, 999999) > 0", "modulus:by:(population, 0) > 1", "population == -9223372036854775808 / -1",
    "now() == 'x'", "founded > '9999999-99-99'", "founded > 'yesterday'", "../../etc/passwd", "..%2f..%2fetc%2fpasswd",
    "%2e%2e/%2e%2e/", "....//....//", "..\\..\\windows\\win.ini", "/etc/passwd", "file:///etc/passwd", "%00", "%c0%af",
    "%u2215", "C:\\", "~root", "con", "http://x/", "//x", "javascript:alert(1)", "<script>alert(1)</script>",
    "{{7*7}}", "${7*7}", "#{7*7}", "$(id)", "`id`", "| id", "; id", "\r\nX-Injected: yes", "\nX-Injected: yes",
    "x\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", "__proto__", "constructor", "{\"$gt\":\"\"}", "[]", "{}", "[[]]", "\"", "\\u0000",
    "\\ud800", "AAAA=", "*/*", "W/\"x\"", "\"\"", "k3-1042-9f3c", "a-b-c", "-1--1", "0-0-0", "now", "NOW",
    "zzzzzz-99999999999999999999-0", "-", "--", "a-1-", "pvhcgr-7-g", "bytes=0-0", "bytes=-1", "bytes=5-1",
    "bytes=0-99999999999999999999", "bytes=" + "0-0," * 500, "chunked", "gzip;q=2", "identity;q=0, *;q=0",
]
MARKS = ["'", '"', "\0", "\r\n", "%", "é", "\u202e", "--"]
PLACES = ["where", "sort", "section", "limit", "offset", "after", "select", "expand", "as", "group", "having",
          "distinct", "count", "subentities", "digest", "int64", "since", "explain", "arg", "var.x"]
HEADERS = ["If-None-Match", "If-Match", "Prefer", "Idempotency-Key", "Last-Event-ID", "Authorization",
           "Accept", "Accept-Encoding", "Range", "If-Range", "Origin", "Content-Encoding", "Cookie", "Referer",
           "X-Forwarded-For", "Expect"]


def texts():
    """1,300 and more: the list, and each of it after three marks and before three."""
    made = list(NAUGHTY)
    for index, text in enumerate(NAUGHTY):
        marks = [MARKS[(index + step) % len(MARKS)] for step in (0, 3, 6)]
        made += [mark + text[:1000] for mark in marks] + [text[:1000] + mark for mark in marks]
    return made


def quoted(text):
    return urllib.parse.quote(text, safe="", errors="surrogatepass")


def places(text):
    """A request for every place that a text can stand in."""
    word = quoted(text)
    for target in (f"/v1/objects/{word}", f"/v1/objects/city/{word}", f"/v1/objects/city/1/{word}",
                   f"/v1/fetches/{word}", f"/{word}", f"/v1/objects/city?{word}=1",
                   f"/v1/objects/city?where=name==$x&var.{word}=1",
                   f"/v1/changes?wait=0&since={word}", f"/v1/objects/city?where=name==%25@&arg={word}"):
        yield request("GET", target)
    for name in PLACES:
        yield request("GET", f"/v1/objects/city?wait=0&{name}={word}")
    line = text.replace("\r", " ").replace("\n", " ").replace("\0", " ")
    for name in HEADERS:
        yield request("GET", "/v1/objects/city", headers=[(name, line)])
    values = {"name": text}
    for path, body in (
            ("fetch", {"entity": text}), ("fetch", {"entity": "city", "where": text}),
            ("fetch", {"entity": "city", "sort": [text], "select": [text], "expand": [text]}),
            ("fetch", {"entity": "city", "where": "name == %@", "arguments": [text]}),
            ("fetch", {"entity": "city", "where": "%K == 1", "arguments": [text]}),
            ("fetch", {"entity": "city", "where": "name == $x", "variables": {"x": text}}),
            ("fetch", {"entity": "city", "where": "name == $x", "variables": {text: 1}}),
            ("fetch", {"entity": "city", text: 1}),
            ("live", {"fetches": {text: {"entity": "city"}}, "wait": 0}),
            ("live", {"fetches": {"a": {"entity": text}}, "wait": 0}),
            ("save", {"changes": [{"insert": text, "values": {}}]}),
            ("save", {"changes": [{"insert": "city", "values": values}, {"delete": "city", "id": text}]}),
            ("save", {"changes": [{"update": "city", "id": text, "values": values}]}),
            ("save", {"changes": [{"update": "city", "id": 1, "values": {text: 1}}]}),
            ("save", {"changes": [{"update": "city", "id": 1, "values": {"population": text}}]}),
            ("save", {"changes": [{"update": "city", "id": 1, "values": {"founded": text}}]}),
            ("save", {"changes": [{"update": "city", "id": 1, "values": {"picture": text}}]}),
            ("save", {"changes": [{"update": "city", "id": 1, "values": {"country": text}}]}),
            ("save", {"changes": [{"update": "city", "id": 1, "values": values, "ifMatch": text}]}),
            ("save", {"changes": [{"update": "city", "id": 1, "values": {}, "base": {text: text}}]}),
            ("save", {"changes": [{"insert": "country", "temporaryID": text, "values": {}},
                                  {"delete": "country", "id": {"temporaryID": text + "x"}}]}),
            ("save", {"changes": [], "mergePolicy": text}), ("save", {text: []}),
            ("objects/city", {"name": text, "id": text}), ("objects/city", {text: text})):
        yield request("POST", f"/v1/{path}", json.dumps(body).encode())


HEAD = b"POST /v1/fetch HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
NEXT = b"GET /v1/model HTTP/1.1\r\nHost: localhost\r\n\r\n"
SMUGGLED = [
    HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + NEXT,
    HEAD + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" + NEXT,
    HEAD + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}" + NEXT,
    HEAD + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}" + NEXT,
    HEAD + b"Content-Length: 2, 2\r\n\r\n{}" + NEXT,
    HEAD + b"Content-Length : 2\r\n\r\n{}" + NEXT, HEAD + b"Content-Length: +2\r\n\r\n{}" + NEXT,
    HEAD + b"Content-Length: -2\r\n\r\n{}" + NEXT, HEAD + b"Content-Length: 0x2\r\n\r\n{}" + NEXT,
    HEAD + b"Content-Length: 99999999999999999999\r\n\r\n{}" + NEXT,
    HEAD + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + NEXT,
    HEAD + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n" + NEXT,
    HEAD + b"Transfer-Encoding: identity\r\n\r\n{}" + NEXT,
    HEAD + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + NEXT,
    HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n" + NEXT,
    HEAD + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n{}\r\n0\r\n\r\n" + NEXT,
    HEAD + b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n{}\r\n0\r\n\r\n" + NEXT,
    HEAD + b" Content-Length: 2\r\n\r\n{}" + NEXT, HEAD + b"X: a\r\n b\r\n\r\n" + NEXT,
    HEAD + b"X\0: a\r\n\r\n" + NEXT, HEAD + b"X: a\0b\r\n\r\n" + NEXT, HEAD + b"X y: a\r\n\r\n" + NEXT,
    b"GET /v1 HTTP/1.1\nHost: localhost\n\n" + NEXT, b"GET /v1 HTTP/1.1\r\nHost: localhost\r\nA: b\nC: d\r\n\r\n" + NEXT,
    b"GET /v1 HTTP/1.1\r\n\r\n" + NEXT, b"GET /v1 HTTP/1.1\r\nHost: localhost\r\nHost: y\r\n\r\n" + NEXT,
    b"GET  /v1 HTTP/1.1\r\nHost: localhost\r\n\r\n" + NEXT, b"GET /v1\r\n\r\n" + NEXT,
    b"GET /v1 HTTP/9.9\r\nHost: localhost\r\n\r\n" + NEXT, b"GET /v1 HTTP/1.1 x\r\nHost: localhost\r\n\r\n" + NEXT,
    b"G\xffT /v1 HTTP/1.1\r\nHost: localhost\r\n\r\n" + NEXT, b"GET /\x00 HTTP/1.1\r\nHost: localhost\r\n\r\n" + NEXT,
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200),
    b"GET /v1 HTTP/1.1\r\nHost: localhost\r\n" + b"A: b\r\n" * 5000 + b"\r\n" + NEXT,
    b"GET /v1 HTTP/1.1\r\nHost: localhost\r\nA: " + b"b" * 1_000_000 + b"\r\n\r\n" + NEXT,
    b"GET /" + b"a" * 1_000_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n" + NEXT,
]
TRAVERSALS = ["/../", "/..", "/%2e%2e/", "/.%2e/", "/%2e%2e%2f", "/..%5c", "/..;/", "//", "/./..", "/.hidden",
              "/..%00/", "/%c0%ae%c0%ae/", "/%252e%252e/", "/index.html/..%2f..%2f", "/a/../../"]


def carry_texts(server, file, faults, statuses):
    for text in texts():
        for data in places(text):
            answer = send(server.port, data)
            note(answer, data, file, faults, statuses)
            if len(faults) > 20:
                return


def note(answer, data, file, faults, statuses):
    kind = f"{answer.status // 100}xx" if answer.status else "closed"
    statuses[kind] = statuses.get(kind, 0) + 1
    outcome = answer.data
    wrong = None
    if answer.status is None or answer.status >= 500:
        wrong = f"{answer.status} {answer.code}"
    elif answer.status >= 400 and not answer.code and b"<html>" not in outcome:
        wrong = f"{answer.status} without a problem object"
    elif b"\r\nX-Injected" in outcome.partition(b"\r\n\r\n")[0]:
        wrong = "a header was put in"
    elif answer.status >= 400 and (str(file.parent).encode() in outcome or b"SELECT " in outcome
                                   and b"SELECT " not in urllib.parse.unquote_to_bytes(data)):
        wrong = f"{outcome[:200]!r} contains too much"
    if wrong:
        faults.append(f"{wrong}: {data[:300]!r}")


def carry_smuggled(server, faults):
    for data in SMUGGLED:
        answer = send(server.port, data, time_limit=20, until_closed=True)
        if not answer.is_closed:
            faults.append(f"kept open: {data[:120]!r}")
        if answer.status and not 400 <= answer.status < 500 and answer.status != 505:
            faults.append(f"{answer.status}: {data[:120]!r}")
        # libmicrohttpd 0.9.75 writes the head of its own refusals twice.
        if b"HTTP/1.1 2" in answer.data or b'"entities"' in answer.data:
            faults.append(f"what was smuggled is answered: {data[:120]!r}")


def carry_traversals(server, secret, faults):
    for start in TRAVERSALS:
        for name in ("secret.txt", "../secret.txt", "..%2fsecret.txt", "hostile.sqlite", "etc/passwd"):
            answer = send(server.port, request("GET", start + name))
            if secret in answer.data or b"root:" in answer.data or b"SQLite format" in answer.data:
                faults.append(f"{start + name} shows what it should not")


class Dawdlers(threading.Thread):
    """Clients that send one byte after another, half of them within the head, half within the body."""

    def __init__(self, port, count):
        super().__init__(daemon=True)
        self.ended, self.cut, self.sockets = threading.Event(), 0, []
        for number in range(count):
            one = socket.create_connection(("127.0.0.1", port))
            one.setblocking(False)
            one.send(b"GET /v1 HTTP/1.1\r\nX: " if number % 2 else HEAD + b"Content-Length: 9000\r\n\r\n{")
            self.sockets.append(one)
        self.start()

    def run(self):
        while not self.ended.is_set() and self.sockets:
            for one in list(self.sockets):
                try:
                    one.send(b" ")
                except OSError:
                    self.cut += 1
                    self.sockets.remove(one)
            self.ended.wait(0.5)

    def end(self):
        self.ended.set()
        self.join()
        for one in self.sockets:
            one.close()


def run(program, folder, seconds, closing=0):
    """`closing`: seconds after the load until the clients that never finish are cut off; 0: not judged."""
    file, public, secret = folder / "hostile.sqlite", folder / "public", b"not for everyone"
    public.mkdir()
    (folder / "secret.txt").write_bytes(secret)
    (public / "index.html").write_text("<title>page</title>")
    (public / ".hidden").write_bytes(secret)
    faults, statuses = [], {}
    create(file, SCHEMA)
    with Server(program, file, "--public", str(public)) as server:
        carry_texts(server, file, faults, statuses)
        carry_smuggled(server, faults)
        carry_traversals(server, secret, faults)
        prober = Prober(server, "city", "id")
        time.sleep(seconds / 2)
        before, dawdlers = prober.take(), Dawdlers(server.port, 500)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for data in SMUGGLED[-3:]:
                send(server.port, data, until_closed=True)
            time.sleep(0.05)
        figure = compared(before, prober.take(), faults)
        if closing and until(lambda: not dawdlers.sockets, closing) is None:
            faults.append(f"{len(dawdlers.sockets)} clients that never finish are not cut off")
        dawdlers.end()
        prober.end()
        faults += prober.faults
        if (status := server.process.poll()) is not None:
            faults.append(f"the server ended with status {status}")
    outcome = ", ".join(f"{count} × {kind}" for kind, count in sorted(statuses.items()))
    return Result("R9", f"{len(texts())} hostile texts, {len(SMUGGLED)} broken requests", faults, {
        "answers": outcome, "dawdlers cut": dawdlers.cut, "others' p99": figure})
