"""The peer PocketBase: its data folder with the same cities and indexes, and its requests."""

import json
import shutil
import sqlite3

from harness import RUN, WORK, Missing, Server, ask, free_port, note, output_of, query

PROGRAM = WORK / "venv/bin/pocketbase"
FOLDER = WORK / "pocketbase"  # as filled; served is a copy, so that no run sees another's rows
COPY = RUN / "pocketbase"
CREDENTIALS = {"identity": "bench@example.com", "password": "benchmarks-only"}
RECORDS = "/api/collections/cities/records"
COLUMNS = ("name", "country", "population", "latitude", "longitude", "timezone", "admin1")
COLLECTION = {
    "name": "cities",
    "type": "base",
    "listRule": "",
    "viewRule": "",
    "createRule": "",
    "updateRule": "",
    "fields": [
        {"name": name, "type": "number" if name in COLUMNS[1:5] else "text"} for name in COLUMNS
    ],
    "indexes": [
        "CREATE INDEX cities_population ON cities (population)",
        "CREATE INDEX cities_country_population ON cities (country, population)",
    ],
}
FIRST = RECORDS + "/" + f"{1796236:015d}"  # the record that saves change: Shanghai


def fetch(minimum):
    return query(
        RECORDS, filter=f"population >= {minimum}", sort="-population", perPage=50, skipTotal=1
    ).replace("%7Bn%7D", "{n}")


def topic(minimum=None):
    if minimum is None:
        return "cities/*"
    options = json.dumps({"query": {"filter": f"population >= {minimum}"}})
    return query("cities/*", options=options)


def start(base):
    if not PROGRAM.exists():
        raise Missing("PocketBase is not installed")
    if not (FOLDER / "filled").exists():
        fill(base)
    shutil.rmtree(COPY, ignore_errors=True)
    shutil.copytree(FOLDER, COPY)
    return serve(COPY)


def serve(folder):
    port = free_port()
    return Server(
        [
            PROGRAM,
            "serve",
            f"--http=127.0.0.1:{port}",
            f"--dir={folder}",
            f"--migrationsDir={folder}/migrations",
            "--automigrate=false",
        ],
        r"Server started at http://127\.0\.0\.1:(\d+)",
    )


def fill(base):
    """The collection by its interface, the rows straight into its table."""
    note("filling PocketBase")
    shutil.rmtree(FOLDER, ignore_errors=True)
    output_of(
        [
            PROGRAM,
            "superuser",
            "upsert",
            *CREDENTIALS.values(),
            f"--dir={FOLDER}",
            f"--migrationsDir={FOLDER}/migrations",
        ]
    )
    server = serve(FOLDER)
    _, answer = ask(
        server.url + "/api/collections/_superusers/auth-with-password", "POST", CREDENTIALS
    )
    ask(
        server.url + "/api/collections",
        "POST",
        COLLECTION,
        {"Authorization": json.loads(answer)["token"]},
    )
    server.stop()
    store = sqlite3.connect(FOLDER / "data.db")
    store.execute("ATTACH ? AS base", [str(base)])
    store.execute(
        f"INSERT INTO cities (id, {', '.join(COLUMNS)}) SELECT printf('%015d', id), name, country,"
        " population, latitude, longitude, timezone, coalesce(admin1, '') FROM base.City"
    )
    store.commit()
    store.close()
    (FOLDER / "filled").touch()
