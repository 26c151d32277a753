"""Many waiting clients in one thread: raw connections, each with one long-poll or stream.

`WaitingClients` opens them, reads their answers, repeats their requests, and can close them by FIN or RST."""

import selectors
import socket
import struct
import time

RESET = struct.pack("ii", 1, 0)  # linger 0 seconds: close sends RST


class WaitingClients:
    """Connections that wait on one path with `since`; `answered` counts whole answers."""

    def __init__(self, port, path, host="127.0.0.1", headers={}):
        self.address, self.path = (host, port), path
        self.head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self.selector = selectors.DefaultSelector()
        self.buffers, self.answered, self.ended, self.faults = {}, 0, 0, []
        self.again, self.wait = True, 60  # ask again after an answer; seconds of a wait

    def open(self, count, token):
        for number in range(count):
            connection = socket.create_connection(self.address, timeout=10)
            connection.setblocking(False)
            self.buffers[connection] = b""
            self.ask(connection, token)
            self.selector.register(connection, selectors.EVENT_READ)
            if number % 50 == 49:
                self.serve(0)

    def ask(self, connection, token):
        where = f"{self.path}&since={token}&wait={self.wait}"
        connection.send(f"GET {where} HTTP/1.1\r\nHost: localhost\r\n{self.head}\r\n".encode())

    def serve(self, seconds):
        """Read what comes for so long, or once."""
        until = time.monotonic() + seconds
        while True:
            for key, _ in self.selector.select(max(0, min(0.2, until - time.monotonic()))):
                self.read(key.fileobj)
            if time.monotonic() >= until:
                return

    def read(self, connection):
        try:
            piece = connection.recv(65536)
        except BlockingIOError:
            return
        except OSError as error:
            self.faults.append(f"a waiting client: {error}")
            piece = b""
        if not piece:
            self.drop(connection)
            self.ended += 1
            return
        self.buffers[connection] += piece
        self.take(connection)

    def take(self, connection):
        """A whole answer, where there is one: its status has to be 200 (or 503, at the end)."""
        head, found, rest = self.buffers[connection].partition(b"\r\n\r\n")
        if not found:
            return
        fields = {name.lower(): value for name, _, value in
                  (line.partition(b": ") for line in head.split(b"\r\n")[1:])}
        length = int(fields[b"content-length"])
        if len(rest) < length:
            return
        self.buffers[connection] = rest[length:]
        self.answered += 1
        status = head.split(b" ", 2)[1]
        if status != b"200":
            self.faults.append(f"a waiting client got {status.decode()}: {rest[:120]!r}")
        elif self.again:
            self.ask(connection, fields[b"livefetch-token"].decode())

    def drop(self, connection, reset=False):
        self.selector.unregister(connection)
        del self.buffers[connection]
        if reset:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        connection.close()

    def vanish(self, reset):
        for connection in list(self.buffers):
            self.drop(connection, reset)


def until(condition, within):
    """Seconds until the condition held, or None."""
    began = time.monotonic()
    while not condition():
        if time.monotonic() - began > within:
            return None
        time.sleep(0.02)
    return time.monotonic() - began
