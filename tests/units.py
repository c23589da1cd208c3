"""Shows that no source of a unit calls a function of another source's own namespace.

Sources that are compiled as one unit (nb_component, harness/cmake/nb.cmake) see each other's functions:
where two have one of the same name, a call may find the other's, which the compiler does not say.
Each unit of the product is compiled once more, without optimisation, for its call graph.
    python3 tests/units.py BUILD
The last line is "N passed, N failed, 0 skipped", over units. Standard library only.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

NODE = re.compile(r'node: \{ title: "([^"]*)" label: "([^"]*)"')
EDGE = re.compile(r'edge: \{ sourcename: "[^"]*" targetname: "([^"]*)" label: "([^"]*)"')
# A mangled name of an unnamed namespace, or of a static function. Instances of templates are no source's own.
OWN = re.compile(r":_Z.*_GLOBAL__N_1|:_Z(N\w*)?L\d")
DROPPED = re.compile(r"-O.|-D_FORTIFY_SOURCE=.|-W.*|-MD")
DROPPED_PAIRS = ("-MF", "-MT", "-include", "-o")


def call_graph_command(command, output):
    words = shlex.split(command)
    while not words[0].endswith("++"):
        words.pop(0)  # launcher
    kept, skip = [], False
    for word in words:
        if not skip and word not in DROPPED_PAIRS and not DROPPED.fullmatch(word):
            kept.append(word)
        skip = not skip and word in DROPPED_PAIRS
    return [*kept, "-O0", "-w", "-fcallgraph-info", "-o", output]


def file_of(place):
    return place.rsplit(":", 2)[0]


def foreign_calls(graph):
    """Lines "place of the call: function, its place": of calls into another source's own functions."""
    nodes = {title: label.split("\\n") for title, label in NODE.findall(graph)}
    found = set()
    for target, place in EDGE.findall(graph):
        name, *where = nodes.get(target, [""])
        if OWN.search(target) and where and {Path(file_of(p)).suffix for p in (place, where[0])} == {".cpp"} \
                and file_of(where[0]) != file_of(place):
            found.add(f"{place}: calls {name} of {where[0]}")
    return sorted(found)


def check(entry):
    with tempfile.TemporaryDirectory() as folder:
        command = call_graph_command(entry["command"], f"{folder}/unit.o")
        done = subprocess.run(command, cwd=entry["directory"], text=True, capture_output=True)
        if done.returncode != 0:
            return [f"{entry['file']}: {done.stderr.strip()}"]
        return foreign_calls(Path(folder, "unit.ci").read_text())


def main():
    build = Path(sys.argv[1])
    units = [entry for entry in json.loads((build / "compile_commands.json").read_text())
             if "/Unity/" in entry["file"] and "/tests/" not in entry["file"]]
    failed = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for complaints in pool.map(check, units):
            failed += bool(complaints)
            print(*complaints, sep="\n", end="\n" if complaints else "")
    print(f"{len(units) - failed} passed, {failed} failed, 0 skipped")
    sys.exit(failed > 0 or not units)


if __name__ == "__main__":
    main()
