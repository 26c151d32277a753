"""DAMAGE: a file or its log that is cut off, or has pages of zeros or noise, before the server
starts or while it runs.

The server may refuse to start. Otherwise each answer is the one of the whole file (of an earlier save,
where the log is damaged), or 500 or 503 with a code, or 401, and then the server is not ready. It never ends
by itself. SQLite's pages have no checksums, so a changed value inside of a well-formed page is not
among the damages."""

import json
import random
import shutil
import signal

from report import Clock, Result
from server import Connection, Server, create
from wire import request, send

PAGE = 4096
ROWS = 3000
SAVES = 12
SCHEMA = f"""
PRAGMA page_size = {PAGE};
CREATE TABLE city(id INTEGER PRIMARY KEY, name TEXT, population INTEGER);
CREATE INDEX city_name ON city(name);
WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < {ROWS})
INSERT INTO city SELECT i, 'city ' || (i * 7919 % {ROWS}) || hex(i * 104729), 0 FROM n;
"""
TARGETS = [
    f"/v1/objects/city?sort=id&limit={ROWS}", "/v1/objects/city?sort=name&limit=2000",
    "/v1/objects/city?as=count&where=population%3E0", "/v1/objects/city/1",
    f"/v1/objects/city/{ROWS}",
]


def without_token(body):
    answer = json.loads(body)
    for name in ("token", "from", "to"):
        answer.pop(name, None) if isinstance(answer, dict) else None
    return json.dumps(answer)


def answers(port):
    """Each target's status, code and body without its token."""
    for target in TARGETS:
        answer = send(port, request("GET", target), time_limit=60)
        body = without_token(answer.body) if answer.status == 200 else None
        yield target, answer.status, answer.code, body


def make(program, folder):
    """A file with history, the same with a log, and the answers after each save in the log."""
    file, logged = folder / "whole.sqlite", folder / "logged.sqlite"
    create(file, SCHEMA)
    with Server(program, file) as server:
        save(server, 0)
        server.end()
    shutil.copy(file, logged)
    server = Server(program, logged).start()
    states = [list(answers(server.port))]
    for number in range(1, SAVES):
        save(server, number)
        states.append(list(answers(server.port)))
    server.end(by=signal.SIGKILL)
    return file, logged, states


def save(server, number):
    values = {"population": number + 1}
    change = {"update": "city", "id": 1 + number * (ROWS // SAVES), "values": values}
    Connection(server).save([change])


def damage(file, offset, kind, chance):
    if kind == "cut":
        with open(file, "r+b") as opened:
            opened.truncate(offset)
        return
    with open(file, "r+b") as opened:
        opened.seek(offset // PAGE * PAGE)
        noise = b"\xff" + chance.randbytes(PAGE - 1)
        opened.write(bytes(PAGE) if kind == "zeros" else noise)


def examine(program, file, states, harm, is_served):
    """What is wrong with a server on a file that is damaged before or after the start, and how it
    ended up."""
    server, faults = Server(program, file), []
    if not is_served:
        harm()
    try:
        server.start()
    except RuntimeError:
        status = server.process.wait()
        return ("refused", []) if status > 0 else ("died", [f"exit status {status} at the start"])
    try:
        if is_served:
            harm()
        found = list(answers(server.port))
        failed = False
        for place, (target, status, code, body) in enumerate(found):
            if status == 200:
                if body not in [state[place][3] for state in states]:
                    faults.append(f"{target}: a wrong answer")
            elif (status in (500, 503) and code) or status == 401:
                # 401: the API keys cannot be read, so that no caller is known.
                failed = True
            elif (status, code) not in [state[place][1:3] for state in states]:
                faults.append(f"{target}: {status} {code}")
        ready = send(server.port, request("GET", "/health/ready"), time_limit=60)
        if failed and ready.status != 503:
            faults.append(f"ready is {ready.status} after a failed answer")
        if (status := server.process.poll()) is not None:
            return "died", faults + [f"exit status {status}"]
        if (status := server.end()) != 0:
            faults.append(f"exit status {status} at the end")
        return "failed answers" if failed else "whole answers", faults
    except OSError as error:
        return "died", faults + [f"{error!r}, exit status {server.process.poll()}"]
    finally:
        server.end(by=signal.SIGKILL)


def run(program, folder, offsets, seed, seconds=None):
    chance, faults, outcomes = random.Random(seed), [], {}
    file, logged, states = make(program, folder)
    clock, tried = Clock(seconds), 0
    while tried < offsets and not clock.is_over() and len(faults) < 20:
        tried += 1
        is_log = tried % 3 == 0
        copy = folder / "copy.sqlite"
        source = logged if is_log else file
        for suffix in ("", "-wal", "-shm"):
            (folder / f"copy.sqlite{suffix}").unlink(missing_ok=True)
        shutil.copy(source, copy)
        harmed = copy
        if is_log:
            harmed = folder / "copy.sqlite-wal"
            shutil.copy(f"{source}-wal", harmed)
        offset = chance.randrange(harmed.stat().st_size)
        kind = chance.choice(["cut", "zeros", "noise"])
        # A server that starts reads the whole log, and empties it when it ends.
        is_served = not is_log and chance.random() < 0.5
        outcome, found = examine(
            program, copy, states if is_log else states[:1],
            lambda: damage(harmed, offset, kind, chance), is_served)
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
        name = "the log" if is_log else "the served file" if is_served else "the file"
        faults += [f"{kind} at {offset} of {name}: {fault}" for fault in found]
    figures = ", ".join(f"{count} × {name}" for name, count in sorted(outcomes.items()))
    return Result("DAMAGE", f"{tried} damaged files (seed {seed})", faults, {"outcomes": figures})
