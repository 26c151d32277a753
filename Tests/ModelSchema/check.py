"""Validates the JSON Schema of model files and every sample model, and checks that it refuses
malformed models. Needs the package jsonschema."""

import json
import pathlib
import sys

from jsonschema import Draft202012Validator

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "Public/model-schema.json").read_text())
SAMPLES = sorted((ROOT / "Sources/LiveFetchCommand/Resources/models").glob("*.json"))
FEWEST_MODELS = 4

WRONG = [
    {},
    {"entities": []},
    {"entitys": [{"name": "A"}], "entities": [{"name": "A"}]},
    {"entities": [{}]},
    {"entities": [{"name": "1"}]},
    {"entities": [{"name": "A b"}]},
    {"entities": [{"name": "A", "attributes": [{"name": "x"}]}]},
    {"entities": [{"name": "A", "attributes": [{"name": "x", "type": "Integer 63"}]}]},
    {"entities": [{"name": "A", "attributes": [{"name": "x", "type": "String", "optionl": True}]}]},
    {"entities": [{"name": "A", "attributes": [{"name": "x", "type": "String", "regex": 1}]}]},
    {"entities": [{"name": "A", "relationships": [{"name": "r"}]}]},
    {"entities": [{"name": "A", "relationships": [
        {"name": "r", "destination": "A", "deleteRule": "nulify"}]}]},
    {"entities": [{"name": "A", "fetchIndexes": [{"name": "i", "elements": []}]}]},
    {"entities": [{"name": "A", "sort": 1}]},
    {"entities": [{"name": "A"}], "classes": [{"name": "C", "fields": [{"name": "f"}]}]},
    {"entities": [{"name": "A"}], "fetchTemplates": [{"name": "t"}]},
]


def main():
    Draft202012Validator.check_schema(SCHEMA)
    validator = Draft202012Validator(SCHEMA)
    failures = 0
    models = [path for path in SAMPLES if not path.name.endswith(".data.json")]
    for path in models:
        for error in validator.iter_errors(json.loads(path.read_text())):
            failures += 1
            print(f"{path.name}: {'/'.join(map(str, error.path))}: {error.message}")
    for model in WRONG:
        if validator.is_valid(model):
            failures += 1
            print(f"should be refused: {json.dumps(model)}")
    if not validator.is_valid({"entities": [{"name": "Größe"}, {"name": "国"}]}):
        failures += 1
        print("names of other scripts should be accepted")
    if len(models) < FEWEST_MODELS:
        failures += 1
        print(f"there should be at least {FEWEST_MODELS} sample models")
    print(f"{len(models)} models, {len(WRONG)} refusals, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
