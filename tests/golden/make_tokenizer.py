"""Golden vectors of the tokenizer: tests/golden/tokenizer.json.

An independent, naive implementation of nanochat's tokenizer (tokenizer.py, rustbpe/src/lib.rs): pieces by the
`regex` module, training by counting every pair anew before every merge, encoding by scanning all pairs.
Run: /usr/bin/python3 tests/golden/make_tokenizer.py  (needs the regex module)
"""

import json
import pathlib
import random

import regex

WS = r"\p{White_Space}"


def spelt(pattern):
    """\\s as Unicode White_Space, which is what Rust's regex means by it."""
    out, in_class, i = "", False, 0
    while i < len(pattern):
        two = pattern[i : i + 2]
        if two == r"\s":
            out += WS
            i += 2
        elif two == r"\S":
            out += r"\P{White_Space}"
            i += 2
        elif pattern[i] == "\\":
            out += two
            i += 2
        else:
            out += pattern[i]
            i += 1
    return out


PATTERNS = {
    "nanochat": r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+""",
    "gpt2": r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+""",
    "cl100k": r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+""",
    "o200k": "|".join(
        [
            r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
            r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
            r"""\p{N}{1,3}""",
            r""" ?[^\s\p{L}\p{N}]+[\r\n/]*""",
            r"""\s*[\r\n]+""",
            r"""\s+(?!\S)""",
            r"""\s+""",
        ]
    ),
}
SPLIT = {name: regex.compile(spelt(p), regex.V1) for name, p in PATTERNS.items()}


def split(rule, text):
    pieces = [m.group(0) for m in SPLIT[rule].finditer(text)]
    assert "".join(pieces) == text, (rule, text, pieces)
    return pieces


def stream(documents, doc_cap, max_chars):
    chars = 0
    for document in documents:
        document = document[:doc_cap]
        yield document
        chars += len(document)
        if chars > max_chars:
            return


def train(documents, merges, doc_cap=10_000, max_chars=10**10):
    counts = {}
    for document in stream(documents, doc_cap, max_chars):
        for piece in split("nanochat", document):
            counts[piece] = counts.get(piece, 0) + 1
    words = [(list(piece.encode()), count) for piece, count in counts.items()]
    made = []
    for index in range(merges):
        pairs = {}
        for ids, count in words:
            for pair in zip(ids, ids[1:]):
                pairs[pair] = pairs.get(pair, 0) + count
        if not pairs:
            break
        best = min(pairs, key=lambda p: (-pairs[p], p))
        made.append(best)
        fresh = 256 + index
        for w, (ids, count) in enumerate(words):
            out, i = [], 0
            while i < len(ids):
                if i + 1 < len(ids) and (ids[i], ids[i + 1]) == best:
                    out.append(fresh)
                    i += 2
                else:
                    out.append(ids[i])
                    i += 1
            words[w] = (out, count)
    return made


def vocabulary(merges):
    tokens = [bytes([b]) for b in range(256)]
    for left, right in merges:
        tokens.append(tokens[left] + tokens[right])
    assert len(set(tokens)) == len(tokens)
    return {token: rank for rank, token in enumerate(tokens)}


def encode(text, ranks):
    ids = []
    for piece in split("nanochat", text):
        piece = piece.encode()
        if piece in ranks:
            ids.append(ranks[piece])
            continue
        parts = [piece[i : i + 1] for i in range(len(piece))]
        while True:
            best = None
            for i in range(len(parts) - 1):
                rank = ranks.get(parts[i] + parts[i + 1])
                if rank is not None and (best is None or rank < best[0]):
                    best = (rank, i)
            if best is None:
                break
            i = best[1]
            parts[i : i + 2] = [parts[i] + parts[i + 1]]
        ids += [ranks[part] for part in parts]
    return ids


def english(rng, words):
    vocab = "the a river stone was went into and of light old house they'll we've I'm DON'T said to 1234 3.14 (yes) no! ...".split()
    stems = ["walk", "talk", "paint", "green", "water", "moon", "hill", "bread"]
    ends = ["", "s", "ed", "ing", "er", "ly", "ness"]
    out = []
    for _ in range(words):
        out.append(rng.choice(vocab) if rng.random() < 0.5 else rng.choice(stems) + rng.choice(ends))
    return " ".join(out)


NASTY = [
    "a", "B", "z", "s", "S", "t", "ll", "'", "'s", "'S", "'ſ", "'LL", "’s", " ", "  ", "\t", "\n", "\r\n", "\r", "\v", "\f",
    "\u0085", "\u00a0", "\u180e", "\u2003", "\u200b", "\u2028", "\u3000", "1", "23", "٣", "Ⅷ", "½", "é", "e\u0301", "ß", "İ",
    "ǅ", "中", "文", "あ", "한", "🦙", "👍🏽", "!", "...", "/", "_", "$", "<|bos|>", "\x00", "\x7f", "\ufeff", "\U0010ffff",
]


def nasty(rng, count):
    return "".join(rng.choice(NASTY) for _ in range(count))


def main():
    rng = random.Random(20251113)
    prose = [english(rng, 120) for _ in range(12)]
    cases = [
        {"name": "prose", "documents": prose, "merges": 150},
        {"name": "ties and overlaps", "documents": ["aaaaaaa aaaa aaa aa", "abababab babab", "zzz yyy xxx"], "merges": 14},
        {"name": "mixed scripts", "documents": [nasty(rng, 60) for _ in range(20)], "merges": 120},
        {"name": "cropped to 10 code points", "documents": ["ééééé ééééé never never never"] * 3, "merges": 3, "doc_cap": 10},
        {"name": "stops after the document that exceeds", "documents": ["abab", "cdcdcd", "cdcdcd", "efefefefef"],
         "merges": 2, "max_chars": 15},
    ]
    for case in cases:
        made = train(case["documents"], case["merges"], case.get("doc_cap", 10_000), case.get("max_chars", 10**10))
        assert len(made) == case["merges"], (case["name"], len(made))
        case["merges"] = made
    ranks = vocabulary(cases[0]["merges"])
    mixed = vocabulary(cases[2]["merges"])
    texts = ["", " ", "walking", english(rng, 60), "wateringness" * 20, "a" * 300, " " * 100 + "x"]
    texts += [nasty(rng, 40) for _ in range(12)]
    document = {
        "source": "tests/golden/make_tokenizer.py",
        "split": [
            {"rule": rule, "text": text, "pieces": split(rule, text)}
            for rule in PATTERNS
            for text in ["I'll've 12345 it's  fine\r\n\r\n\tOK?? 'S\n  \n end  "] + [nasty(rng, 50) for _ in range(12)]
        ],
        "train": cases,
        "encode": [{"text": t, "prose": encode(t, ranks), "mixed scripts": encode(t, mixed)} for t in texts],
    }
    path = pathlib.Path(__file__).with_name("tokenizer.json")
    path.write_text(json.dumps(document, ensure_ascii=True, indent=None, separators=(",", ":")).replace('{"', '\n{"') + "\n")
    print(path, path.stat().st_size)


main()
