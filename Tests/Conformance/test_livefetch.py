"""The pure functions of livefetch.py on literal values, its requests to a socket that answers badly, and
what conformance.py says of a client that prints nothing."""

import asyncio
import contextlib
import copy
import io
import json
import queue
import socket
import sys
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "Public"))

import conformance  # noqa: E402
import livefetch  # noqa: E402

SNAPSHOT = {
    "entity": "City",
    "token": "k3-1042-9f3c",
    "count": 3,
    "sections": [
        {
            "name": "China",
            "value": "China",
            "indexTitle": "C",
            "items": [
                {"id": 1796236, "name": "Shanghai", "population": 24874500},
                {"id": 1816670, "name": "Beijing", "population": 18960744},
            ],
        },
        {
            "name": "Japan",
            "value": "Japan",
            "indexTitle": "J",
            "items": [{"id": 1850147, "name": "Tokyo", "population": 9733276}],
        },
    ],
    "next": "…",
}
DIFF = {
    "entity": "City",
    "from": "k3-1042-9f3c",
    "to": "k3-1043-07aa",
    "count": 3,
    "sections": {
        "deleted": [{"index": 1, "name": "Japan", "value": "Japan"}],
        "inserted": [{"index": 1, "name": "India", "value": "India", "indexTitle": "I"}],
    },
    "items": {
        "deleted": [{"from": [1, 0], "id": 1850147}],
        "inserted": [{"to": [1, 0], "item": {"id": 1275339, "name": "Mumbai", "population": 12691836}}],
        "moved": [{"from": [0, 1], "to": [0, 0], "id": 1816670, "changed": {"population": 25000000}}],
        "updated": [{"from": [0, 0], "to": [0, 1], "id": 1796236, "changed": {"name": "Shànghǎi"}}],
    },
}


class Advancing(unittest.TestCase):
    def test_a_diff_leads_to_the_next_snapshot_and_changes_neither(self):
        snapshot, diff = copy.deepcopy(SNAPSHOT), copy.deepcopy(DIFF)
        self.assertEqual(
            livefetch.advance(snapshot, diff),
            {
                "entity": "City",
                "token": "k3-1043-07aa",
                "count": 3,
                "sections": [
                    {
                        "name": "China",
                        "value": "China",
                        "indexTitle": "C",
                        "items": [
                            {"id": 1816670, "name": "Beijing", "population": 25000000},
                            {"id": 1796236, "name": "Shànghǎi", "population": 24874500},
                        ],
                    },
                    {
                        "name": "India",
                        "value": "India",
                        "indexTitle": "I",
                        "items": [{"id": 1275339, "name": "Mumbai", "population": 12691836}],
                    },
                ],
            },
        )
        self.assertEqual((snapshot, diff), (SNAPSHOT, DIFF))

    def test_a_diff_that_does_not_fit_is_refused(self):
        for change in (
            {"from": "k3-1041-0000"},
            {"items": {**DIFF["items"], "deleted": [{"from": [1, 1], "id": 1850147}]}},
            {"items": {**DIFF["items"], "deleted": [{"from": [1, 0], "id": 7}]}},
            {"items": {**DIFF["items"], "deleted": []}},
            {"items": {**DIFF["items"], "inserted": [{"to": [1, 2], "item": {"id": 1}}]}},
            {"sections": {**DIFF["sections"], "inserted": [{"index": 2, "name": "India", "value": "India"}]}},
        ):
            with self.assertRaises(livefetch.OutOfStep):
                livefetch.advance(SNAPSHOT, {**DIFF, **change})

    def test_counts_and_dictionaries_advance(self):
        count = {"entity": "City", "token": "a", "total": 4}
        self.assertEqual(
            livefetch.advance(count, {"entity": "City", "from": "a", "to": "b", "total": 5}),
            {"entity": "City", "token": "b", "total": 5},
        )
        rows = {"token": "a", "count": 1, "sections": [{"items": [{"n": 1}]}]}
        quiet = {"from": "a", "to": "b", "reset": False}
        self.assertEqual(livefetch.advance(rows, quiet), {**rows, "token": "b"})
        reset = {"from": "a", "to": "b", "reset": True, "count": 0, "sections": []}
        self.assertEqual(livefetch.advance(rows, reset), {"token": "b", "count": 0, "sections": []})

    def test_the_digest_is_that_of_the_server(self):
        self.assertEqual(livefetch.digest({"sections": [{"value": None, "items": []}]}), "00000000")
        one = {"sections": [{"value": None, "items": [1, 2]}]}
        self.assertEqual(livefetch.digest(one), "4c4f419c")


class Answering(threading.Thread):
    """A server that gives literal answers, one connection each."""

    def __init__(self, *answers):
        super().__init__(daemon=True)
        self.answers, self.requests = answers, []
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        self.start()

    def run(self):
        for answer in self.answers:
            client, _ = self.socket.accept()
            with client:
                data = b""
                while b"\r\n\r\n" not in data or not data.endswith(b"}"):
                    received = client.recv(1 << 16)
                    if not received:
                        break
                    data += received
                self.requests.append(data.decode())
                client.sendall(answer)


class Holding:
    """A server that answers fetches at once, and those with `since` never: it counts them in `holds`."""

    def __init__(self):
        self.holds = threading.Semaphore(0)
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            client, _ = self.socket.accept()
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        with client:
            data = client.recv(1 << 16)
            while data:
                while not data.endswith(b"}"):
                    received = client.recv(1 << 16)
                    if not received:
                        return
                    data += received
                if b'"since"' in data:
                    self.holds.release()
                else:
                    body = b'{"token":"a","total":1}'
                    client.sendall(b"HTTP/1.1 200 X\r\nContent-Length: 23\r\n\r\n" + body)
                data = client.recv(1 << 16)


def answer(status, body, *headers):
    data = json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(data)}", "Connection: close", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + data


class Requesting(unittest.TestCase):
    def test_a_save_without_an_answer_is_repeated_under_its_key(self):
        server = Answering(b"", b"", answer(503, {"code": "busy"}), answer(200, {"inserted": 1}))
        saved = livefetch.Client(server.url).save([{"insert": "City", "values": {}}])
        self.assertEqual(saved, {"inserted": 1})
        keys = {line for text in server.requests for line in text.split("\r\n") if "Idempotency" in line}
        self.assertEqual((len(server.requests), len(keys)), (4, 1))

    def test_a_save_waits_for_a_damaged_file_and_not_after_another_internal_error(self):
        damaged = answer(500, {"status": 500, "code": "file-damaged"})
        server = Answering(damaged, answer(200, {"inserted": 1}))
        self.assertEqual(livefetch.Client(server.url).save([]), {"inserted": 1})
        server = Answering(answer(500, {"status": 500, "code": "internal-error"}), answer(200, {}))
        with self.assertRaises(livefetch.LiveFetchError):
            livefetch.Client(server.url).save([])
        self.assertEqual(len(server.requests), 1)

    def test_close_ends_a_save_that_waits_for_its_next_attempt(self):
        busy = answer(503, {"status": 503, "code": "busy"}, "Retry-After: 3600")
        client = livefetch.Client(Answering(busy).url)
        threading.Timer(0.2, client.close).start()
        with self.assertRaises(livefetch.LiveFetchError) as caught:
            client.save([{"insert": "City", "values": {}}])
        self.assertEqual(caught.exception.code, "busy")

    def test_an_address_without_a_scheme_is_refused(self):
        for address in ("127.0.0.1:8080", "localhost", "ftp://example", "http:example"):
            with self.assertRaises(ValueError):
                livefetch.Client(address)

    def test_a_refusal_has_status_code_and_detail(self):
        problem = {"status": 400, "code": "unknown-entity", "detail": "There is no Cty."}
        server = Answering(answer(400, problem))
        with self.assertRaises(livefetch.LiveFetchError) as caught:
            next(livefetch.Client(server.url).live("Cty"))
        error = caught.exception
        self.assertEqual((error.status, error.code, str(error)), (400, "unknown-entity", "There is no Cty."))

    def test_a_fetch_that_takes_longer_than_the_server_allows_is_not_repeated(self):
        problem = {"status": 504, "code": "query-timeout", "detail": "The query ran past the limit."}
        server = Answering(answer(503, {"status": 503, "code": "busy"}), answer(504, problem))
        with self.assertRaises(livefetch.LiveFetchError) as caught:
            next(livefetch.Client(server.url).live("City"))
        self.assertEqual((caught.exception.code, len(server.requests)), ("query-timeout", 2))

    def test_a_function_gives_the_credential_of_each_request(self):
        server = Answering(answer(200, {"token": "a"}), answer(200, {"token": "b"}))
        tokens = iter(["old", "new"])
        client = livefetch.Client(server.url, token=lambda: next(tokens))
        client.fetch("City")
        client.fetch("City")
        self.assertIn("Authorization: Bearer old\r\n", server.requests[0])
        self.assertIn("Authorization: Bearer new\r\n", server.requests[1])

    def test_a_live_result_whose_credential_ends_while_it_waits_goes_on_with_a_new_one(self):
        refusal = answer(401, {"status": 401, "code": "unauthorized"})
        diff = {"entity": "City", "from": "a", "to": "b", "total": 2}
        server = Answering(answer(200, {"token": "a", "total": 1}), refusal, answer(200, diff), refusal)
        tokens = iter(["old", "old", "new", "new", "new"])
        results = livefetch.Client(server.url, token=lambda: next(tokens)).live("City", as_="count")
        self.assertEqual([next(results)["total"], next(results)["total"]], [1, 2])
        # Without another credential the refusal counts.
        with self.assertRaises(livefetch.LiveFetchError) as caught:
            next(results)
        self.assertEqual(caught.exception.status, 401)
        used = ["old" if "Bearer old" in request else "new" for request in server.requests]
        self.assertEqual(used, ["old", "old", "new", "new"])
        self.assertIn('"since": "a"', server.requests[2])

    def test_a_server_that_names_no_pause_is_asked_again_after_pauses_that_grow(self):
        busy = answer(503, {"status": 503, "code": "busy"}, "Retry-After: 0")
        server = Answering(busy, busy, answer(200, {"token": "a", "total": 1}))
        began = time.monotonic()
        self.assertEqual(next(livefetch.Client(server.url).live("City", as_="count"))["total"], 1)
        self.assertGreaterEqual(time.monotonic() - began, 0.3)

    def test_a_snapshot_whose_digest_cannot_be_computed_is_given(self):
        # The server hashes JSON as it is stored, with its blanks.
        items = {"value": {"a": 1}, "items": [1]}
        first = {"token": "a", "digest": "00000000", "sections": [items]}
        quiet = {"deleted": [], "inserted": [], "moved": [], "updated": []}
        diff = {"from": "a", "to": "b", "digest": "11111111", "sections": {"deleted": [], "inserted": []},
                "items": {**quiet, "inserted": [{"to": [0, 1], "id": 2}]}}
        server = Answering(answer(200, first), answer(200, diff))
        results = livefetch.Client(server.url).live("City", as_="ids", section="notes", digest=True)
        self.assertEqual([livefetch.items(next(results)), livefetch.items(next(results))], [[1], [1, 2]])

    def test_a_diff_whose_digest_differs_is_replaced_by_a_snapshot(self):
        def snapshot(token, *ids):
            result = {"token": token, "sections": [{"value": None, "items": list(ids)}]}
            return {**result, "digest": livefetch.digest(result)}

        diff = {"from": "a", "to": "b", "digest": "11111111", "sections": {"deleted": [], "inserted": []},
                "items": {"deleted": [], "inserted": [{"to": [0, 1], "id": 2}], "moved": [], "updated": []}}
        server = Answering(answer(200, snapshot("a", 1)), answer(200, diff), answer(200, snapshot("b", 1, 3)))
        results = livefetch.Client(server.url).live("City", as_="ids", digest=True)
        self.assertEqual([livefetch.items(next(results)), livefetch.items(next(results))], [[1], [1, 3]])

    def test_to_connect_takes_no_longer_than_the_time_limit_of_a_call(self):
        # The queue of connections that are not accepted is full.
        full = socket.create_server(("127.0.0.1", 0), backlog=0)
        waiting = [socket.socket() for _ in range(4)]
        for other in waiting:
            other.setblocking(False)
            other.connect_ex(full.getsockname())
        client = livefetch.Client(f"http://127.0.0.1:{full.getsockname()[1]}", timeout=0.5)
        thread = threading.Thread(target=lambda: list(client.live("City")), daemon=True)
        thread.start()
        time.sleep(0.1)
        client.close()
        thread.join(60)
        self.assertFalse(thread.is_alive())
        for other in [full, *waiting]:
            other.close()

    def test_a_call_that_gets_no_answer_in_its_time_limit_is_not_sent_again(self):
        server = Holding()
        client = livefetch.Client(server.url, timeout=0.5)
        client.fetch("City", as_="count")
        with self.assertRaises(livefetch.LiveFetchError) as caught:
            client.fetch("City", since="a")
        self.assertEqual(caught.exception.code, "unreachable")
        self.assertTrue(server.holds.acquire(timeout=60))
        self.assertFalse(server.holds.acquire(timeout=0.2))

    def test_a_connection_that_the_server_has_closed_meanwhile_is_replaced(self):
        body = b'HTTP/1.1 200 X\r\nContent-Length: 13\r\n\r\n{"token":"a"}'
        server = Answering(body, body, body)
        client = livefetch.Client(server.url)
        for _ in range(3):
            self.assertEqual(client.fetch("City"), {"token": "a"})
        self.assertEqual((len(server.requests), len(client._idle)), (3, 1))

    def test_lists_are_sent_as_they_are_for_the_server_to_split(self):
        server = Answering(answer(200, {"token": "a"}))
        livefetch.Client(server.url).fetch(
            "City", as_="dictionaries", select="x:max({a,b}),n:@count", group=["a", "b"])
        body = json.loads(server.requests[0].split("\r\n\r\n")[1])
        self.assertEqual(
            body,
            {"entity": "City", "as": "dictionaries", "select": "x:max({a,b}),n:@count", "group": ["a", "b"]})

    def test_a_number_of_many_digits_is_saved_as_it_was_fetched(self):
        raw = b'{"token":"a","x":[0.12345678901234567890,1e2,{"y":-1.50}]}'
        head = b"HTTP/1.1 200 X\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
        server = Answering(head % len(raw) + raw, answer(200, {"token": "b"}))
        client = livefetch.Client(server.url)
        x = client.fetch("T")["x"]
        self.assertEqual(x, [0.12345678901234567890, 100.0, {"y": -1.5}])
        client.save([{"update": "T", "id": 1, "values": {"x": x, "n": 0.5, 'a"b': (x[0], None)}}])
        self.assertTrue(server.requests[1].endswith(
            '{"x": [0.12345678901234567890, 1e2, {"y": -1.50}], "n": 0.5, '
            '"a\\"b": [0.12345678901234567890, null]}}]}'), server.requests[1])

    def test_a_live_result_is_given_though_only_digits_change_that_a_float_does_not_have(self):
        def raw(body):
            head = "HTTP/1.1 200 X\r\nConnection: close\r\nContent-Length: "
            return f"{head}{len(body)}\r\n\r\n{body}".encode()

        def fetched(token, x):
            return raw('{"token":"%s","sections":[{"value":null,"items":[{"id":1,"x":%s}]}]}' % (token, x))

        def reset(start, end, x):
            return raw('{"from":"%s","to":"%s","reset":true,"sections":[{"value":null,"items":[{"id":1,"x":%s}]}]}'
                       % (start, end, x))

        near = "0.12345678901234567890"
        server = Answering(fetched("a", near), reset("a", "b", near), reset("b", "c", "0.12345678901234567891"),
                           reset("c", "d", "1"))
        results = livefetch.Client(server.url).live("T")
        self.assertEqual([next(results)["token"], next(results)["token"]], ["a", "c"])

    def test_numbers_are_equal_to_floats_and_have_their_hash(self):
        x = json.loads("0.12345678901234567890", parse_float=livefetch._Float)
        y = json.loads("0.12345678901234567891", parse_float=livefetch._Float)
        self.assertTrue(x == 0.12345678901234568 and x == copy.deepcopy(x) and x != y and not x == y)
        self.assertEqual(({x: 1}[0.12345678901234568], len({x, y}), x < 0.5), (1, 2, True))

    def test_asynchronous_live_results_end_when_they_are_closed(self):
        first = {"entity": "City", "token": "a", "total": 1}
        server = Answering(answer(200, first))

        async def follow():
            results = livefetch.AsyncClient(server.url).live("City", as_="count")
            async for result in results:
                await results.aclose()
                return result

        self.assertEqual(asyncio.run(follow()), first)

    def test_an_answer_that_is_no_json_is_asked_for_again(self):
        page = b"HTTP/1.1 200 X\r\nContent-Length: 6\r\nConnection: close\r\n\r\n<html>"
        server = Answering(page, answer(200, {"token": "a", "total": 1}))
        results = livefetch.Client(server.url).live("City", as_="count")
        self.assertEqual(next(results), {"token": "a", "total": 1})
        self.assertEqual(len(server.requests), 2)

    def test_json_that_is_no_result_is_asked_for_again(self):
        login = answer(200, {"login": True})
        first, diff = {"token": "a", "total": 1}, {"from": "a", "to": "b", "total": 2}
        server = Answering(login, answer(200, first), login, answer(200, diff))
        results = livefetch.Client(server.url).live("City", as_="count")
        self.assertEqual([next(results), next(results)], [first, {"token": "b", "total": 2}])

    def test_closing_a_client_ends_the_live_results_that_wait_on_other_threads(self):
        server = Holding()
        client, seen = livefetch.Client(server.url), []
        thread = threading.Thread(target=lambda: seen.extend(client.live("City", as_="count")))
        thread.start()
        self.assertTrue(server.holds.acquire(timeout=60))
        client.close()
        thread.join(60)
        self.assertEqual((thread.is_alive(), seen), (False, [{"token": "a", "total": 1}]))

    def test_closing_a_client_closes_its_connections_and_refuses_further_calls(self):
        server = Holding()
        with livefetch.Client(server.url) as client:
            client.fetch("City", as_="count")
            connection = client._idle[0]
            self.assertIsNotNone(connection.sock)
        self.assertIsNone(connection.sock)
        self.assertEqual(list(client.live("City")), [])
        with self.assertRaises(RuntimeError):
            client.fetch("City")

    def test_closing_an_asynchronous_client_ends_its_live_results(self):
        server = Holding()

        async def follow():
            async with livefetch.AsyncClient(server.url) as client:
                await client.fetch("City", as_="count")
                connection, seen = client._client._idle[0], []

                async def watch():
                    async for result in client.live("City", as_="count"):
                        seen.append(result)

                task = asyncio.ensure_future(watch())
                self.assertTrue(await asyncio.to_thread(server.holds.acquire, timeout=60))
            await task
            return seen, connection.sock

        answer = asyncio.run(asyncio.wait_for(follow(), 60))
        self.assertEqual(answer, ([{"token": "a", "total": 1}], None))

    def test_a_call_does_not_wait_for_another_one(self):
        server = Holding()
        client = livefetch.Client(server.url, timeout=20)
        held = threading.Thread(target=client.fetch, args=("City",), kwargs={"since": "a"}, daemon=True)
        held.start()
        self.assertTrue(server.holds.acquire(timeout=60))
        self.assertEqual(client.fetch("City", as_="count"), {"token": "a", "total": 1})
        # The first call still waits for its first answer: it has not given up and asked again.
        self.assertFalse(server.holds.acquire(blocking=False))

    def test_many_asynchronous_live_results_leave_room_for_other_calls(self):
        server = Holding()

        async def follow():
            client = livefetch.AsyncClient(server.url)
            followers = [client.live("City", as_="count") for _ in range(40)]
            for results in followers:
                await results.__anext__()
            waits = [asyncio.ensure_future(results.__anext__()) for results in followers]
            for _ in waits:
                self.assertTrue(await asyncio.to_thread(server.holds.acquire, timeout=60))
            answer = await client.fetch("City", as_="count")
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*waits, return_exceptions=True)
            return answer

        answer = asyncio.run(asyncio.wait_for(follow(), 120))
        self.assertEqual(answer, {"token": "a", "total": 1})


class Silent:
    """A run whose clients, when they start again, print nothing."""

    clients = ()

    def start_clients(self):
        self.clients = ("all",)

    def end_clients(self):
        self.clients = ()

    def check(self):
        raise conformance.Failed("all: did not print the last state")

    def schema(self):
        """a schema that changes"""


class Recorded:
    """A client whose result the second save changes, and the saves."""

    saves = 0

    def some(self):
        self.saves += 1

    def record(self):
        return self.saves == 2


class ConformanceTests(unittest.TestCase):
    def test_a_check_begins_after_a_save_that_changes_a_result(self):
        run = object.__new__(conformance.Run)
        run.saves = recorded = Recorded()
        run.clients = [recorded, recorded]
        run.step()
        self.assertEqual(recorded.saves, 2)

    def test_a_line_without_a_token_is_no_snapshot(self):
        client = object.__new__(conformance.Client)
        client.name, client.fetch, client.lines = "count", {"entity": "Player"}, queue.Queue()
        client.states, client.printed, client.place = [{"total": 2}], None, 0
        client.lines.put('{"token": "a", "total": 2}')
        client.check()
        client.states.append({"total": 3})
        client.lines.put('{"total": 3}')
        with self.assertRaisesRegex(conformance.Failed, "count: printed what is no snapshot"):
            client.check()

    def test_a_check_with_clients_that_started_again_fails_without_their_snapshot(self):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            self.assertFalse(conformance.passes(Silent(), "schema"))
        self.assertEqual(
            printed.getvalue(), "FAIL  a schema that changes: all: did not print the last state\n")


if __name__ == "__main__":
    unittest.main()
