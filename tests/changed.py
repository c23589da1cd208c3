"""Which tests of a build a change can reach: those that did not pass yet with what they read today.

A test reads its program; the files of the tree but C++ sources and documents; where the program holds the
path of the build, the programs of ours there; and with the label "sources" (nb_test, harness/cmake/nb.cmake)
every file of the tree. Data outside the tree (--data-dir) are not looked at.
    python3 tests/changed.py BUILD                  a regular expression of their names for ctest -R; nothing: none
    python3 tests/changed.py BUILD --passed JUNIT   remembers what the tests that passed there have read
Standard library only.
"""

import hashlib
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as xml
from functools import cache
from pathlib import Path

SOURCES_AND_DOCUMENTS = (".cpp", ".hpp", ".md")


@cache
def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "none"


@cache
def digest_of_tree(tree, all_files):
    listed = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=tree, check=True,
                            capture_output=True, text=True).stdout
    names = sorted(name for name in listed.split("\0")
                   if name and (all_files or not name.endswith(SOURCES_AND_DOCUMENTS)))
    text = "".join(f"{name} {digest(tree / name)}\n" for name in names)
    return hashlib.sha256(text.encode()).hexdigest()


def what_it_reads(tree, build, test):
    program = Path(test["command"][0])
    labels = next((p["value"] for p in test.get("properties", []) if p["name"] == "LABELS"), [])
    is_ours = program.is_relative_to(build)
    read = [*test["command"], digest(program), digest_of_tree(tree, "sources" in labels)]
    if not is_ours or str(build).encode() in program.read_bytes():
        read += [digest(path) for path in sorted(build.glob("npubench*"))]
    return hashlib.sha256("\n".join(read).encode()).hexdigest()


def main():
    build = Path(sys.argv[1]).resolve()
    tree = Path(__file__).resolve().parent.parent
    listed = subprocess.run(["ctest", "--test-dir", str(build), "--show-only=json-v1"], check=True,
                            capture_output=True, text=True).stdout
    now = {test["name"]: what_it_reads(tree, build, test) for test in json.loads(listed)["tests"]}
    kept = build / "tests_passed.json"
    passed = json.loads(kept.read_text()) if kept.exists() else {}
    if sys.argv[2:3] == ["--passed"]:
        for case in xml.parse(sys.argv[3]).iter("testcase"):
            passed[case.get("name")] = now[case.get("name")] if case.get("status") == "run" else ""
        kept.write_text(json.dumps(passed, indent=1, sort_keys=True))
        return
    names = [name for name, read in now.items() if passed.get(name) != read]
    if names:
        print("^(" + "|".join(map(re.escape, names)) + ")$")


if __name__ == "__main__":
    main()
