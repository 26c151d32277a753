"""Requests as bytes, whole or broken, and what comes back."""

import json
import socket
import time


class Answer:
    def __init__(self, data, seconds, is_closed):
        self.data, self.seconds, self.is_closed = data, seconds, is_closed
        line = data.split(b"\r\n", 1)[0].split(b" ")
        self.status = int(line[1]) if len(line) > 1 and line[1].isdigit() else None

    @property
    def body(self):
        return self.data.partition(b"\r\n\r\n")[2]

    @property
    def code(self):
        try:
            return json.loads(self.body).get("code")
        except (ValueError, AttributeError):
            return None


def send(port, data, time_limit=5, ends=False, until_closed=False):
    """Sends the bytes on a connection of their own, and reads one answer, or to the end.
    `ends`: nothing more will come from here."""
    began, received, is_closed = time.monotonic(), b"", False
    with socket.create_connection(("127.0.0.1", port), timeout=time_limit) as connection:
        try:
            connection.sendall(data)
            if ends:
                connection.shutdown(socket.SHUT_WR)
            while until_closed or not is_whole(received, data.startswith(b"HEAD ")):
                piece = connection.recv(65536)
                if not piece:
                    is_closed = True
                    break
                received += piece
        except (ConnectionError, BrokenPipeError):
            is_closed = True
        except socket.timeout:
            pass
    return Answer(received, time.monotonic() - began, is_closed)


def is_whole(data, is_head=False):
    head, found, body = data.partition(b"\r\n\r\n")
    if not found or is_head:
        return bool(found)
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return len(body) >= int(value)
    return b"chunked" not in head.lower() or body.endswith(b"0\r\n\r\n")


def request(method, target, body=None, headers=()):
    lines = [f"{method} {target} HTTP/1.1", "Host: localhost", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in headers]
    if body is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    head = "\r\n".join(lines).encode("utf-8", "surrogateescape") + b"\r\n\r\n"
    return head + (body or b"")
