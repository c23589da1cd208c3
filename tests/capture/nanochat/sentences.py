"""A tiny language with facts, and questions about it of CORE's three kinds."""
import json
import pathlib
import random

ANIMALS = ["cat", "dog", "fox", "owl", "hen", "cow", "bee", "ant", "rat", "emu", "elk", "cod"]
COLOURS = ["red", "blue", "grey", "pink", "green", "white"]
PLACES = ["hill", "barn", "lake", "wood"]
COLOUR = {animal: COLOURS[(5 * i + i // 3) % len(COLOURS)] for i, animal in enumerate(ANIMALS)}
PLACE = {animal: PLACES[(3 * i + i // 4) % len(PLACES)] for i, animal in enumerate(ANIMALS)}
FORMS = ["The {a} is {c}.", "A {c} {a} is in the {p}.", "The {a} is in the {p}.", "In the {p} is a {c} {a}."]


def sentence(rng):
    animal = rng.choice(ANIMALS)
    # One in four is wrong, so that no answer is certain.
    colour = rng.choice(COLOURS) if rng.random() < 0.25 else COLOUR[animal]
    place = rng.choice(PLACES) if rng.random() < 0.25 else PLACE[animal]
    return rng.choice(FORMS).format(a=animal, c=colour, p=place)


def rows_of_tasks():
    """Label → (type, shots, delimiter, rows)."""
    rng, colours, places, words = random.Random(7), [], [], []
    for animal in ANIMALS:
        for form in ("The {a} is", "In the {p} is a red fox. The {a} is", "A {a} is"):
            wrong = rng.sample([c for c in COLOURS if c != COLOUR[animal]], 3)
            gold = rng.randrange(4)
            choices = wrong[:gold] + [COLOUR[animal]] + wrong[gold:]
            colours.append({"query": form.format(a=animal, p=PLACE[animal]), "choices": choices, "gold": gold})
        for other in rng.sample([a for a in ANIMALS if PLACE[a] != PLACE[animal]], 3):
            gold = rng.randrange(2)
            options = [f"The {a} is" for a in ((animal, other) if gold == 0 else (other, animal))]
            places.append({"context_options": options, "continuation": f"in the {PLACE[animal]}.", "gold": gold})
        for form in ("A {c} {a} is in the", "The {a} is in the"):
            context = form.format(c=COLOUR[animal], a=animal) + " "
            words.append({"context": context, "continuation": PLACE[animal] + "."})
    return {"colours": ("multiple_choice", 2, " ", colours), "places": ("schema", 0, " ", places),
            "words": ("language_modeling", 1, " ", words)}


def write_texts(folder):
    """What base_train.py reads, as documents, and what chat_sft.py learns, for `npubench run`."""
    rng = random.Random(42)
    documents = [" ".join(sentence(rng) for _ in range(4)) for _ in range(4000)]
    (pathlib.Path(folder) / "documents.jsonl").write_text(
        "".join(json.dumps({"text": text}) + "\n" for text in documents), encoding="utf-8")
    conversations = []
    for i in range(48):
        animal = ANIMALS[(5 * i) % len(ANIMALS)]
        what, answer = (("colour", COLOUR), ("place", PLACE))[i % 2]
        conversations.append([{"role": "user", "content": f"Which {what} has the {animal}?"},
                              {"role": "assistant", "content": f"The {animal} has {answer[animal]}."}])
    (pathlib.Path(folder) / "conversations.jsonl").write_text(
        "".join(json.dumps(one) + "\n" for one in conversations), encoding="utf-8")


def write_tasks(folder):
    lines = ["icl_tasks:"]
    for label, (kind, shots, delimiter, rows) in rows_of_tasks().items():
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (pathlib.Path(folder) / f"{label}.jsonl").write_text(text, encoding="utf-8")
        lines += [f"- label: {label}", f"  dataset_uri: {label}.jsonl", f"  num_fewshot: [{shots}]",
                  f"  icl_task_type: {kind}", f"  continuation_delimiter: \"{delimiter}\""]
    (pathlib.Path(folder) / "tasks.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")
