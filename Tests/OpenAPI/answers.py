"""Whether an answer is one that /openapi.json describes."""

import json

try:
    from jsonschema import Draft202012Validator
except ImportError:
    Draft202012Validator = None  # `short.py` goes on without: bodies are not compared then.


def resolved(node, document):
    while isinstance(node, dict) and "$ref" in node:
        target = document
        for part in node["$ref"].split("/")[1:]:
            target = target[part]
        node = target
    return node


def complaints(document, method, template, status, kind, body):
    """What is wrong with an answer; a method that the path does not have is only refused."""
    operation = document["paths"][template].get(method.lower())
    if operation is None:
        return [] if status == 405 else [f"status {status}"]
    response = resolved(operation["responses"].get(str(status)), document)
    if response is None:
        return [f"status {status} is not in the document"]
    kind = (kind or "").split(";")[0]
    if body and "*/*" in response.get("content", {}):
        return []
    if kind not in response.get("content", {}):
        return [f"{status} {kind} is not in the document"] if body else []
    if not Draft202012Validator or kind != "application/json" and not kind.endswith("+json"):
        return []
    schema = {**response["content"][kind]["schema"], "components": document["components"]}
    return [
        f"{status} at {'/'.join(map(str, error.absolute_path))}: {error.message[:200]}"
        for error in Draft202012Validator(schema).iter_errors(json.loads(body))
    ]
