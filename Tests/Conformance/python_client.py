"""The Python client as conformance.py runs it: its address and fetch are arguments."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "Public"))

import livefetch  # noqa: E402

request = json.loads(sys.argv[2])
if "as" in request:
    request["as_"] = request.pop("as")
for result in livefetch.Client(sys.argv[1]).live(**request):
    print(json.dumps(result), flush=True)
