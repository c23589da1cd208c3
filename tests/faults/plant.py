"""Plants a fault in a copy of the sources, by named search-and-replace edits.

An edit's text is matched token by token, whatever the white space between them, so that a formatter's line
breaks do not matter; and it must match exactly once, so that an edit whose code has moved is an error and
never a fault that was not planted.
"""

import re
from dataclasses import dataclass
from pathlib import Path


class PlantError(Exception):
    """An edit that does not fit the sources; the message says which and what to do."""


@dataclass(frozen=True)
class Edit:
    file: str  # relative to the root of the checkout
    find: str  # empty: `replace` is appended to the file
    replace: str


def pattern_of(text):
    tokens = re.findall(r"\w+|[^\w\s]", text)
    return re.compile(r"\s*".join(re.escape(token) for token in tokens))


def edited(text, edit, fault):
    if not edit.find:
        return text + edit.replace
    matches = list(pattern_of(edit.find).finditer(text))
    if len(matches) != 1:
        raise PlantError(
            f"fault {fault}: {edit.file}: {edit.find!r} is there {len(matches)} times, wanted once; the code has "
            "moved: mend the edit in tests/faults/fault_*.py"
        )
    match = matches[0]
    return text[: match.start()] + edit.replace + text[match.end() :]


def planted_files(root, fault_name, edits):
    """{relative path: text with all its edits}, read from below root; nothing is written."""
    texts = {}
    for edit in edits:
        path = Path(root) / edit.file
        if edit.file not in texts:
            if not path.is_file():
                raise PlantError(
                    f"fault {fault_name}: {edit.file} is not there; mend the edit in tests/faults/fault_*.py"
                )
            texts[edit.file] = path.read_text(encoding="utf-8")
        texts[edit.file] = edited(texts[edit.file], edit, fault_name)
    return texts
