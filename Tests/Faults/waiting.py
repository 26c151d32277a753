"""Many waiting clients in one thread: raw connections, each with one long-poll or stream.

`WaitingClients` opens them, reads their responses, repeats their requests, and can close them by FIN or RST."""

import selectors
import socket
import struct
import time

RESET = struct.pack("ii", 1, 0)  # linger 0 seconds: close sends RST


class WaitingClients:
    """Connections that wait on one path with `since`. `answered` counts complete responses, `ended` closed
    connections; `faults` has a message for each failure."""

    def __init__(self, port, path, host="127.0.0.1", headers={}):
        self.address, self.path = (host, port), path
        self.head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self.selector = selectors.DefaultSelector()
        self.buffers, self.answered, self.ended, self.faults = {}, 0, 0, []
        self.repeats, self.wait = True, 60  # True to repeat a request after its response; its `wait` in seconds

    def open(self, count, token):
        for number in range(count):
            connection = socket.create_connection(self.address, timeout=10)
            connection.setblocking(False)
            self.buffers[connection] = b""
            self.request(connection, token)
            self.selector.register(connection, selectors.EVENT_READ)
            if number % 50 == 49:
                self.serve(0)

    def request(self, connection, token):
        where = f"{self.path}&since={token}&wait={self.wait}"
        connection.send(f"GET {where} HTTP/1.1\r\nHost: localhost\r\n{self.head}\r\n".encode())

    def serve(self, seconds):
        """Reads responses for some seconds; with 0 reads once."""
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
            self.close(connection)
            self.ended += 1
            return
        self.buffers[connection] += piece
        self.take_response(connection)

    def take_response(self, connection):
        """Takes a complete response from the buffer, if there is one. A status other than 200 is a fault."""
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
        elif self.repeats:
            self.request(connection, fields[b"livefetch-token"].decode())

    def close(self, connection, reset=False):
        self.selector.unregister(connection)
        del self.buffers[connection]
        if reset:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        connection.close()

    def close_all(self, reset):
        for connection in list(self.buffers):
            self.close(connection, reset)


def until(condition, within):
    """Waits for a condition for at most `within` seconds. Returns how long it took, or None."""
    began = time.monotonic()
    while not condition():
        if time.monotonic() - began > within:
            return None
        time.sleep(0.02)
    return time.monotonic() - began
