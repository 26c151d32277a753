"""R1: random saves, seen through fetches of every kind. After each save some of the fetches get the
diff from what they hold, which may be many saves old, and have to hold then what a fresh snapshot
says, digest and all; others follow by long-poll and stream and are compared every hundred rounds."""

import random
import sqlite3

from follower import Follower, compare
from report import Clock, Result
from server import Connection, Refused, Server
from view import View, Wrong

SCHEMA = """
CREATE TABLE country(id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, continent TEXT);
CREATE TABLE city(id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, population INTEGER,
  country_id INTEGER REFERENCES country(id) ON DELETE SET NULL);
CREATE INDEX city_population ON city(population);
CREATE INDEX city_country ON city(country_id, population);
"""
CONTINENTS = ["Africa", "Asia", "Europe", None]
NAMES = ["Lima", "lima", "Köln", "Oslo", "", "São", "東京", "O'Hara", "\U0001f600", None]
POOL, ASKED, FOLLOWING, EVERY = 24, 4, 8, 100


class World:
    """The ids that are there, and saves over them."""

    def __init__(self, chance, file):
        self.chance = chance
        self.ids = {"country": list(range(1, 13)), "city": list(range(1, 301))}
        database = sqlite3.connect(file)
        database.executescript(SCHEMA)
        for entity in ("country", "city"):
            for id in self.ids[entity]:
                values = self.values(entity)
                names = ["country_id" if name == "country" else name for name in values]
                database.execute(f"INSERT INTO {entity}(id, {', '.join(names)}) VALUES"
                                 f" ({', '.join('?' * (len(names) + 1))})", [id, *values.values()])
        database.commit()
        database.close()

    def values(self, entity):
        pick = self.chance.choice
        if entity == "country":
            return {"name": pick(NAMES), "continent": pick(CONTINENTS)}
        return {"name": pick(NAMES), "population": pick([None, self.chance.randrange(200)]),
                "country": pick([*self.ids["country"], None])}

    def save(self, connection):
        changes, inserted = [], {}
        gone = set()
        for index in range(self.chance.choice([1, 1, 1, 2, 5, 20])):
            entity = "country" if self.chance.random() < 0.15 else "city"
            id = self.chance.choice(self.ids[entity])
            kind = self.chance.random()
            if kind < 0.25 or id in gone:
                changes.append({"insert": entity, "values": self.values(entity)})
                inserted[str(index)] = entity
            elif kind < 0.45 and len(self.ids[entity]) > (200 if entity == "city" else 8):
                changes.append({"delete": entity, "id": id})
                self.ids[entity].remove(id)
                gone.add(id)
            else:
                values = self.values(entity)
                some = self.chance.sample(sorted(values), self.chance.randint(1, len(values)))
                changes.append({"update": entity, "id": id, "values": {k: values[k] for k in some}})
        answer = connection.save(changes)
        for index, id in answer["ids"].items():
            self.ids[inserted[index]].append(id)


def fetch(chance):
    """Any fetch: an entity and its query."""
    pick, number = chance.choice, chance.randrange(200)
    query = {"digest": "true"}
    if chance.random() < 0.15:
        query |= {"where": pick(["TRUEPREDICATE", f"city.@count > {number // 10}",
                                 f"ANY city.population > {number}", "continent == 'Asia'",
                                 f"city.@sum.population > {number * 10}"]),
                  "sort": pick(["name", "-continent,name:cd", "-id"])}
        entity = "country"
    else:
        query |= {"where": pick([
            "TRUEPREDICATE", f"population >= {number}", f"population BETWEEN {{{number}, 150}}",
            "country.continent == 'Europe'", f"country == {number % 12} OR population < 20",
            f"country.continent IN {{'Asia', 'Africa'}} AND population > {number}",
            "name BEGINSWITH[cd] 'l'", "country.name != nil AND NOT population > 100",
            f"country.city.@count > {number // 8}"]),
            "sort": pick(["-population", "population:nullslast,name", "name:cd,-id",
                          "country.name,-population", "-id"])}
        if chance.random() < 0.5:
            query["section"] = pick(["country.name", "-country.continent", "country", "name:cd"])
            query["sort"] = pick(["-population", "population:nullslast", "-id"])
        if chance.random() < 0.3:
            query["select"] = pick(["name", "population,country.name", "country.continent"])
        entity = "city"
    if chance.random() < 0.6:
        query["limit"] = pick([0, 1, 7, 30, 100])
        query["offset"] = pick([0, 0, 1, 10])
    if chance.random() < 0.3:
        query["count"] = "exact"
    return entity, query


class Asked:
    """A fetch that is asked now and then, with the token that it was left at."""

    def __init__(self, connection, chance):
        self.entity, self.query = fetch(chance)
        self.view = View()
        self.view.begin(connection.get(self.entity, self.query))

    def ask(self, connection):
        """What is wrong after the diff from there to now, as text."""
        since = {"since": self.view.token, "wait": 0}
        try:
            self.view.apply(connection.get(self.entity, self.query | since))
        except Wrong as fault:
            return [f"{self.entity} {self.query}: {fault}"]
        fresh = connection.get(self.entity, self.query)
        if self.view.equals(fresh):
            return []
        return [f"{self.entity} {self.query}: {self.view.difference(fresh)}"]


def run(program, folder, rounds, seed, seconds=None):
    chance = random.Random(seed)
    file = folder / "rounds.sqlite"
    world, faults, asked, clock = World(chance, file), [], 0, Clock(seconds)
    with Server(program, file) as server:
        connection = Connection(server)
        pool = [Asked(connection, chance) for _ in range(POOL)]
        following = [Follower(server, *fetch(chance), stream=i % 2 == 1) for i in range(FOLLOWING)]
        for thread in following:
            thread.start()
        faults += compare(server, following)
        for number in range(1, rounds + 1):
            try:
                world.save(connection)
                for one in chance.sample(pool, ASKED):
                    faults += (wrong := one.ask(connection))
                    asked += 1
                    if wrong or chance.random() < 0.05:
                        pool[pool.index(one)] = Asked(connection, chance)
            except Refused as refused:
                faults.append(f"round {number}: {refused}")
            if number % EVERY == 0 or number == rounds or clock.is_over():
                faults += compare(server, following)
            if clock.is_over():
                rounds = number
                break
        for thread in following:
            thread.ended.set()
        faults += [fault for thread in following for fault in thread.faults]
    followed = sum(thread.view.diffs for thread in following)
    if not asked or not followed:
        faults.append("no diff was asked for, or none followed")
    return Result("R1", f"{rounds} random saves (seed {seed})", faults,
                  {"diffs asked": asked, "diffs followed": followed})
