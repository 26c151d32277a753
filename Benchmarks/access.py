"""The cost of access rules, compared with a server without rules: once its clients write the
rule's condition into their predicates, and once they fetch everyone's rows. Every caller has a
JWT of its own on each server."""

import base64
import hashlib
import hmac
import json
import sqlite3
from functools import partial

import table
from contest import CHANGE, CITY, FETCH, SHANGHAI, city_fetch
from harness import RUN, Wrk, ask, fresh_copy, lines_of, median, query
from live import Held, poll

CALLERS = 10_000
ANDORRA = f"{CITY}/3041563"
# A caller has 23 cities: windows of the same length are compared.
TEN = {**FETCH, "limit": 10}
SECRET = b"the secret of the benchmark's JWTs, over 32 bytes"
OWN = "owner == $user.id"
RULES = {
    "access": {"default": True},
    "entities": {"City": {"access": dict.fromkeys(("read", "insert", "update", "delete"), OWN)}},
}


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def jwt(user):
    parts = {"alg": "HS256", "typ": "JWT"}, {"sub": user, "scope": "read write", "exp": 1 << 33}
    text = ".".join(encoded(json.dumps(part).encode()) for part in parts)
    return f"{text}.{encoded(hmac.digest(SECRET, text.encode(), hashlib.sha256))}"


def credentials(name, users):
    file = RUN / name
    file.write_text("".join(jwt(user) + "\n" for user in users))
    return file


def owner(path):
    return f"u{int(path.rpartition('/')[2]) % CALLERS}"


def owned(bench):
    """A copy of the data in which every city has one of 10,000 owners."""
    store = sqlite3.connect(fresh_copy(bench.base, "owned.sqlite"))
    store.execute("ALTER TABLE City ADD COLUMN owner TEXT")
    store.execute(f"UPDATE City SET owner = 'u' || (id % {CALLERS})")
    store.execute("CREATE INDEX City_owner_population ON City(owner, population)")
    store.execute("ANALYZE")
    store.commit()
    store.close()
    return RUN / "owned.sqlite"


def servers(bench):
    """A server with rules and two without, over copies of the same data."""
    key, rules, base = RUN / "secret", RUN / "access.json", owned(bench)
    key.write_bytes(SECRET)
    rules.write_text(json.dumps(RULES))
    options = ["--jwt-key", key]
    return (
        bench.serve(fresh_copy(base, "rules.sqlite"), [*options, "--access", rules]),
        bench.serve(fresh_copy(base, "plain.sqlite"), options),
        # 9,999 different results of 50 cities.
        bench.serve(
            fresh_copy(base, "everyone.sqlite"), [*options, "--max-live-memory", 256 << 20]),
    )


def answer(server, path, user):
    headers = {"Authorization": f"Bearer {jwt(user)}"}
    return json.loads(ask(server.url + path, headers=headers)[1])


def token(server, user):
    return answer(server, "/v1", user)["token"]


def p13(bench):
    "access rule owner == $user.id, 10,000 callers"
    if not bench.program:
        return
    ruled, plain, everyone = servers(bench)
    fetches(bench, ruled, plain, everyone)
    one_diff(bench, ruled, plain, everyone)
    beside_many(bench, ruled, plain, everyone)


def written(user, bound, operator=">=", fetch=FETCH):
    """The fetch with the rule's condition in its predicate."""
    path = query(CITY, where=f"owner == '{user}' AND population {operator} {bound}", **fetch)
    return path.replace("%7Bn%7D", "{n}").replace("%7Bc%7D", "{c}")


def ten(bound):
    """The ten largest cities up to a population, which a caller has as well as everyone."""
    return query(CITY, where=f"population <= {bound}", **TEN).replace("%7Bn%7D", "{n}")


def check_count(server, path):
    user = owner(SHANGHAI)
    path = path.replace("{n}", "1000000").replace("{c}", user.removeprefix("u"))
    count = answer(server, path, user)["count"]
    assert count == TEN["limit"], f"{count} items in an answer of {path}"


def fetches(bench, ruled, plain, everyone):
    wrk = Wrk(32, bench.seconds)
    rate = partial(wrk.rate, credentials=credentials("callers", (f"u{i}" for i in range(CALLERS))))
    path, own = ten("{n}"), written("u{c}", "{n}", "<=", TEN)
    for server in (ruled, plain, everyone):
        check_count(server, own if server is plain else path)
    seen = bench.contest(
        ours=lambda: rate(ruled, path),
        plain=lambda: rate(plain, own),
        all=lambda: rate(everyone, path),
    )
    name = "in the predicate"
    table.row("P13", p13.__doc__, "/s", seen["ours"], seen["plain"], name, at_least=0.77)
    what = "  compared with a fetch of all rows"
    table.row("", what, "/s", seen["ours"], seen["all"], "no rule", at_least=0.77)


def one_diff(bench, ruled, plain, everyone):
    user = owner(SHANGHAI)
    caller = credentials("owner", [user])

    # Shanghai is the largest city of its owner and of everyone, before and after the saves.
    path, own = ten(30_000_000), written(user, 30_000_000, "<=", TEN)
    for server in (ruled, plain, everyone):
        check_count(server, own if server is plain else path)

    def last(server, path):
        path += "&wait=60&since={token}"
        save = "PATCH", SHANGHAI, CHANGE
        return poll(server, 1, 50, path, token(server, user), *save, credentials=caller)[2]

    seen = bench.contest(
        ours=lambda: last(ruled, path),
        plain=lambda: last(plain, own),
        all=lambda: last(everyone, path),
    )
    what = "  one save until its diff is at one client"
    table.row("", what, "µs", seen["ours"], seen["plain"], "in the predicate", at_most=1.3)
    what = "  compared with a fetch of all rows"
    table.row("", what, "µs", seen["ours"], seen["all"], "no rule", at_most=1.3)


def beside_many(bench, ruled, plain, everyone):
    saver = owner(ANDORRA)
    users = [f"u{i}" for i in range(CALLERS) if f"u{i}" != saver]
    # The connection that could save has the first credential, and makes no request.
    callers = credentials("waiting", [saver, *users])
    # Under rules each caller has tokens of its own.
    own = {user: token(ruled, user) for user in users}
    waiting = {}
    for server, path in (
        (ruled, lambda user: city_fetch(1_000_000)),
        (plain, lambda user: written(user, 1_000_000)),
        # As many different fetches, none of which has the saved city.
        (everyone, lambda user: city_fetch(1_000_000 + int(user[1:]))),
    ):
        since = own if server is ruled else dict.fromkeys(users, token(server, saver))
        paths = [f"{path(user)}&wait=60&since={since[user]}" for user in users]
        waiting[server] = Held(server, paths, callers)
    one = credentials("saver", [saver])
    # Two million: within everyone's condition, and far from the 50 largest.
    change = CHANGE.replace("240", "20")

    def save(server):
        lines = lines_of("ping", server.port, 200, "PATCH", ANDORRA, change, credentials=one)
        return median(time for (time,) in lines)

    seen = bench.contest(
        ours=lambda: save(ruled), plain=lambda: save(plain), all=lambda: save(everyone)
    )
    for clients in waiting.values():
        clients.close()
    what = "  a save beside 9,999 callers' live fetches"
    table.row("", what, "µs", seen["ours"], seen["plain"], "in the predicate", at_most=1.3)
    what = "  compared with fetches of all rows"
    table.row("", what, "µs", seen["ours"], seen["all"], "no rule", at_most=1.3)
