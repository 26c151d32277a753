"""The Python client as conformance.py runs it: its address and fetch are the last arguments. With --async
before them it is the asynchronous one."""

import asyncio
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "Public"))

import livefetch  # noqa: E402

url, request = sys.argv[-2], json.loads(sys.argv[-1])
if "as" in request:
    request["as_"] = request.pop("as")


async def follow():
    async for result in livefetch.AsyncClient(url).live(**request):
        print(json.dumps(result), flush=True)


if "--async" in sys.argv[:-2]:
    asyncio.run(follow())
else:
    for result in livefetch.Client(url).live(**request):
        print(json.dumps(result), flush=True)
