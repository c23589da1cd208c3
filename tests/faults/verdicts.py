"""What a gate said, and what is wrong with it."""

import re

from fault import VERDICTS


def first_line(output):
    """The first line, which goes on in lines that are indented by two."""
    lines = [line for line in output.splitlines() if line.strip()]
    if not lines:
        return "(no output)"
    said = lines[0]
    for line in lines[1:]:
        if not line.startswith("  "):
            break
        said += " " + line.strip()
    return said


def objection(fault, want, exit_code, output, check_more=True):
    """Why the gate did not say what the table wants of it; empty when it did."""
    exits, words = VERDICTS[want]
    if exit_code not in exits:
        return f"exit {exit_code}, not {' or '.join(map(str, sorted(exits)))}"
    if not re.search(words, first_line(output)):
        return f"its first line does not say {words}"
    if check_more and fault.more and not re.search(fault.more, output):
        return f"it does not name {fault.more}"
    return ""
