"""Runs Datasette, a peer: it serves the same file read-only, and fetches are its JSON of a filtered table."""

from harness import WORK, Missing, Server, free_port, fresh_copy, query

PROGRAM = WORK / "venv/bin/datasette"


def fetch(minimum):
    """Returns the path of a fetch. `minimum` may be {n}, which wrk replaces and urlencode must not encode."""
    path = "/datasette/City.json"
    return query(
        path, population__gte=minimum, _sort_desc="population", _size=50, _shape="array", _nocount=1
    ).replace("%7Bn%7D", "{n}")


def start(base):
    if not PROGRAM.exists():
        raise Missing("Datasette is not installed")
    file = fresh_copy(base, "datasette.db")
    command = [PROGRAM, "serve", file, "--host", "127.0.0.1", "--port", free_port()]
    # Datasette prints its address to standard error; Server reads standard output.
    return Server(["sh", "-c", 'exec "$0" "$@" 2>&1', *command], r"on http://127\.0\.0\.1:(\d+)")
