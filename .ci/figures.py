"""Counts the public symbols and the lines of the Swift library, from its built modules.

usage: figures.py BUILD  (the folder that `swift build --show-bin-path` prints)
"""

import json
import pathlib
import subprocess
import sys
import tempfile

LIBRARIES = ["LiveFetch", "LiveFetchPredicates"]


def symbols(module, build):
    """The public declarations of a module: those in the symbol graphs, without inherited members."""
    maps = [*pathlib.Path("Sources").glob("*/module.modulemap"),
            *pathlib.Path("Sources").glob("*/include/module.modulemap")]
    target = json.loads(subprocess.check_output(["swift", "-print-target-info"]))["target"]
    with tempfile.TemporaryDirectory() as graphs:
        subprocess.run(
            ["swift", "symbolgraph-extract", "-module-name", module, "-target",
             target["unversionedTriple"], "-I", f"{build}/Modules",
             *(option for path in maps for option in ("-Xcc", f"-fmodule-map-file={path}")),
             "-minimum-access-level", "public", "-skip-synthesized-members",
             "-output-dir", graphs],
            check=True, capture_output=True)
        names = set()
        for graph in pathlib.Path(graphs).glob("*.json"):
            for symbol in json.loads(graph.read_text())["symbols"]:
                names.add(symbol["identifier"]["precise"])
    return names


def lines(module):
    """The lines of a target's Swift files, without the tutorial's resources."""
    files = [path for path in pathlib.Path("Sources", module).rglob("*.swift")
             if ".docc" not in str(path)]
    return sum(path.read_bytes().count(b"\n") for path in files)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for module in LIBRARIES:
        if pathlib.Path("Sources", module).is_dir():
            print(f"{module}: {len(symbols(module, sys.argv[1]))} public symbols, "
                  f"{lines(module)} lines")


if __name__ == "__main__":
    main()
