#!/usr/bin/env python3
"""short.py LIVEFETCH SECONDS [SEED]: requests made at random out of /openapi.json.

A short form of generated.py without schemathesis, for `make test`: parameters and bodies that the
document allows, and some that it does not. No answer may be a 500 or one that the document does not
describe. Ends the server."""

import json
import random
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "Faults"))
from answers import complaints, resolved
from fuzz import Maker, SCHEMA
from report import Result
from server import Server, create

HEADERS = ["*", '"x"', "return=minimal", "max-affected=1", "handling=strict", "key", "now"]
NAMES = ["name", "-population", "country", "country.name", "id", "founded", "share", "name:cd"]
WRONG = 0.08  # how often a value is of another schema
# Waits last, streams do not end, and schemas do not say that integers may be strings.
LEFT_OUT = ("wait", "Last-Event-ID", "int64")


class Requests:
    def __init__(self, document, chance):
        self.document, self.chance, self.pick = document, chance, chance.choice
        self.maker = Maker(chance)
        self.operations = [
            (template, method, operation, path.get("parameters", []))
            for template, path in document["paths"].items()
            for method, operation in path.items() if method != "parameters"]

    def text(self):
        return self.pick([self.pick(NAMES), self.pick(NAMES), self.pick(NAMES), self.maker.text(), "now", "city"])

    def value(self, schema, depth=0):
        """A value of a schema; now and then, and where it is deep, any value."""
        schema = resolved(schema, self.document)
        if self.chance.random() < WRONG or depth > 8:
            return self.maker.json(4)
        for name in ("anyOf", "oneOf"):
            if name in schema:
                return self.value(self.pick(schema[name]), depth + 1)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self.pick(schema["enum"])
        kind = schema.get("type", "any")
        kind = self.pick(kind) if isinstance(kind, list) else kind
        if kind == "object":
            needed = schema.get("required", [])
            return {name: self.value(member, depth + 1)
                    for name, member in schema.get("properties", {}).items()
                    if name in needed or self.chance.random() < 0.4}
        if kind == "array":
            return [self.value(schema.get("items", {}), depth + 1) for _ in range(self.chance.randint(0, 3))]
        made = {"boolean": self.chance.random() < 0.5, "null": None, "string": self.text(),
                "integer": self.pick([0, 1, 2, 3, 9, -1, 2**53 - 1]), "number": self.pick([0, 1, 0.5, 1e300])}
        return made[kind] if kind in made else self.maker.json(3)

    def request(self):
        """The path's template, a method, a target, headers and a body."""
        template, method, operation, shared = self.pick(self.operations)
        if self.chance.random() < WRONG / 2:
            method = self.pick(["get", "post", "put", "patch", "delete"])
            operation = self.document["paths"][template].get(method, {})
        target, query, headers = template, {}, {}
        for parameter in shared + operation.get("parameters", []):
            parameter = resolved(parameter, self.document)
            name, place = parameter["name"], parameter["in"]
            value = self.value(parameter["schema"])
            text = value if isinstance(value, str) else json.dumps(value)
            if place == "path":
                target = target.replace("{%s}" % name, urllib.parse.quote(text.strip(". ") or "1", safe=""))
            elif name in LEFT_OUT:
                query |= {name: "0"} if name == "wait" else {}
            elif parameter.get("required") or self.chance.random() < 0.25:
                if place == "query":
                    query[name] = text
                else:
                    headers[name] = self.pick(HEADERS)
        if query:
            target += "?" + urllib.parse.urlencode(query)
        body = None
        if "requestBody" in operation:
            made = self.value(operation["requestBody"]["content"]["application/json"]["schema"])
            if isinstance(made, dict):
                made = {name: 0 if name == "wait" else part for name, part in made.items() if name != "int64"}
            body = json.dumps(made).encode()
            headers["Content-Type"] = "application/json"
        return template, method.upper(), target, headers, body


def ask(address, method, target, headers, body):
    request = urllib.request.Request(address + target, body, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.headers["Content-Type"], answer.read()
    except urllib.error.HTTPError as answer:
        return answer.status, answer.headers["Content-Type"], answer.read()


def main(program, seconds, seed=None):
    seed = random.randrange(1 << 32) if seed is None else int(seed)
    faults, statuses = [], {}
    with tempfile.TemporaryDirectory(prefix="livefetch-openapi-") as folder:
        file = Path(folder) / "store.sqlite"
        create(file, SCHEMA)
        with Server(program, file) as server:
            address = f"http://127.0.0.1:{server.port}"
            document = json.loads(ask(address, "GET", "/openapi.json", {}, None)[2])
            requests, until = Requests(document, random.Random(seed)), time.monotonic() + float(seconds)
            while time.monotonic() < until and len(faults) < 20:
                template, *request = requests.request()
                try:
                    status, kind, answer = ask(address, *request)
                except OSError as error:
                    faults.append(f"{error!r}: {request}")
                    if server.process.poll() is not None:
                        break
                    continue
                statuses[status] = statuses.get(status, 0) + 1
                found = complaints(document, request[0], template, status, kind, answer)
                if status == 500:
                    found.append("500")
                faults += [f"{fault}: {request} {answer[:300]}" for fault in found[:1]]
    faults += Server.failures
    figures = ", ".join(f"{count} × {status}" for status, count in sorted(statuses.items()))
    count = sum(statuses.values())
    Result("OPENAPI", f"{count} requests of /openapi.json (seed {seed})", faults, {"answers": figures}).print()
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
