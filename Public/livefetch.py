"""LiveFetch for Python 3.9 and later: fetches that stay current. One file, the standard library alone.

    with livefetch.Client("http://127.0.0.1:8080") as client:
        for result in client.live("City", sort="-population", limit=10):
            print(result["token"], [item["name"] for item in livefetch.items(result)])

A result is a snapshot as the server sends it: a dictionary with `entity`, `token`, `sections` and more.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import http.client
import json
import re
import socket
import threading
import urllib.parse
import uuid
from operator import itemgetter
from typing import Any, AsyncGenerator, Callable, Dict, Generator, List, Optional, Set, Union

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
        return self.status in (0, 429, 502, 503, 504) or self.code == "file-damaged"


class OutOfStep(Exception):
    """A diff that does not fit the result it was applied to."""


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
        try:
            new["sections"] = _apply(result["sections"], diff["sections"], diff["items"])
        except IndexError as error:
            raise OutOfStep("a place of the diff does not exist") from error
    if "included" in result:
        new["included"] = dict(result["included"])
        for entity, objects in diff.get("included", {}).items():
            new["included"][entity] = {**new["included"].get(entity, {}), **objects}
    return new


def _apply(old: List[Any], changed: Dict[str, Any], entries: Dict[str, Any]) -> List[Any]:
    sections = [{**section, "items": list(section["items"])} for section in old]
    taken = {}
    for entry in sorted(entries["deleted"] + entries["moved"], key=itemgetter("from"), reverse=True):
        section, index = entry["from"]
        taken[str(entry["id"])] = _changed(sections[section]["items"].pop(index), entry)
    for gone in sorted(changed["deleted"], key=itemgetter("index"), reverse=True):
        if sections.pop(gone["index"])["items"]:
            raise OutOfStep(f"section {gone['index']} is deleted and not empty")
    for added in sorted(changed["inserted"], key=itemgetter("index")):
        if added["index"] > len(sections):
            raise OutOfStep(f"there is no place for section {added['index']}")
        info = {name: value for name, value in added.items() if name != "index"}
        sections.insert(added["index"], {**info, "items": []})
    for entry in sorted(entries["inserted"] + entries["moved"], key=itemgetter("to")):
        section, index = entry["to"]
        if index > len(sections[section]["items"]):
            raise OutOfStep(f"there is no place {entry['to']}")
        item = taken[str(entry["id"])] if "from" in entry else entry.get("item", entry.get("id"))
        sections[section]["items"].insert(index, item)
    for entry in entries["updated"]:
        section, index = entry["to"]
        sections[section]["items"][index] = _changed(sections[section]["items"][index], entry)
    return sections


def _changed(item: Any, entry: Dict[str, Any]) -> Any:
    if identity(item) != entry["id"]:
        raise OutOfStep(f"{identity(item)} is where {entry['id']} is expected")
    return {**item, **entry.get("changed", {})} if isinstance(item, dict) else item


def digest(result: Result) -> str:
    """The digest of the items, as the server computes it with `digest=true`. O(items)."""
    total = 0
    for section in result["sections"]:
        previous = ""
        for item in section["items"]:
            own = _text(identity(item))
            hash = 0x811C9DC5
            for byte in f"{_text(section['value'])}\x1f{previous}\x1e{own}".encode():
                hash = (hash ^ byte) * 0x01000193 & 0xFFFFFFFF
            total, previous = total + hash, own
    return f"{total & 0xFFFFFFFF:08x}"


def _differs(result: Result) -> bool:
    return "digest" in result and "sections" in result and digest(result) != result["digest"]


class _Float(float):
    """A number with the text in which the server sent it."""

    def __init__(self, text: str):
        self.text = text

    def __eq__(self, other: object) -> bool:
        return self.text == other.text if isinstance(other, _Float) else float.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = float.__hash__


def _json(value: Any) -> str:
    """A value as JSON: numbers that the server sent have the digits that it sent."""
    mark = uuid.uuid4().hex

    def marked(part: Any) -> Any:
        if isinstance(part, _Float):
            return mark + part.text
        if isinstance(part, dict):
            return {name: marked(each) for name, each in part.items()}
        return [marked(each) for each in part] if isinstance(part, (list, tuple)) else part

    return re.sub(f'"{mark}([^"]+)"', r"\1", json.dumps(marked(value)))


def _text(value: Any) -> str:
    if isinstance(value, _Float):
        return value.text
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class Client:
    """A server's address and a credential: a text, or a function that returns one. Any threads may
    use it at the same time. `with` closes it at its end."""

    def __init__(self, url: str, token: Token = None, timeout: float = 10.0):
        self._address, self._token, self._timeout = urllib.parse.urlsplit(url), token, timeout
        if self._address.scheme not in ("http", "https") or not self._address.netloc:
            raise ValueError(f"{url!r} is no http or https address")
        https = self._address.scheme == "https"
        self._kind: Any = http.client.HTTPSConnection if https else http.client.HTTPConnection
        self._closed, self._lock = threading.Event(), threading.Lock()
        self._idle: List[Any] = []  # connections without a request
        self._live: List[Any] = []  # connections on which `live` waits

    def fetch(self, entity: str, **parameters: Any) -> Result:
        """A snapshot. Parameters as in `POST /v1/fetch`; `as_` stands for `as`."""
        return self._call("POST", "/v1/fetch", _request(entity, parameters))

    def live(self, entity: str, **parameters: Any) -> Generator[Result, None, None]:
        """The result now and after every change, until `close`. Goes on after lost connections and
        restarts of the server; raises `LiveFetchError` if the request itself is wrong, or takes
        longer than the server allows."""
        request, pause = _request(entity, parameters), SHORTEST_PAUSE
        result: Optional[Result] = None
        while not self._closed.is_set():
            before, seconds = result, 0.0
            try:
                result = self._next(request, before)
            except OutOfStep:
                result = None
            except LiveFetchError as error:
                if error.status == 410:
                    result = None
                elif not error.is_transient or error.code == "query-timeout":
                    raise
                seconds = error.retry_after or 0
            else:
                pause = SHORTEST_PAUSE
                if before is None or {**before, "token": ""} != {**result, "token": ""}:
                    yield result
                continue
            self._closed.wait(max(pause, seconds))
            pause = min(pause * 2, LONGEST_PAUSE)

    def save(self, changes: List[Dict[str, Any]], key: Optional[str] = None, **more: Any) -> Any:
        """Saves all changes or none. Repeats the request while there is no answer, seven times in about
        11 s, or longer if `Retry-After` says so, under one idempotency key, so that it is made once."""
        headers = {"Idempotency-Key": key or str(uuid.uuid4())}
        for attempt in range(8):
            try:
                return self._call("POST", "/v1/save", {"changes": changes, **more}, headers)
            except LiveFetchError as error:
                pause = error.retry_after or min(SHORTEST_PAUSE * 2**attempt, LONGEST_PAUSE)
                if not error.is_transient or attempt == 7 or self._closed.wait(pause):
                    raise

    def object(self, entity: str, id: Any) -> Dict[str, Any]:
        """One object."""
        parts = (urllib.parse.quote(str(part), safe="") for part in (entity, id))
        return self._call("GET", "/v1/objects/" + "/".join(parts))

    def close(self) -> None:
        """Ends every `live`, also those that wait on other threads, and closes the connections."""
        with self._lock:
            self._closed.set()
            for connection in self._live:
                with contextlib.suppress(OSError, AttributeError):  # a lost connection has no socket
                    connection.sock.shutdown(socket.SHUT_RDWR)
            for connection in self._idle:
                connection.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def _next(self, request: Result, result: Optional[Result]) -> Result:
        """The result after `result`, or the first one."""
        if result is not None:
            request = {**request, "since": result["token"], "wait": WAIT}
        answer = self._call("POST", "/v1/fetch", request, wait=WAIT)
        if not isinstance(answer.get("to", answer.get("token")), str):  # something else has answered
            raise LiveFetchError({"code": "not-an-answer", "detail": "The answer has no token."})
        new = answer if result is None else advance(result, answer)
        # The digest of a snapshot differs if JSON has a value of it in several forms: that proves nothing.
        if result is not None and _differs(new) and not _differs(result):
            raise OutOfStep("the digest differs")
        return new

    def _call(self, method: str, path: str, body: Any = None, headers: Any = {}, wait: float = 0) -> Result:
        """The answer. Only `live` sets `wait`, the seconds that the server may hold the request."""
        if self._closed.is_set() and not wait:
            raise RuntimeError("the client is closed")
        data = None if body is None else _json(body).encode()
        request = (method, self._address.path.rstrip("/") + path, data)
        token = self._token() if callable(self._token) else self._token
        try:
            return self._send(request, headers, token, wait)
        except LiveFetchError as error:
            # The credential may have ended while the server held the request.
            renewed = self._token() if error.status == 401 and callable(self._token) else token
            if renewed == token:
                raise
        return self._send(request, headers, renewed, wait)

    def _send(self, request: Any, more: Any, token: Optional[str], wait: float) -> Result:
        headers = {"Content-Type": "application/json", **more}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        with self._lock:
            connection = self._idle.pop() if self._idle else self._kind(self._address.netloc, timeout=self._timeout)
            if wait:
                self._live.append(connection)
        reused = connection.sock is not None
        try:
            if not reused:
                connection.connect()
            connection.sock.settimeout(self._timeout + wait)
            if wait and self._closed.is_set():  # `close` ends only connections that are open
                raise OSError("the client is closed")
            connection.request(*request, headers)
            response = connection.getresponse()
            return _answer(response, response.read())
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            # The server closes idle connections.
            if reused and not (isinstance(error, socket.timeout) or self._closed.is_set()):
                return self._send(request, more, token, wait)
            raise LiveFetchError({"detail": str(error)}) from error
        finally:
            with self._lock:
                if wait:
                    self._live.remove(connection)
                if self._closed.is_set():
                    connection.close()
                if connection.sock is not None:
                    self._idle.append(connection)


def _request(entity: str, parameters: Dict[str, Any]) -> Dict[str, Any]:
    # The server splits lists that are one text.
    named = {name.rstrip("_"): value for name, value in parameters.items() if value is not None}
    return {"entity": entity, **named}


def _answer(response: http.client.HTTPResponse, text: bytes) -> Result:
    try:
        value = json.loads(text, parse_float=_Float)
    except ValueError:
        value = None  # a page of a proxy
    if response.status < 400 and isinstance(value, dict):
        return value
    problem = value if isinstance(value, dict) else {"code": "not-an-answer"}
    problem["status"] = response.status if response.status >= 400 else 0
    pause = response.headers.get("Retry-After", "")
    raise LiveFetchError(problem, float(pause) if pause.isdigit() else None)


class AsyncClient:
    """The same for asyncio: `await`, `async for` and `async with`. Calls run on threads of the loop's
    executor, and each `live` on a thread of its own."""

    def __init__(self, url: str, token: Token = None, timeout: float = 10.0):
        self._settings = (url, token, timeout)
        self._client = Client(*self._settings)
        self._live: Set[Client] = set()

    async def fetch(self, entity: str, **parameters: Any) -> Result:
        return await asyncio.to_thread(self._client.fetch, entity, **parameters)

    async def save(self, changes: List[Dict[str, Any]], key: Optional[str] = None, **more: Any) -> Any:
        return await asyncio.to_thread(self._client.save, changes, key, **more)

    async def object(self, entity: str, id: Any) -> Dict[str, Any]:
        return await asyncio.to_thread(self._client.object, entity, id)

    async def live(self, entity: str, **parameters: Any) -> AsyncGenerator[Result, None]:
        # Of its own too, since closing it ends the wait on the thread.
        client, thread = Client(*self._settings), concurrent.futures.ThreadPoolExecutor(1)
        results = client.live(entity, **parameters)
        self._live.add(client)
        try:
            while not self._client._closed.is_set():
                result = await asyncio.get_running_loop().run_in_executor(thread, next, results, None)
                if result is None:  # closed
                    return
                yield result
        finally:
            self._live.remove(client)
            client.close()
            thread.submit(results.close)  # when `next` has ended
            thread.shutdown(wait=False)

    async def aclose(self) -> None:
        """Ends every `live`, and closes the connections."""
        for client in [self._client, *self._live]:
            client.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *error: Any) -> None:
        await self.aclose()
