"""LiveFetch for Python 3.9 and later: fetches that stay current. One file, the standard library alone.

    import livefetch

    client = livefetch.Client("http://127.0.0.1:8080")
    for result in client.live("City", sort="-population", limit=10):
        print(result["token"], [item["name"] for item in livefetch.items(result)])

A result is a snapshot as the server sends it: a dictionary with `entity`, `token`, `sections` and more.
`client.live` yields the first snapshot and then the whole result after every change; `AsyncClient` has
the same methods for `async for` and `await`. Errors are `LiveFetchError` with the server's `code`.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import socket
import threading
import time
import urllib.parse
import uuid
from operator import itemgetter
from typing import Any, AsyncIterator, Callable, Dict, Iterator, List, Optional, Union

Result = Dict[str, Any]
Token = Union[str, Callable[[], str], None]
SUMMARY = ("count", "next", "total", "truncated", "digest")
WAIT = 25  # seconds that the server holds a request
SHORTEST_PAUSE, LONGEST_PAUSE = 0.1, 5.0  # seconds


class LiveFetchError(Exception):
    """A refusal of the server, or no answer: `status` is 0 then, and `code` is `unreachable`."""

    def __init__(self, problem: Dict[str, Any], retry_after: Optional[float] = None):
        super().__init__(problem.get("detail") or problem.get("title") or "No answer.")
        self.problem, self.retry_after = problem, retry_after
        self.status: int = problem.get("status", 0)
        self.code: str = problem.get("code", "unreachable")

    @property
    def is_transient(self) -> bool:
        """True if the same request may succeed later."""
        return self.status in (0, 429, 502, 503, 504)


class OutOfStep(Exception):
    """A diff that does not fit the result it was applied to."""


# -- Results


def items(result: Result) -> List[Any]:
    """The items of all sections, in order."""
    return [item for section in result.get("sections", ()) for item in section["items"]]


def identity(item: Any) -> Any:
    """The id of an item; with `as=ids` the item itself."""
    return item["id"] if isinstance(item, dict) else item


def advance(result: Result, diff: Dict[str, Any]) -> Result:
    """The result at the diff's `to`. Raises `OutOfStep` if the diff does not fit. Changes neither."""
    if diff["from"] != result["token"]:
        raise OutOfStep(f"a diff from {diff['from']} does not fit {result['token']}")
    new = {**result, "token": diff["to"]}
    if "items" in diff or "total" in diff or diff.get("reset"):
        new = {name: value for name, value in new.items() if name not in SUMMARY}
        new.update((name, diff[name]) for name in SUMMARY if name in diff)
    if diff.get("reset"):
        new["sections"] = diff["sections"]
    elif "items" in diff:
        new["sections"] = _apply(result["sections"], diff["sections"], diff["items"])
    if "included" in result:
        new["included"] = dict(result["included"])
        for entity, objects in diff.get("included", {}).items():
            new["included"][entity] = {**new["included"].get(entity, {}), **objects}
    return new


def _apply(old: List[Any], changed: Dict[str, Any], entries: Dict[str, Any]) -> List[Any]:
    sections = [{**section, "items": list(section["items"])} for section in old]
    try:
        moved = {}
        for entry in sorted(entries["deleted"] + entries["moved"], key=itemgetter("from"), reverse=True):
            section, index = entry["from"]
            moved[str(entry["id"])] = item = sections[section]["items"].pop(index)
            _expect(item, entry)
        for section in sorted(changed["deleted"], key=itemgetter("index"), reverse=True):
            if sections.pop(section["index"])["items"]:
                raise OutOfStep(f"section {section['index']} is deleted and not empty")
        for section in sorted(changed["inserted"], key=itemgetter("index")):
            info = {name: section[name] for name in section if name != "index"}
            sections.insert(section["index"], {**info, "items": []})
        for entry in sorted(entries["inserted"] + entries["moved"], key=itemgetter("to")):
            section, index = entry["to"]
            if index > len(sections[section]["items"]):
                raise OutOfStep(f"there is no place {entry['to']}")
            item = entry.get("item", entry.get("id"))
            if "from" in entry:
                item = _merge(moved[str(entry["id"])], entry)
            sections[section]["items"].insert(index, item)
        for entry in entries["updated"]:
            section, index = entry["to"]
            item = sections[section]["items"][index]
            _expect(item, entry)
            sections[section]["items"][index] = _merge(item, entry)
    except IndexError as error:
        raise OutOfStep("a place of the diff does not exist") from error
    return sections


def _merge(item: Any, entry: Dict[str, Any]) -> Any:
    return {**item, **entry.get("changed", {})} if isinstance(item, dict) else item


def _expect(item: Any, entry: Dict[str, Any]) -> None:
    if identity(item) != entry["id"]:
        raise OutOfStep(f"{identity(item)} is where {entry['id']} is expected")


class _Float(float):
    """A number that keeps the text in which the server sent it."""

    text = ""

    def __new__(cls, text: str) -> "_Float":
        number = super().__new__(cls, text)
        number.text = text
        return number


def _text(value: Any) -> str:
    if isinstance(value, _Float):
        return value.text
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def digest(result: Result) -> str:
    """The digest of the items, as the server computes it with `digest=true`. O(items)."""
    total = 0
    for section in result["sections"]:
        previous = ""
        for item in section["items"]:
            own = _text(identity(item))
            total += _fnv1a(f"{_text(section['value'])}\x1f{previous}\x1e{own}")
            previous = own
    return f"{total & 0xFFFFFFFF:08x}"


def _fnv1a(text: str) -> int:
    hash = 0x811C9DC5
    for byte in text.encode():
        hash = (hash ^ byte) * 0x01000193 & 0xFFFFFFFF
    return hash


# -- Requests


class Client:
    """A server's address and a credential: a text, or a function that returns one. Any thread may
    use it; calls that do not wait share one connection."""

    def __init__(self, url: str, token: Token = None, timeout: float = 10.0):
        self._address = urllib.parse.urlsplit(url)
        self._token, self._timeout = token, timeout
        self._shared, self._lock = self._connect(), threading.Lock()

    def fetch(self, entity: str, **parameters: Any) -> Result:
        """A snapshot. Parameters as in `POST /v1/fetch`; `as_` stands for `as`."""
        return self._call("POST", "/v1/fetch", _request(entity, parameters))

    def live(self, entity: str, **parameters: Any) -> Iterator[Result]:
        """The result now and after every change, without end. Goes on after lost connections and
        restarts of the server; raises `LiveFetchError` if the request itself is wrong."""
        follower = _Follower(self, _request(entity, parameters))
        try:
            while True:
                yield follower.next()
        finally:
            follower.close()

    def save(self, changes: List[Dict[str, Any]], key: Optional[str] = None, **more: Any) -> Any:
        """Saves all changes or none. Repeats the request while there is no answer, under one
        idempotency key, so that it is made once."""
        headers = {"Idempotency-Key": key or str(uuid.uuid4())}
        for attempt in range(5):
            try:
                return self._call("POST", "/v1/save", {"changes": changes, **more}, headers)
            except LiveFetchError as error:
                if not error.is_transient or attempt == 4:
                    raise
                time.sleep(error.retry_after or SHORTEST_PAUSE * 2**attempt)

    def object(self, entity: str, id: Any) -> Dict[str, Any]:
        """One object."""
        parts = (urllib.parse.quote(str(part), safe="") for part in (entity, id))
        return self._call("GET", "/v1/objects/" + "/".join(parts))

    def _call(self, method: str, path: str, body: Any = None, headers: Any = {}) -> Any:
        with self._lock:
            try:
                return self._send(self._shared, method, path, body, headers)
            except LiveFetchError as error:
                if error.status:
                    raise
            # The server closes connections that are idle. What is sent here may be sent twice.
            return self._send(self._shared, method, path, body, headers)

    def _connect(self, wait: float = 0) -> http.client.HTTPConnection:
        secure = self._address.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        return kind(self._address.netloc, timeout=self._timeout + wait)

    def _send(
        self, connection: http.client.HTTPConnection, method: str, path: str, body: Any, more: Any
    ) -> Any:
        headers = {"Content-Type": "application/json", **more}
        token = self._token() if callable(self._token) else self._token
        if token:
            headers["Authorization"] = f"Bearer {token}"
        data = None if body is None else json.dumps(body).encode()
        try:
            connection.request(method, self._address.path.rstrip("/") + path, data, headers)
            response = connection.getresponse()
            text = response.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise LiveFetchError({"detail": str(error)}) from error
        value = _json(text)
        if response.status >= 400:
            problem = value if isinstance(value, dict) else {}
            pause = response.headers.get("Retry-After", "")
            raise LiveFetchError(
                {**problem, "status": response.status}, float(pause) if pause.isdigit() else None
            )
        return value


def _json(text: bytes) -> Any:
    try:
        return json.loads(text, parse_float=_Float)
    except ValueError:
        return None  # an error page of a proxy


def _request(entity: str, parameters: Dict[str, Any]) -> Dict[str, Any]:
    # The server splits lists that are one text.
    named = {name.rstrip("_"): value for name, value in parameters.items() if value is not None}
    return {"entity": entity, **named}


class _Follower:
    """A request that is repeated with the token of what came before."""

    def __init__(self, client: Client, request: Dict[str, Any]):
        self._client, self._request = client, request
        self._connection = client._connect(wait=WAIT)
        self._result: Optional[Result] = None
        self._pause = SHORTEST_PAUSE
        self.is_closed = False

    def next(self) -> Result:
        """The next result that differs from the one before. Waits for it."""
        while not self.is_closed:
            before = self._result
            try:
                self._step()
            except OutOfStep:
                self._result = None
            except LiveFetchError as error:
                if error.status == 410:
                    self._result = None
                elif error.is_transient:
                    self._wait(error.retry_after)
                else:
                    raise
            else:
                self._pause = SHORTEST_PAUSE
                if self._result is not None and not _is_same(before, self._result):
                    return self._result
        raise LiveFetchError({"code": "closed", "detail": "The client was closed."})

    def _step(self) -> None:
        request = dict(self._request)
        if self._result:
            request.update(since=self._result["token"], wait=WAIT)
        answer = self._client._send(self._connection, "POST", "/v1/fetch", request, {})
        if not isinstance(answer, dict):
            raise LiveFetchError({"detail": "The answer is no JSON object."})
        new = advance(self._result, answer) if self._result else answer
        if "digest" in new and "sections" in new and digest(new) != new["digest"]:
            raise OutOfStep("the digest differs")
        self._result = new

    def _wait(self, seconds: Optional[float]) -> None:
        time.sleep(seconds if seconds is not None else self._pause)
        self._pause = min(self._pause * 2, LONGEST_PAUSE)

    def close(self) -> None:
        self.is_closed = True
        if self._connection.sock:
            with contextlib.suppress(OSError):
                self._connection.sock.shutdown(socket.SHUT_RDWR)
        self._connection.close()


def _is_same(old: Optional[Result], new: Result) -> bool:
    return old is not None and {**old, "token": ""} == {**new, "token": ""}


class AsyncClient:
    """The same for asyncio. Each call runs on a thread of the loop's executor."""

    def __init__(self, url: str, token: Token = None, timeout: float = 10.0):
        self._client = Client(url, token, timeout)

    async def fetch(self, entity: str, **parameters: Any) -> Result:
        return await asyncio.to_thread(self._client.fetch, entity, **parameters)

    async def save(self, changes: List[Dict[str, Any]], **more: Any) -> Any:
        return await asyncio.to_thread(self._client.save, changes, **more)

    async def object(self, entity: str, id: Any) -> Dict[str, Any]:
        return await asyncio.to_thread(self._client.object, entity, id)

    async def live(self, entity: str, **parameters: Any) -> AsyncIterator[Result]:
        follower = _Follower(self._client, _request(entity, parameters))
        try:
            while True:
                yield await asyncio.to_thread(follower.next)
        finally:
            follower.close()
