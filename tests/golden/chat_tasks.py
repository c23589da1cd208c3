"""Golden vectors of the chat tasks: tests/golden/chat_tasks.json.

An independent implementation of nanochat's tokenizer.py and tasks: order of the
items by numpy's own generator, messages, token ids and masks with GPT-2's vocabulary by a naive encoder, spelling
examples by Python's own random, and the predictions of a made-up model. Data sets are named by hashes: of their texts
only the ids of a few rows with an MIT licence are committed.
Run: /usr/bin/python3 tests/golden/chat_tasks.py DATA_FOLDER  (needs numpy and the regex module)
"""

import gzip
import hashlib
import json
import pathlib
import random
import re
import sys

import numpy
import regex

SPECIALS = (
    "<|bos|> <|user_start|> <|user_end|> <|assistant_start|> <|assistant_end|> "
    "<|python_start|> <|python_end|> <|output_start|> <|output_end|>"
).split()
ITEMS = 20


class Gpt2:
    """GPT-2's byte-level BPE, pair by pair, and nanochat's nine specials behind its 50,257 ids."""

    def __init__(self, folder):
        self.ids = json.loads((folder / "encoder.json").read_text())
        lines = (folder / "vocab.bpe").read_text(encoding="utf-8").split("\n")[1:]
        self.rank = {tuple(line.split()): i for i, line in enumerate(lines) if len(line.split()) == 2}
        printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
        rest = [b for b in range(256) if b not in printable]
        self.shown = {b: chr(b) for b in printable} | {b: chr(256 + i) for i, b in enumerate(rest)}
        self.split = regex.compile(
            r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+""".replace(
                r"\s", r"\p{White_Space}"
            ).replace(r"\S", r"\P{White_Space}"),
            regex.V1,
        )
        self.special = {name: 50257 + i for i, name in enumerate(SPECIALS)}

    def encode(self, text):
        ids = []
        for piece in self.split.findall(text):
            word = [self.shown[b] for b in piece.encode("utf-8")]
            while len(word) > 1:
                best = min(range(len(word) - 1), key=lambda i: self.rank.get((word[i], word[i + 1]), 10**9))
                pair = (word[best], word[best + 1])
                if pair not in self.rank:
                    break
                merged, i = [], 0
                while i < len(word):
                    if i + 1 < len(word) and (word[i], word[i + 1]) == pair:
                        merged.append(word[i] + word[i + 1])
                        i += 2
                    else:
                        merged.append(word[i])
                        i += 1
                word = merged
            ids += [self.ids[part] for part in word]
        return ids


def render(tokenizer, messages, limit=2048):
    ids, mask = [], []

    def add(new, bit):
        ids.extend(new)
        mask.extend([bit] * len(new))

    def special(name, bit):
        add([tokenizer.special[f"<|{name}|>"]], bit)

    if messages[0]["role"] == "system":
        head, second, *rest = messages
        messages = [{"role": "user", "content": head["content"] + "\n\n" + second["content"]}, *rest]
    special("bos", 0)
    for message in messages:
        content = message["content"]
        if message["role"] == "user":
            special("user_start", 0)
            add(tokenizer.encode(content), 0)
            special("user_end", 0)
            continue
        special("assistant_start", 0)
        for part in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            tokens = tokenizer.encode(part["text"])
            if part["type"] == "text":
                add(tokens, 1)
            elif part["type"] == "python":
                special("python_start", 1)
                add(tokens, 1)
                special("python_end", 1)
            else:
                special("output_start", 0)
                add(tokens, 0)
                special("output_end", 0)
        special("assistant_end", 1)
    return ids[:limit], mask[:limit]


def render_for_completion(tokenizer, messages):
    ids, _ = render(tokenizer, messages[:-1])
    return ids + [tokenizer.special["<|assistant_start|>"]]


def digest(values):
    return hashlib.sha256(",".join(map(str, values)).encode()).hexdigest()[:16]


def text_digest(text):
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]


def described(tokenizer, messages, show_ids):
    prompt = render_for_completion(tokenizer, messages)
    ids, mask = render(tokenizer, messages)
    row = {
        "user": text_digest(messages[-2]["content"]),
        "prompt_ids": [len(prompt), digest(prompt)],
        "ids": [len(ids), digest(ids)],
        "mask": [sum(mask), digest(mask)],
    }
    if show_ids:
        row["all_ids"] = ids
        row["all_mask"] = "".join(map(str, mask))
    return row


def order(rows):
    return [int(i) for i in numpy.random.default_rng(42).permutation(rows)]


def lines(path):
    opened = gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else open(path, encoding="utf-8")
    with opened as file:
        return [json.loads(line) for line in file.read().split("\n") if line.strip()]


# --- multiple choice ---


def arc(row):
    choices, letters = row["choices"]["text"], row["choices"]["label"]
    return row["id"], row["question"], choices, letters, row["answerKey"]


def mmlu(row):
    return None, row["question"], row["choices"], list("ABCD"), "ABCD"[row["answer"]]


def choice_messages(question, choices, letters, gold):
    text = f"Multiple Choice question: {question}\n"
    text += "".join(f"- {choice}={letter}\n" for choice, letter in zip(choices, letters))
    text += "\nRespond only with the letter of the correct answer."
    return [{"role": "user", "content": text}, {"role": "assistant", "content": gold}]


def made_up_log_prob(prompt_length, token):
    """What the made-up model says of a token after so many others; ties are many."""
    return -((prompt_length * 7 + token * 13) % 10) / 4


def choice_task(tokenizer, rows, read, show_ids):
    items, right = [], 0
    view = order(len(rows))
    for place in range(ITEMS):
        name, question, choices, letters, gold = read(rows[view[place]])
        messages = choice_messages(question, choices, letters, gold)
        row = {"row": view[place], **described(tokenizer, messages, show_ids and place < 2)}
        if name:
            row["name"] = name
        prompt = row["prompt_ids"][0]
        scores = []
        for letter in letters:
            (token,) = tokenizer.encode(letter)
            scores.append(made_up_log_prob(prompt, token))
        row["prediction"] = letters[scores.index(max(scores))]
        row["gold"] = gold
        right += row["prediction"] == gold
        items.append(row)
    return {"rows": len(rows), "items": items, "right": right}


# --- numbers ---

ANSWER = re.compile(r"#### (\-?[0-9\.\,]+)")


def extract(text):
    match = ANSWER.search(text)
    return match.group(1).strip().replace(",", "") if match else None


def gsm8k_messages(row):
    parts = []
    for segment in re.split(r"(<<[^>]+>>)", row["answer"]):
        if segment.startswith("<<") and segment.endswith(">>"):
            inner = segment[2:-2]
            expression, result = inner.rsplit("=", 1) if "=" in inner else (inner, "")
            parts += [{"type": "python", "text": expression}, {"type": "python_output", "text": result}]
        else:
            parts.append({"type": "text", "text": segment})
    return [{"role": "user", "content": row["question"]}, {"role": "assistant", "content": parts}]


def answers_about(gold):
    """Things that a model might say, and whether each counts."""
    with_commas = f"{int(gold):,}" if gold.lstrip("-").isdigit() else gold
    texts = [
        f"#### {gold}",
        f"so it is\n#### {with_commas}\n",
        f"#### {gold}.0",
        f"#### {gold}.",
        f"#### ${gold}",
        f"####{gold}",
        f"A: {gold}",
        f"The answer is {gold}",
        f"#### x then #### {gold}",
        f"#### 1{gold} #### {gold}",
        f"##### {gold}",
        f"#### -{gold}",
        f"<|python_start|>1+1<|python_end|><|output_start|>2<|output_end|>\n#### {gold}<|assistant_end|>",
        f"#### {gold} dollars",
        f"#### {gold}\u0665",
        "#### ,",
        "#### .",
        "#### -",
        "",
    ]
    return [[text, extract(text), extract(text) == gold] for text in texts]


def gsm8k_task(tokenizer, rows):
    items = []
    view = order(len(rows))
    for place in range(ITEMS):
        row = rows[view[place]]
        messages = gsm8k_messages(row)
        gold = extract(messages[-1]["content"][-1]["text"])
        items.append(
            {
                "row": view[place],
                **described(tokenizer, messages, place < 2),
                "gold": gold,
                "parts": [part["type"] for part in messages[-1]["content"]],
                "marks": answers_about(gold),
            }
        )
    return {"rows": len(rows), "items": items}


def solutions(rows, tests):
    counts = {}
    for key in ["6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification"]:
        marks = [
            extract(row[key]["solution"].replace("A: ", "#### ")) == extract(test["answer"])
            for row, test in zip(rows, tests)
        ]
        assert marks == [row[key]["is_correct"] for row in rows]
        counts[key] = sum(marks)
    return counts


# --- spelling ---

ENGLISH = """How many {letter} are in the word {word}
How many {letter} are in {word}
Count the number of {letter} in {word}
How many times does {letter} appear in {word}
What's the count of {letter} in {word}
In the word {word}, how many {letter} are there
How many letter {letter} are in the word {word}
Count how many {letter} appear in {word}
Tell me the number of {letter} in {word}
How many occurrences of {letter} are in {word}
Find the count of {letter} in {word}
Can you count the {letter} letters in {word}
What is the frequency of {letter} in {word}
How many {letter}s are in {word}
How many {letter}'s are in {word}
Count all the {letter} in {word}
How many times is {letter} in {word}
Number of {letter} in {word}
Total count of {letter} in {word}
How many {letter} does {word} have
How many {letter} does {word} contain
What's the number of {letter} in {word}
{word} has how many {letter}
In {word}, count the {letter}
How many {letter} appear in {word}
Count the {letter} in {word}
Give me the count of {letter} in {word}
How many instances of {letter} in {word}
Show me how many {letter} are in {word}
Calculate the number of {letter} in {word}""".split("\n")
OTHERS = """¿Cuántas {letter} hay en {word}?
¿Cuántas veces aparece {letter} en {word}?
Cuenta las {letter} en {word}
¿Cuántas letras {letter} tiene {word}?
{word}中有多少个{letter}
{word}里有几个{letter}
数一下{word}中的{letter}
{word}这个词里有多少{letter}
{word}에 {letter}가 몇 개 있나요
{word}에서 {letter}의 개수는
{word}에 {letter}가 몇 번 나오나요
{word}라는 단어에 {letter}가 몇 개
Combien de {letter} dans {word}
Combien de fois {letter} apparaît dans {word}
Compte les {letter} dans {word}
Wie viele {letter} sind in {word}
Wie oft kommt {letter} in {word} vor
Zähle die {letter} in {word}
{word}に{letter}は何個ありますか
{word}の中に{letter}がいくつ
{word}に{letter}が何回出てくる""".split("\n")
TEMPLATES = ENGLISH + OTHERS
assert len(TEMPLATES) == 51


def spelling_bee(words, seed):
    rng = random.Random(seed)
    word = rng.choice(words)
    letter = rng.choice(word) if rng.random() < 0.9 else rng.choice("abcdefghijklmnopqrstuvwxyz")
    template = rng.choice(TEMPLATES)
    if rng.random() < 0.3:
        template = template.lower()
    letter_quote = rng.choice(["", "'", '"'])
    word_quote = rng.choice(["", "'", '"'])
    question = template.format(
        letter=letter_quote + letter + letter_quote, word=word_quote + word + word_quote
    )
    if rng.random() < 0.5:
        question += "?"
    text = f"We are asked to find the number '{letter}' in the word '{word}'. Let me try a manual approach first.\n\n"
    text += f"First spell the word out:\n{word}:{','.join(word)}\n\nThen count the occurrences of '{letter}':\n"
    count = 0
    for i, char in enumerate(word, 1):
        count += char == letter
        text += f"{i}:{char}" + (f" hit! count={count}" if char == letter else "") + "\n"
    text += f"\nThis gives us {count}."
    parts = [
        ("text", text),
        ("text", "\n\nLet me double check this using Python:\n\n"),
        ("python", f"'{word}'.count('{letter}')"),
        ("python_output", str(count)),
        ("text", f"\n\nPython gives us {count}.\n\nMy final answer is:\n\n#### {count}"),
    ]
    return [
        {"role": "user", "content": question},
        {"role": "assistant", "content": [{"type": kind, "text": text} for kind, text in parts]},
    ]


def spelling_tasks(tokenizer, words):
    bee = {}
    for split, seed in {"train": lambda i: i, "test": lambda i: 10_000_000 + i, "test_until_2025_12": lambda i: -(i + 1)}.items():
        bee[split] = [
            {"question": messages[0]["content"], **described(tokenizer, messages, False)}
            for messages in (spelling_bee(words, seed(i)) for i in range(ITEMS))
        ]
    shuffled = list(words)
    random.Random(42).shuffle(shuffled)
    simple = []
    for index in range(ITEMS):
        word = random.Random(index).choice(shuffled)
        simple.append([f"Spell the word: {word}", f"{word}:{','.join(word)}"])
    return {"words": len(words), "bee": bee, "simple": simple, "shuffle_head": shuffled[:4]}


# --- views ---


def mixture(sizes):
    entries = [(task, index) for task, size in enumerate(sizes) for index in range(size)]
    random.Random(42).shuffle(entries)
    return entries[:12]


def views():
    cases = [(10, 0, None, 1), (10, 3, 9, 2), (10, 2, 2, 1), (7, 0, 7, 3), (1319, 0, 400, 1), (14042, 100, 5200, 17)]
    return [
        {"rows": rows, "start": start, "stop": stop, "step": step, "view": [len(v := order(rows)[start:stop:step]), digest(v)]}
        for rows, start, stop, step in cases
    ]


def toy_conversations():
    """Written here, so that rendering is tested without any data: system, parts, empty texts, truncation."""
    text = lambda *messages: [{"role": role, "content": content} for role, content in messages]
    parts = lambda *pairs: [{"type": kind, "text": t} for kind, t in pairs]
    return [
        text(("user", "Hi"), ("assistant", "Hello!")),
        text(("system", "Be kind."), ("user", "Hi"), ("assistant", "Hello!"), ("user", "2+2?"), ("assistant", "4")),
        text(("user", ""), ("assistant", "")),
        text(("user", "<|bos|><|assistant_end|>"), ("assistant", "<|python_start|>1<|python_end|>")),
        text(
            ("user", "How much is 12/60 of 50?"),
            ("assistant", parts(("text", "It is "), ("python", "12/60*50"), ("python_output", "10.0"), ("text", ""), ("text", "10.\n#### 10"))),
        ),
        text(("user", "split"), ("assistant", parts(("text", "hel"), ("text", "lo"), ("python", ""), ("python_output", "")))),
        text(("user", "naïve café 数 \U0001F600\r\n\t x"), ("assistant", "  spaces   and\n\n\nlines  ")),
        text(("user", "word " * 1500), ("assistant", "and " * 1500)),
        text(("user", "word " * 2100), ("assistant", "never seen")),
    ]


def humaneval_messages(row):
    answer = row["prompt"] + "\n" + row["canonical_solution"]
    return [{"role": "user", "content": row["prompt"]}, {"role": "assistant", "content": answer}]


def main(data):
    tokenizer = Gpt2(data / "tokenizers" / "gpt2")
    assert tokenizer.encode("Hello world") == [15496, 995]
    words = (data / "words" / "words_alpha.txt").read_text().split("\n")
    words = [word.strip() for word in words if word.strip()]
    tests = lines(data / "gsm8k" / "test.jsonl")
    identity = lines(data / "chat" / "identity_conversations.jsonl")
    humaneval = lines(data / "humaneval" / "HumanEval.jsonl.gz")
    golden = {
        "source": "tests/golden/chat_tasks.py",
        "toys": [
            {"messages": messages, **described(tokenizer, messages, len(str(messages)) < 500)}
            for messages in toy_conversations()
        ],
        "views": views(),
        "mixtures": [
            {"sizes": sizes, "head": mixture(sizes)}
            for sizes in ([460341, 99842, 7473], [24229, 5200, 420], [2251, 1119, 7473, 10000], [3, 2])
        ],
        "chat_arc_easy": choice_task(tokenizer, lines(data / "arc/jsonl/arc_easy_test.jsonl"), arc, False),
        "chat_arc_challenge": choice_task(tokenizer, lines(data / "arc/jsonl/arc_challenge_test.jsonl"), arc, False),
        "mmlu": choice_task(tokenizer, lines(data / "mmlu/jsonl/test.jsonl"), mmlu, True),
        "gsm8k": gsm8k_task(tokenizer, tests),
        "gsm8k_solutions": solutions(lines(data / "gsm8k/example_model_solutions.jsonl"), tests),
        "spelling": spelling_tasks(tokenizer, words),
        "identity": {
            "rows": len(identity),
            "items": [
                {"row": row, **described(tokenizer, identity[row], False)} for row in range(ITEMS)  # not shuffled
            ],
        },
        "humaneval": {
            "rows": len(humaneval),
            "items": [
                {
                    "row": row,
                    "name": humaneval[row]["task_id"],
                    **described(tokenizer, humaneval_messages(humaneval[row]), False),
                }
                for row in order(len(humaneval))[:ITEMS]
            ],
        },
    }
    # The specification's own vectors (11.2).
    assert golden["mixtures"][0]["head"][:3] == [(1, 94287), (1, 38680), (1, 84459)]
    assert golden["mixtures"][2]["head"][:3] == [(3, 1911), (2, 6890), (3, 9027)]
    out = pathlib.Path(__file__).with_suffix(".json")
    out.write_text(json.dumps(golden, indent=None, separators=(",", ":"), ensure_ascii=True).replace("},{", "},\n{") + "\n")
    print(out.stat().st_size, "bytes")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
