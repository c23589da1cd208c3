#!/usr/bin/env python3
"""Writes tests/golden/humaneval.json: what nanochat's tasks/humaneval.py makes of texts, and pass@k.

    python3 tests/golden/humaneval.py DATA_FOLDER > tests/golden/humaneval.json

Python's own re, numpy's own generator and exact fractions; nothing of npubench. `programs` are hashes of what the
reference would run for the canonical solution as a chat answer, of the problems in nanochat's order.
"""
import fractions
import gzip
import hashlib
import json
import math
import pathlib
import re
import sys

import numpy


def extract_imports(prompt):
    imports = []
    for line in prompt.split("\n"):
        stripped = line.strip()
        if stripped.startswith("import ") or stripped.startswith("from "):
            imports.append(stripped)
        elif stripped and not stripped.startswith("#"):
            break
    return "\n".join(imports)


def extract_program(completion):
    matches = re.findall(r"```(?:python)?\s*\n(.*?)\n```", completion, re.DOTALL)
    return matches[0].strip() if matches else completion.strip()


def pass_at_k(n, c, k):
    return float(1 - fractions.Fraction(math.comb(n - c, k), math.comb(n, k)))


ANSWERS = [
    "", " \n ", "def f(): pass", "\n\n  def f(): pass  \n", "```python\ndef f(): pass\n```",
    "Here:\n```python\ndef f():\n    return 1\n```\nIt works.", "```\nx = 1\n```", "```py\nx = 1\n```",
    "```python x = 1\n```", "```python\n\n\n  x = 1\n\n```", "```python\nx = 1```", "```python\nx = 1\n``` ```python\ny\n```",
    "```\n```\nx = 1\n```", "```\n\n```", "```\n\n```\nfoo\n```", "```python\n```", "````\nx\n````", "``` \t \nx\n```",
    "```python\r\nx = 1\r\n```", "```\u00a0\nx\n```", "```python\n\u00a0x = 1\u2003\n```", "text ``` more\n```\ncode\n```",
    "```python\nprint('```')\n```", "```python\nfirst\n```\n```python\nsecond\n```", "```pythonx\ny\n```", "```Python\ny\n```",
    "```python\nno end", "```js\na\n```\n```python\nb\n```", "`````python\nx\n`````", "```python\n\"\"\"\n```\n\"\"\"\n```",
]
PROMPTS = [
    "", "import math\n", "import math\nfrom typing import List\n\n\ndef f():\n    import os\n", "# note\n\nimport math\nx = 1\nimport os\n",
    "def f():\n", "  import math\n\tfrom os import path  \nclass A: pass", "importlib\nimport math", "import\nimport math", "from\u00a0x import y\nimport z",
    "\nimport a # why\n\n\n# more\nimport b", "import a\r\nimport b\r\ndef f(): pass",
]


def main():
    folder = pathlib.Path(sys.argv[1])
    with gzip.open(folder / "humaneval" / "HumanEval.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    programs = []
    for index in numpy.random.default_rng(42).permutation(len(rows)):
        row = rows[index]
        answer = "Sure!\n```python\n" + row["prompt"] + row["canonical_solution"] + "\n```\nThat is it."
        program = (extract_imports(row["prompt"]) + "\n\n" + extract_program(answer) + "\n\n" + row["test"] + "\n" +
                   f"check({row['entry_point']})")
        programs.append([row["task_id"], hashlib.sha256(program.encode()).hexdigest()])
    golden = {
        "answers": [[text, extract_program(text)] for text in ANSWERS],
        "prompts": [[text, extract_imports(text)] for text in PROMPTS],
        "pass_at_k": [[n, c, k, pass_at_k(n, c, k)] for n in (1, 2, 5, 10, 100, 200) for k in (1, 2, 10, 100)
                      for c in (0, 1, 3, n // 2, n - 1, n) if 0 <= c <= n and k <= n],
        "programs": programs,
    }
    print("{")
    for position, (key, value) in enumerate(sorted(golden.items())):
        lines = ",\n  ".join(json.dumps(entry) for entry in value)
        print(f' "{key}": [\n  {lines}]' + ("," if position + 1 < len(golden) else ""))
    print("}")


main()
