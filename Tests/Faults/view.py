"""What a client holds of one fetch: the snapshot that it began with, and every diff put into it.

Enter a snapshot and diffs; leaves the result at the last token. Every diff has to begin where the
last one ended, every position has to exist and hold the id that the diff names, and count and digest
have to agree: what does not is `Wrong`."""

import json
import threading

KEPT = ("count", "next", "total", "truncated", "digest")  # repeated by a diff, or gone


class Wrong(Exception):
    """What was replayed is not what the server says."""


class View:
    def __init__(self):
        self.lock = threading.Lock()
        self.token, self.state, self.diffs = None, None, 0

    def begin(self, snapshot):
        with self.lock:
            self.token, self.state = snapshot["token"], content(snapshot)
            self.check()

    def apply(self, diff):
        with self.lock:
            if diff["from"] != self.token:
                raise Wrong(f"a diff from {diff['from']} came to a client at {self.token}")
            apply(self.state, diff)
            self.token = diff["to"]
            self.diffs += 1
            self.check()

    def check(self):
        sections = self.state["sections"]
        count = sum(len(section["items"]) for section in sections)
        if count != self.state["count"]:
            raise Wrong(f"{count} items, and count is {self.state['count']}")
        if "digest" in self.state and digest(sections) != self.state["digest"]:
            raise Wrong(f"digest {self.state['digest']}, held {digest(sections)}")

    def equals(self, snapshot):
        with self.lock:
            return self.state == content(snapshot)

    def difference(self, snapshot):
        """Where the two differ first, for the report."""
        with self.lock:
            held, fresh = (json.dumps(x, sort_keys=True) for x in (self.state, content(snapshot)))
        at = next((i for i, (a, b) in enumerate(zip(held, fresh)) if a != b), 0)
        return (f"at {self.token} held …{held[max(0, at - 60):at + 60]}…,"
                f" at {snapshot['token']} fresh …{fresh[max(0, at - 60):at + 60]}…")


def content(snapshot):
    """A snapshot without its token: what has to be equal."""
    kept = {key: snapshot[key] for key in KEPT if key in snapshot}
    return json.loads(json.dumps(kept | {"sections": snapshot["sections"]}))


def apply(state, diff):
    """Lead `state` from the diff's `from` to its `to`, in the order that the API names."""
    sections, items = state["sections"], diff["items"]
    taken = {}
    leaving = items["deleted"] + items["moved"]
    places = {entry["id"]: tuple(entry["from"]) for entry in items["updated"]}
    named = {entry["id"]: at(sections, places[entry["id"]], entry["id"])
             for entry in items["updated"]}
    for entry in sorted(leaving, key=lambda entry: entry["from"], reverse=True):
        taken[entry["id"]] = at(sections, entry["from"], entry["id"])
        del sections[entry["from"][0]]["items"][entry["from"][1]]
    for gone in reversed(diff["sections"]["deleted"]):
        if sections[gone["index"]]["items"] or sections[gone["index"]]["value"] != gone["value"]:
            raise Wrong(f"deleted section {gone} is not empty, or another one")
        del sections[gone["index"]]
    for new in diff["sections"]["inserted"]:
        body = {key: value for key, value in new.items() if key != "index"}
        sections.insert(new["index"], body | {"items": []})
    arriving = [(e["to"], e["item"]) for e in items["inserted"]]
    arriving += [(e["to"], taken[e["id"]] | e["changed"]) for e in items["moved"]]
    for place, item in sorted(arriving, key=lambda pair: pair[0]):
        if place[1] > len(sections[place[0]]["items"]):
            raise Wrong(f"nothing stands before {place}")
        sections[place[0]]["items"].insert(place[1], item)
    for entry in items["updated"]:
        at(sections, entry["to"], entry["id"])
        named[entry["id"]].update(entry["changed"])
    for key in KEPT:
        state.pop(key, None)
        if key in diff:
            state[key] = diff[key]


def at(sections, place, id):
    """The item at a place; it has to be the one that the diff names."""
    try:
        item = sections[place[0]]["items"][place[1]]
    except IndexError:
        raise Wrong(f"nothing at {place}, where {id} should be") from None
    if item["id"] != id:
        raise Wrong(f"{item['id']} at {place}, where {id} should be")
    return item


def digest(sections):
    total = 0
    for section in sections:
        head = text(section["value"]) + b"\x1f"
        before = b""
        for item in section["items"]:
            own = text(item["id"])
            total += fnv(head + before + b"\x1e" + own)
            before = own
    return f"{total & 0xFFFFFFFF:08x}"


def text(value):
    return json.dumps(value, ensure_ascii=False).encode()


def fnv(data):
    hash = 0x811C9DC5
    for byte in data:
        hash = (hash ^ byte) * 0x01000193 & 0xFFFFFFFF
    return hash
