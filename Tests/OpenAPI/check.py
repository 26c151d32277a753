#!/usr/bin/env python3
"""check.py LIVEFETCH: is /openapi.json valid, and are the server's answers what it says?

Serves a small store, validates the document as OpenAPI 3.1, then asks one request of every kind and
validates its answer against the schema that the document gives for that status. Ends the server.
"""

import json
import re
import sqlite3
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

from openapi_spec_validator import OpenAPIV31SpecValidator

from answers import complaints, resolved

WORLD = """
CREATE TABLE Country(code TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL, area REAL);
CREATE TABLE City(id INTEGER PRIMARY KEY, name TEXT NOT NULL, country_id TEXT REFERENCES Country,
  population INTEGER, founded DATE, seen TIMESTAMP, capital BOOLEAN, photo BLOB, extra JSON,
  tag UUID, price NUMERIC);
CREATE TABLE Club("odd / {name}" INTEGER, id INTEGER PRIMARY KEY);
CREATE TABLE City_Club(city INTEGER REFERENCES City(id), club INTEGER REFERENCES Club(id));
CREATE VIEW Names AS SELECT name FROM City;
INSERT INTO Country VALUES ('PE', 'Peru', 9e999), ('NO', 'Norway', 385207.0);
INSERT INTO City VALUES (1, 'Lima', 'PE', 7737002, '1535-01-18', '2024-01-31T10:00:00Z', 1,
  x'0102', '{"a":[1]}', '00112233-4455-6677-8899-aabbccddeeff', 1.5),
  (2, 'Oslo', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO Club VALUES (1, 1);
INSERT INTO City_Club VALUES (1, 1);
"""

MODELS = Path(__file__).parent / "../../Sources/LiveFetchCommand/Resources/models"

HEADERS = {"Idempotency-Key": "once"}
VOSS = {"name": "Bergen", "population": 1}
LIVE = {"fetches": {
    "big": {"entity": "City", "where": "population > 0", "sort": ["-population"]},
    "groups": {"entity": "City", "as": "dictionaries", "group": ["country.name"],
               "select": ["country.name", "n:@count"]},
    "count": {"entity": "Country", "as": "count"}}}

# Status, method, path, the path's template, body; perhaps headers.
REQUESTS = [
    (200, "GET", "/v1", "/v1", None),
    (200, "GET", "/v1/model", "/v1/model", None),
    (200, "GET", "/health/live", "/health/live", None),
    (200, "GET", "/health/ready", "/health/ready", None),
    (200, "GET", "/v1/objects/City?section=capital&count=exact&digest=true&expand=country",
     "/v1/objects/City", None),
    (200, "GET", "/v1/objects/City?as=ids&limit=1", "/v1/objects/City", None),
    (200, "GET", "/v1/objects/City?as=count", "/v1/objects/City", None),
    (200, "GET", "/v1/objects/City?select=name,country.name,Club", "/v1/objects/City", None),
    (200, "GET", "/v1/objects/Country", "/v1/objects/Country", None),
    (200, "GET", "/v1/objects/Names", "/v1/objects/Names", None),
    (200, "GET", "/v1/objects/City/1", "/v1/objects/City/{id}", None),
    (404, "GET", "/v1/objects/City/9", "/v1/objects/City/{id}", None),
    (400, "GET", "/v1/objects/City?where=nme==1", "/v1/objects/City", None),
    (410, "GET", "/v1/objects/City?since=x-1-00000000", "/v1/objects/City", None),
    (200, "POST", "/v1/fetch", "/v1/fetch", {"entity": "City", "where": "name IN %@",
                                        "arguments": [["Lima"]], "sort": ["name"]}),
    (201, "POST", "/v1/objects/City", "/v1/objects/City", {"name": "Voss", "population": 1}),
    (422, "POST", "/v1/objects/City", "/v1/objects/City", {"nme": "Voss", "population": "x"}),
    (200, "PATCH", "/v1/objects/City/1", "/v1/objects/City/{id}", {"population": 8000000}),
    (201, "PUT", "/v1/objects/Country/SE", "/v1/objects/Country/{id}", {"name": "Sweden"}),
    (200, "PATCH", "/v1/objects/City?where=id==3", "/v1/objects/City", {"capital": False}),
    (200, "POST", "/v1/save", "/v1/save", {"changes": [
        {"insert": "City", "temporaryID": "t", "values": {"name": "A", "country": "NO"}},
        {"update": "City", "id": 2, "values": {"country": "SE", "Club": {"add": [1]}}},
        {"delete": "City", "id": 3}]}),
    (409, "POST", "/v1/save", "/v1/save", {"changes": [{"update": "City", "id": 77, "values": {}}]}),
    (200, "DELETE", "/v1/objects/City?where=id==4", "/v1/objects/City", None),
    (200, "GET", "/v1/changes", "/v1/changes", None),
    (200, "GET", "/v1/objects/City?as=dictionaries&select=country.name,n:@count&group=country.name",
     "/v1/objects/City", None),
    (200, "GET", "/v1/objects/City?as=dictionaries&select=n:@count&since=now&wait=0", "/v1/objects/City", None),
    (200, "GET", "/v1/objects/City/1/photo", "/v1/objects/City/{id}/{attribute}", None),
    (200, "GET", "/metrics", "/metrics", None),
    (200, "GET", "/openapi.json", "/openapi.json", None),
    (200, "POST", "/v1/live", "/v1/live", LIVE),
    (400, "POST", "/v1/live", "/v1/live", {"fetches": {"a": {"entity": "Nothing"}}}),
    (201, "POST", "/v1/objects/City", "/v1/objects/City", VOSS, HEADERS),
    (201, "POST", "/v1/objects/City", "/v1/objects/City", VOSS, HEADERS),
    (422, "POST", "/v1/objects/City", "/v1/objects/City", {"name": "Moss"}, HEADERS),
    (412, "PATCH", "/v1/objects/City/1", "/v1/objects/City/{id}", {"population": 1},
     {"If-Match": '"no"'}),
    (404, "GET", "/v1/fetches/none", "/v1/fetches/{name}", None),
    (405, "PUT", "/v1/objects/City", "/v1/objects/City", {}),
]


# Of the sample with classes, inheritance and fetch templates.
SKILL = {"$class": "HeroSkill", "name": "stare", "justicePower": 9}
HEROES = [
    (201, "POST", "/v1/objects/Hero", "/v1/objects/Hero", {"name": "Ada", "power": 70, "skill": SKILL}),
    (422, "POST", "/v1/objects/Hero", "/v1/objects/Hero", {"name": "Bo", "skill": {"$class": "None"}}),
    (422, "POST", "/v1/objects/Hero", "/v1/objects/Hero", {"name": "", "power": -1}),
    (200, "GET", "/v1/objects/Hero?where=skill.justicePower==9", "/v1/objects/Hero", None),
    (200, "GET", "/v1/objects/Human/1", "/v1/objects/Human/{id}", None),
    (200, "GET", "/v1/fetches/strongHeroes?var.MIN=60", "/v1/fetches/{name}", None),
]

PATHS = [
    "/", "/v1", "/v1/model", "/openapi.json", "/health/live", "/health/ready", "/metrics",
    "/v1/fetch", "/v1/live", "/v1/fetches/{name}", "/v1/save", "/v1/changes",
]


def ask(address, method, path, body, more={}):
    data = None if body is None else json.dumps(body).encode()
    headers = dict(more) if data is None else {"Content-Type": "application/json", **more}
    request = urllib.request.Request(
        address + path.replace(" ", "+"), data, headers, method=method
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.headers["Content-Type"], answer.read()
    except urllib.error.HTTPError as answer:
        return answer.status, answer.headers["Content-Type"], answer.read()


def validated(address, found):
    """The document, and what is wrong with it."""
    document = json.loads(ask(address, "GET", "/openapi.json", None)[2])
    for error in OpenAPIV31SpecValidator(document).iter_errors():
        found.append(f"document: {error.message}")
    return document


def check_answers(address, found):
    document = validated(address, found)
    token = json.loads(ask(address, "GET", "/v1", None)[2])["token"]
    requests = REQUESTS + [
        (200, "GET", f"/v1/objects/City?since={token}&wait=0", "/v1/objects/City", None),
        (200, "GET", f"/v1/objects/City/1?since={token}&wait=0", "/v1/objects/City/{id}", None),
        (200, "GET", f"/v1/objects/City?as=count&since={token}&wait=0", "/v1/objects/City", None),
    ]
    check_paths(document, found)
    asked(address, document, requests, found)
    return f"{len(document['paths'])} paths, {len(requests)} answers"


def asked(address, document, requests, found):
    """Sends the requests and holds their answers against the document."""
    for expected, method, path, template, body, *headers in requests:
        status, kind, answer = ask(address, method, path, body, *headers)
        if status != expected:
            found.append(f"{method} {path}: {status}, not {expected}: {answer[:300].decode()}")
        for complaint in complaints(document, method, template, status, kind, answer):
            found.append(f"{method} {path}: {complaint}")


def check_paths(document, found):
    """Every route is there, and every write takes a key to be made once."""
    for path in PATHS:
        if path not in document["paths"]:
            found.append(f"{path} is not in the document")
    for path, item in document["paths"].items():
        for method in set(item) & {"put", "patch", "delete", "post"}:
            names = [resolved(each, document)["name"] for each in item[method].get("parameters", [])]
            if path not in ("/v1/fetch", "/v1/live") and "Idempotency-Key" not in names:
                found.append(f"{method} {path} has no Idempotency-Key")


def check_model(address, name, found):
    """The document of a sample's model, a snapshot of every entity, and what else it has."""
    document = validated(address, found)
    check_paths(document, found)
    entities = [path for path in document["paths"]
                if re.fullmatch(r"/v1/objects/[^/]+", path)]
    asked(address, document, [(200, "GET", path, path, None) for path in entities], found)
    if name == "heroes":
        asked(address, document, HEROES, found)


def served(program, file, options, body):
    server = subprocess.Popen(
        [program, "serve", str(file), "--port", "0", *options],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        return body(re.search(r"http://\S+", server.stdout.readline())[0])
    finally:
        server.terminate()
        try:
            status = server.wait(30)
        except subprocess.TimeoutExpired:
            server.kill()
            status = server.wait()
        if status:
            raise SystemExit(f"the server of {file.name} ended with status {status}")


def main(program):
    found = []
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "world.sqlite"
        store = sqlite3.connect(file)
        store.executescript(WORLD)
        store.close()
        checked = served(program, file, [], lambda address: check_answers(address, found))
        for model in sorted(MODELS.glob("*.json")):
            if model.name.endswith(".data.json"):
                continue
            store = Path(directory) / f"model-{model.stem}.sqlite"
            served(program, store, ["--model", str(model)], lambda at: check_model(at, model.stem, found))
            checked += f", {model.stem}"
    print("\n".join(found) or f"{checked}: valid")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
