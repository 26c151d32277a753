"""R12: two servers over one PostgreSQL database, one of which is killed, while other programs write:
transactions that overlap, end in another order than they began, stay open for seconds, and roll back.

After each kill: every client comes back with `since` at the restarted server, or goes on at the other
one, gets diffs and no snapshot, and holds what a fresh snapshot of either server says."""

import random
import signal
import threading
import time

from follower import Follower, compare
from postgres import Primary, programs
from report import Clock, Result
from server import Server

WRITERS = 6
SCHEMA = """
CREATE TABLE country(id int PRIMARY KEY, name text, continent text);
CREATE TABLE city(id int PRIMARY KEY, name text, population int,
  country_id int REFERENCES country ON DELETE SET NULL);
CREATE INDEX ON city(country_id);
INSERT INTO country SELECT i, 'c' || i, (ARRAY['Asia','Africa',NULL])[1 + i % 3]
  FROM generate_series(1, 12) AS i;
INSERT INTO city SELECT i, 'n' || i % 50, i * 7919 % 200, 1 + i % 12 FROM generate_series(1, 300) AS i;
"""
QUERIES = [
    {"sort": "-population,name", "limit": 40, "digest": "true"},
    {"where": "population > 60", "section": "country.name", "sort": "-population", "count": "exact",
     "digest": "true"},
    {"where": "country.continent == 'Asia'", "section": "country.continent", "sort": "name",
     "offset": 5, "limit": 30},
    {"sort": "name,-population", "select": "name,country.continent", "limit": 60},
]


class Writer(threading.Thread):
    """Another program: overlapping transactions, a fourth of which roll back."""

    def __init__(self, primary, seed, writing):
        super().__init__(daemon=True)
        self.process = primary.psql()
        self.chance, self.writing = random.Random(seed), writing
        self.ended, self.transactions, self.idle = False, 0, threading.Event()

    def run(self):
        while not self.ended:
            if not self.writing.wait(0.05):
                if not self.idle.is_set():
                    # psql has run everything when it answers.
                    self.say("\\echo idle")
                    self.process.stdout.readline()
                    self.idle.set()
                continue
            self.idle.clear()
            self.say("BEGIN;")
            for _ in range(self.chance.randint(1, 4)):
                self.say(self.statement() + ";")
                self.pause()
            # A statement that was refused has ended the transaction already: COMMIT rolls it back.
            self.say("ROLLBACK;" if self.chance.random() < 0.25 else "COMMIT;")
            self.transactions += 1
        self.process.stdin.close()
        self.process.wait()

    def say(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def pause(self):
        """Mostly short; sometimes the transaction stays open while many others end."""
        time.sleep(self.chance.choice([0, 0, 0.001, 0.005, 0.02])
                   if self.chance.random() < 0.97 else self.chance.uniform(0.5, 2))

    def statement(self):
        id, value = self.chance.randint(1, 320), self.chance.randint(0, 199)
        country = self.chance.randint(1, 13)
        return self.chance.choice([
            f"UPDATE city SET population = {value} WHERE id = {id}",
            f"UPDATE city SET population = population + 1 WHERE id BETWEEN {id} AND {id + 6}",
            f"UPDATE city SET name = 'w{value}' WHERE id = {id}",
            f"DELETE FROM city WHERE id = {id}",
            f"INSERT INTO city VALUES ({id}, 'i{value}', {value}, NULL) ON CONFLICT DO NOTHING",
            f"UPDATE city SET country_id = (SELECT max(id) FROM country WHERE id <= {country})"
            f" WHERE id = {id}",
            f"UPDATE country SET continent = 'Asia' WHERE id = {country}",
            f"UPDATE country SET continent = NULL, name = 'r{value}' WHERE id = {country}",
            f"DELETE FROM country WHERE id = {country} AND id > 10",
            f"INSERT INTO country VALUES ({country}, 'new', 'Africa') ON CONFLICT DO NOTHING",
        ])


def run(program, folder, kills, seed, seconds=None):
    if not programs():
        return Result("R12", "two servers over PostgreSQL", [], skipped="PostgreSQL is missing")
    chance, clock, faults = random.Random(seed), Clock(seconds), []
    with Primary(folder / "postgres") as primary:
        primary.run(SCHEMA)
        writing = threading.Event()
        with Server(program, primary.target) as first, Server(program, primary.target) as second:
            servers = [first, second]
            watchers = [Follower(server, "city", query, stream=(i + j) % 2 == 1)
                        for i, server in enumerate(servers) for j, query in enumerate(QUERIES)]
            writers = [Writer(primary, seed + i, writing) for i in range(WRITERS)]
            for thread in watchers + writers:
                thread.start()
            for number in range(kills):
                if clock.is_over():
                    kills = number
                    break
                writing.set()
                time.sleep(chance.uniform(0.3, 1.5))
                victim = chance.choice(servers)
                victim.end(signal.SIGKILL)
                time.sleep(chance.uniform(0, 0.5))
                victim.start()
                writing.clear()
                for writer in writers:
                    if not writer.idle.wait(60):
                        faults.append("a writer does not end")
                # Followers of one server are compared with a snapshot of the other.
                half = len(QUERIES)
                faults += compare(second, watchers[:half], within=30)
                faults += compare(first, watchers[half:], within=30)
            for writer in writers:
                writer.ended = True
            for watcher in watchers:
                watcher.ended.set()
    faults += [fault for watcher in watchers for fault in watcher.faults]
    figures = {
        "transactions": sum(writer.transactions for writer in writers),
        "resumed": sum(watcher.resumed for watcher in watchers),
        "diffs": sum(watcher.view.diffs for watcher in watchers)}
    faults += [f"{name}: none" for name, count in figures.items() if not count]
    return Result("R12", f"{kills} kill -9 of one of two servers over PostgreSQL (seed {seed})",
                  faults, figures)
