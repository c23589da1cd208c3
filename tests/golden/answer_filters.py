#!/usr/bin/env python3
"""What lm-evaluation-harness takes as the answer of a text (filters "flexible-extract" of gsm8k.yaml,
version 3, and majority_vote of filters/selection.py), from its own regular expressions; standard library only.

    python3 tests/golden/answer_filters.py > tests/golden/answer_filters.json
"""
import json
import random
import re
from collections import Counter

FLEXIBLE = re.compile(r"(-?[$0-9.,]{2,})|(-?[0-9]+)")
IGNORED = [",", r"\$", r"(?s).*#### ", r"\.$"]


def flexible(text):
    found = FLEXIBLE.findall(text)
    if not found:
        return None
    answer = [group for group in found[-1] if group][0].strip()
    for pattern in IGNORED:
        answer = re.sub(pattern, "", answer)
    return answer


TEXTS = ["", "no number", "18", "#### 18", "It is 18.", "It is $18.", "cost $1,234.50 in all", "-5", "3-5", "--5",
         "- 5", "18...", "so 9 * 2 = 18, right?", "1,000", "1,000,", "$", "$.", "a.b", "..", "5.", ".5", "x -", "7-",
         "18 apples and 2", "#### 18\n#### 19", "٣", "1.5e3", "12 %", "<<9*2=18>>18 eggs", "$-5", "-$5", "-.5",
         "¥5", "5¥", "the answer is -1,000.00."]
draw = random.Random(7)
TEXTS += ["".join(draw.choice("0159$.,-# a\n") for _ in range(draw.randrange(1, 14))) for _ in range(300)]

VOTES = [["1"], ["1", "2"], ["2", "1", "1"], ["1", "2", "2", "1"], [None, "1"], ["1", None], [None, None, "1"],
         [None, "1", "1"], ["3", "1", "2", "1", "3"]]
VOTES += [[draw.choice(["1", "2", "3", None]) for _ in range(draw.randrange(1, 9))] for _ in range(100)]

print('{"flexible": [\n' + ",\n".join(json.dumps([text, flexible(text)]) for text in TEXTS) + '],\n"majority": [\n' +
      ",\n".join(json.dumps([votes, Counter(votes).most_common(1)[0][0]]) for votes in VOTES) + "]}")
