#!/usr/bin/env python3
"""generated.py LIVEFETCH SCHEMATHESIS SECONDS: requests that schemathesis makes out of /openapi.json.

Serves a small store and runs schemathesis against it. No answer may be a 500, have an undocumented
status, content type or header, or a body that its schema does not allow. Ends the server."""

import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "Faults"))
from server import Server, create

STORE = """
CREATE TABLE country(id INTEGER PRIMARY KEY, name TEXT NOT NULL, code TEXT UNIQUE);
CREATE TABLE city(id INTEGER PRIMARY KEY, name TEXT, population INTEGER, founded DATE, share REAL,
  picture BLOB, isCapital BOOLEAN, country_id INTEGER REFERENCES country(id));
INSERT INTO country VALUES (1, 'Peru', 'PE'), (2, 'Norway', 'NO');
INSERT INTO city VALUES (1, 'Lima', 7737002, '1535-01-18', 0.5, x'00ff', 1, 1),
  (2, 'Oslo', 580000, NULL, NULL, NULL, 1, 2), (3, '', -1, NULL, 1e300, x'', 0, NULL);
"""
CHECKS = [
    "not_a_server_error", "status_code_conformance", "content_type_conformance",
    "response_headers_conformance", "response_schema_conformance", "unsupported_method",
]


def main(program, schemathesis, seconds):
    with tempfile.TemporaryDirectory(prefix="livefetch-generated-") as folder:
        file = Path(folder) / "store.sqlite"
        create(file, STORE)
        with Server(program, file) as server:
            run = subprocess.run(
                [schemathesis, "run", f"http://127.0.0.1:{server.port}/openapi.json",
                 "--checks", ",".join(CHECKS), "--max-time", seconds, "--continue-on-failure",
                 "--warnings", "off"], cwd=folder)
            if (status := server.process.poll()) is not None:
                print(f"the server ended with status {status}", file=sys.stderr)
                return 1
    if Server.failures:
        print(*Server.failures, sep="\n", file=sys.stderr)
    return run.returncode or bool(Server.failures)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
